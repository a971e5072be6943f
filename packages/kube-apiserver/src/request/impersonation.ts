// SPDX-License-Identifier: Apache-2.0
import { badRequest, unclassifiedError } from "@purlin/kube-objects/errors";
import { type Authorizer, accessDenied, type ResourceAccess } from "../auth/authorizer.ts";
import { anonymous, authenticatedGroup, serviceAccountsGroup, type User, unauthenticatedGroup } from "../auth/user.ts";
import type { ApiRequest } from "./api-request.ts";

const extraPrefix = "impersonate-extra-";

/** The request as the user it names in its Impersonate headers, if it names one and its own user may act for that one. */
export function impersonated(request: ApiRequest, authorizer: Authorizer): ApiRequest {
  const { headers } = request;
  const name = headers["impersonate-user"];
  const others = headers["impersonate-group"] ?? headers["impersonate-uid"] ?? extraHeaders(request)[0];
  if (name === undefined && others === undefined) return request;
  if (name === undefined || name === "") {
    throw unclassifiedError("requested impersonation without impersonating a user");
  }
  const user = impersonatedUser(request, name);
  for (const access of accesses(user, headers["impersonate-group"])) {
    const decision = authorizer(request.user, access);
    if (!decision.allowed) throw accessDenied(request.user, access, decision);
  }
  request.audit?.impersonates(user);
  return withUser(request, user);
}

function impersonatedUser(request: ApiRequest, name: string): User {
  const { headers } = request;
  const groups = valuesOf(headers["impersonate-group"]);
  const always = name === anonymous.name ? unauthenticatedGroup : authenticatedGroup;
  const wanted = groups.length === 0 ? accountGroups(name) : groups;
  const extra = Object.fromEntries(
    extraHeaders(request).map((header) => [extraKey(header), valuesOf(headers[header])]),
  );
  return {
    name,
    groups: wanted.includes(always) ? wanted : [...wanted, always],
    ...(headers["impersonate-uid"] === undefined ? {} : { uid: headers["impersonate-uid"] }),
    ...(Object.keys(extra).length === 0 ? {} : { extra }),
  };
}

/** Headers that come several times are joined by a comma and a blank; a comma alone belongs to a value. */
function valuesOf(header: string | undefined): string[] {
  return (header ?? "").split(", ").filter(Boolean);
}

const accountName = /^system:serviceaccount:([^:]+):([^:]+)$/;

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

/** All permissions that are needed to impersonate this user. */
function accesses(user: User, groups: string | undefined): ResourceAccess[] {
  const match = accountName.exec(user.name);
  const [, namespace = "", account = ""] = match ?? [];
  const main =
    match === null ? impersonate("users", user.name) : { ...impersonate("serviceaccounts", account), namespace };
  return [main, ...valuesOf(groups).map((group) => impersonate("groups", group))];
}

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
    audit: request.audit,
    get signal() {
      return request.signal;
    },
  };
}
