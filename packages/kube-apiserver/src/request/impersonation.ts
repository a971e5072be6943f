// SPDX-License-Identifier: Apache-2.0
import { isPartDone, type Work } from "@purlin/base";
import { badRequest } from "@purlin/kube-objects/errors";
import { goQuote } from "@purlin/kube-objects/json";
import { type AccessAttributes, type Authorizing, accessDenied, type ResourceAccess } from "../auth/authorizer.ts";
import { anonymous, authenticatedGroup, serviceAccountsGroup, type User, unauthenticatedGroup } from "../auth/user.ts";
import type { ApiRequest } from "./api-request.ts";

const extraPrefix = "impersonate-extra-";

/** The request as the user it names in its Impersonate headers, if it names one and its own user may act for that one. */
export function* impersonating(
  request: ApiRequest,
  target: AccessAttributes,
  authorizing: Authorizing,
): Work<ApiRequest> {
  const { headers } = request;
  const name = headers["impersonate-user"] ?? "";
  const others = headers["impersonate-group"] || headers["impersonate-uid"] || extraHeaders(request)[0];
  if (name === "" && !others) return request;
  if (name === "") throw badRequest(`requested ${wantedText(request)} without impersonating a user name`);
  const user = impersonatedUser(request, name);
  const constraint = constraintOf(user, headers["impersonate-group"]);
  const action = constraint && { ...target, verb: `impersonate-on:${constraint.mode}:${target.verb}` };
  const needed = constraint === undefined || action === undefined ? [] : [...constraint.identity, action];
  if (constraint !== undefined && (yield* areAllowed(needed, request.user, authorizing))) {
    const known = constraint.mode === nodeMode ? { ...user, groups: nodeGroups } : user;
    request.audit?.impersonates(known, `impersonate:${constraint.mode}`);
    return withUser(request, known);
  }
  for (const access of accesses(user, headers["impersonate-group"])) {
    // A header can name thousands of groups.
    if (isPartDone()) yield;
    const decision = yield* authorizing(request.user, access);
    if (!decision.allowed) throw accessDenied(request.user, access, decision);
  }
  request.audit?.impersonates(user);
  return withUser(request, user);
}

function* areAllowed(needed: readonly AccessAttributes[], user: User, authorizing: Authorizing): Work<boolean> {
  for (const access of needed) {
    if (isPartDone()) yield;
    if (!(yield* authorizing(user, access)).allowed) return false;
  }
  return true;
}

/** The requested user as Go prints it with `%#v`. */
function wantedText(request: ApiRequest): string {
  const { headers } = request;
  const list = (values: readonly string[]): string => `[]string{${values.map(goQuote).join(", ")}}`;
  const groups = valuesOf(headers["impersonate-group"]);
  const extra = Object.entries(extraOf(request)).map(([key, values]) => `${goQuote(key)}:${list(values)}`);
  return `&user.DefaultInfo{${[
    'Name:""',
    `UID:${goQuote(headers["impersonate-uid"] ?? "")}`,
    `Groups:${groups.length === 0 ? "[]string(nil)" : list(groups)}`,
    `Extra:map[string][]string${extra.length === 0 ? "(nil)" : `{${extra.join(", ")}}`}`,
  ].join(", ")}}`;
}

function extraOf(request: ApiRequest): Record<string, string[]> {
  return Object.fromEntries(
    extraHeaders(request).map((header) => [extraKey(header), valuesOf(request.headers[header])]),
  );
}

function impersonatedUser(request: ApiRequest, name: string): User {
  const { headers } = request;
  const groups = valuesOf(headers["impersonate-group"]);
  const always = name === anonymous.name ? unauthenticatedGroup : authenticatedGroup;
  const wanted = groups.length === 0 ? accountGroups(name) : groups;
  const extra = extraOf(request);
  return {
    name,
    groups: wanted.includes(always) ? wanted : [...wanted, always],
    ...(headers["impersonate-uid"] ? { uid: headers["impersonate-uid"] } : {}),
    ...(Object.keys(extra).length === 0 ? {} : { extra }),
  };
}

/** Headers that come several times are joined by a comma and a blank; a comma alone belongs to a value. */
function valuesOf(header: string | undefined): string[] {
  return (header ?? "").split(", ").filter(Boolean);
}

const accountName = /^system:serviceaccount:([a-z0-9](?:[-a-z0-9]*[a-z0-9])?):([a-z0-9](?:[-.a-z0-9]*[a-z0-9])?)$/;

/** A user that impersonates a ServiceAccount without groups has the groups of the account. */
function accountGroups(name: string): readonly string[] {
  const [, namespace] = accountName.exec(name) ?? [];
  return namespace === undefined ? [] : [serviceAccountsGroup, `${serviceAccountsGroup}:${namespace}`];
}

function extraHeaders({ headers }: ApiRequest): string[] {
  return Object.keys(headers).filter((header) => header.startsWith(extraPrefix));
}

function extraKey(header: string): string {
  try {
    return decodeURIComponent(header.slice(extraPrefix.length));
  } catch (error) {
    throw badRequest(`the header ${header} is not well-formed`, error);
  }
}

/** A mode of constrained impersonation, and the permissions for the identity that it asks for. */
interface Constraint {
  readonly mode: string;
  readonly identity: readonly ResourceAccess[];
}

/** What allows to impersonate this user for some actions only: asked before the verb `impersonate`, which allows all actions. */
function constraintOf(user: User, groups: string | undefined): Constraint | undefined {
  const [mode, main] = constrainedIdentity(user.name);
  const isPlain = !groups && user.uid === undefined && user.extra === undefined;
  // ServiceAccounts and nodes have the groups that they always have.
  if (mode !== "user-info" && !isPlain) return undefined;
  if (!Object.keys(user.extra ?? {}).every((key) => domainPrefixed.test(key))) return undefined;
  const others = accesses(user, groups).slice(1);
  const identity = [main, ...others].map((access) => ({
    ...access,
    ...authenticationGroup,
    verb: `impersonate:${mode}`,
  }));
  return { mode, identity };
}

function constrainedIdentity(name: string): readonly [mode: string, identity: ResourceAccess] {
  const [, namespace = "", account] = accountName.exec(name) ?? [];
  if (account !== undefined) return ["serviceaccount", { ...impersonate("serviceaccounts", account), namespace }];
  if (name.startsWith(nodePrefix)) return [nodeMode, impersonate("nodes", name.slice(nodePrefix.length))];
  return ["user-info", impersonate("users", name)];
}

const nodePrefix = "system:node:";
const nodeMode = "arbitrary-node";
const nodeGroups = ["system:nodes", authenticatedGroup];
const domainPrefixed = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\/.+$/;

/** All permissions that are needed to impersonate this user, in the order in which they are checked. */
function accesses(user: User, groups: string | undefined): ResourceAccess[] {
  const match = accountName.exec(user.name);
  const [, namespace = "", account = ""] = match ?? [];
  const main =
    match === null ? impersonate("users", user.name) : { ...impersonate("serviceaccounts", account), namespace };
  return [
    main,
    ...(user.uid === undefined ? [] : [{ ...impersonate("uids", user.uid), ...authenticationGroup }]),
    ...valuesOf(groups).map((group) => impersonate("groups", group)),
    ...Object.entries(user.extra ?? {}).flatMap(([subresource, values]) =>
      values.map((value) => ({ ...impersonate("userextras", value), ...authenticationGroup, subresource })),
    ),
  ];
}

const authenticationGroup = { group: "authentication.k8s.io", version: "v1" };

function impersonate(resource: string, name: string): ResourceAccess {
  return {
    kind: "resource",
    verb: "impersonate",
    group: "",
    version: "v1",
    resource,
    subresource: "",
    namespace: "",
    name,
  };
}

/** A view of the request, since making its signal may cost and must stay lazy. */
function withUser(request: ApiRequest, user: User): ApiRequest {
  return {
    method: request.method,
    path: request.path,
    query: request.query,
    headers: request.headers,
    body: request.body,
    user,
    ...(request.origin && { origin: request.origin }),
    audit: request.audit,
    ...(request.isUpgradable && { isUpgradable: true }),
    get signal() {
      return request.signal;
    },
  };
}
