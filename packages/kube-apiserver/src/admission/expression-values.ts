// SPDX-License-Identifier: Apache-2.0

import type { AwaitingWork, Work } from "@purlin/base";
import {
  type AccessCheck,
  authorizerValue,
  type CheckAccess,
  type ExpressionValues,
  requestResourceValue,
  untypedValue,
} from "@purlin/cel";
import { isJsonObject, type JsonObject } from "@purlin/kube-objects/json";
import { memberAt, parseApiVersion, stringAt } from "@purlin/kube-objects/object";
import { type LabelSelectorObject, labelSelectorOf, matchesLabels } from "@purlin/kube-objects/selector";
import type { Authorizer } from "../auth/authorizer.ts";
import { serviceAccountUser, type User } from "../auth/user.ts";
import { metaOf } from "../objects/object-members.ts";
import { type Catalog, keyPrefix, objectKey, type ResourceType } from "../registry/registry.ts";
import { collecting } from "../store/collecting.ts";
import type { Store } from "../store/store.ts";
import type { AdmissionAttributes } from "./admission.ts";
import { type ReviewedWrite, reviewRequest } from "./admission-review.ts";
import type { Policy, PolicyBinding } from "./policy.ts";

/** What the values of expressions depend on. */
export interface ExpressionDeps {
  readonly store: Store<JsonObject>;
  readonly authorizer: Authorizer;
}

/** The values of the variables that expressions about a write have. */
export function expressionValues(write: ReviewedWrite, deps: ExpressionDeps): ExpressionValues {
  const { attributes, type, object = null, old = null } = write;
  const { namespace, name, subresource, user } = attributes;
  const check = accessCheck(deps.authorizer, user);
  const { group, resource } = type;
  const access: AccessCheck = { group, resource, subresource, namespace: type.namespaced ? namespace : "", name };
  return {
    object: untypedValue(object),
    oldObject: untypedValue(old),
    request: untypedValue({ ...reviewRequest(write), options: attributes.options }),
    namespaceObject: untypedValue(namespaceOf(write, deps.store)),
    authorizer: authorizerValue(check),
    "authorizer.requestResource": requestResourceValue(access, check),
  };
}

function accessCheck(authorizer: Authorizer, user: User): CheckAccess {
  return ({ account, path, verb = "", ...access }) => {
    const asked = account === undefined ? user : accountUser(account);
    if (path !== undefined) return authorizer(asked, { kind: "path", verb, path });
    const { group = "", resource = "", subresource = "", namespace = "", name = "" } = access;
    return authorizer(asked, { kind: "resource", verb, group, version: "*", resource, subresource, namespace, name });
  };
}

function accountUser(account: string): User {
  const [namespace = "", name = ""] = account.split("/");
  const user = serviceAccountUser(namespace, name, "");
  return { name: user.name, groups: [...user.groups, "system:authenticated"] };
}

/** The namespace of a write without its owners; null for a cluster-scoped object. */
function namespaceOf({ attributes, type }: ReviewedWrite, store: Store<JsonObject>): JsonObject | null {
  if (!type.namespaced) return null;
  const found = store.get(`//namespaces/${attributes.namespace}`)?.value;
  if (found === undefined) return null;
  const { metadata } = found;
  if (!isJsonObject(metadata)) return found;
  const { managedFields: _, ownerReferences: __, ...rest } = metadata;
  return { metadata: rest, spec: found["spec"] ?? {}, status: found["status"] ?? {} };
}

/** What the parameters of policies depend on. */
export interface ParamDeps {
  readonly store: Store<JsonObject>;
  readonly catalog: () => Catalog;
  /** Stored objects as their type serves them. */
  readonly served: (objects: readonly JsonObject[], type: ResourceType) => AwaitingWork<readonly JsonObject[]>;
}

/** A policy or a binding whose parameters cannot be found: the text of the reference, and whose fault it is. */
export class ParamError extends Error {
  readonly ofPolicy: boolean;

  constructor(message: string, { ofPolicy }: { readonly ofPolicy: boolean }) {
    super(message);
    this.ofPolicy = ofPolicy;
  }
}

/** The type of the parameters of a policy; undefined for a policy without. */
export function paramType({ paramKind }: Policy, catalog: Catalog): ResourceType | undefined {
  if (paramKind === undefined) return undefined;
  const { group, version } = parseApiVersion(paramKind.apiVersion);
  const found = catalog
    .group(group)
    ?.versions.find((one) => one.version === version)
    ?.resources.find(({ kind }) => kind === paramKind.kind);
  if (found !== undefined) return found;
  const shown = `${group === "" ? "/" : ""}${paramKind.apiVersion}, Kind=${paramKind.kind}`;
  throw new ParamError(`failed to find resource referenced by paramKind: '${shown}'`, { ofPolicy: true });
}

/** The parameters of a binding for a write: one evaluation for each. Undefined stands for the evaluation without parameters. */
export function* paramsOf(
  { paramRef }: PolicyBinding,
  { type, attributes }: { readonly type: ResourceType | undefined; readonly attributes: AdmissionAttributes },
  deps: ParamDeps,
): AwaitingWork<readonly (JsonObject | undefined)[]> {
  if (type === undefined || paramRef === undefined) return [undefined];
  const namespace = paramNamespace(paramRef, type, attributes);
  const found = yield* deps.served(yield* selecting(paramRef, { type, namespace }, deps.store), type);
  if (found.length > 0) return found;
  if (stringAt(paramRef, ["parameterNotFoundAction"]) === "Allow") return [];
  throw new ParamError("no params found for policy binding with `Deny` parameterNotFoundAction", { ofPolicy: false });
}

function paramNamespace(paramRef: JsonObject, type: ResourceType, attributes: AdmissionAttributes): string {
  const own = stringAt(paramRef, ["namespace"]);
  if (!type.namespaced) {
    if (own === "") return "";
    throw new ParamError("paramRef.namespace must not be provided for a cluster-scoped `paramKind`", {
      ofPolicy: false,
    });
  }
  if (own !== "") return own;
  if (attributes.type.namespaced) return attributes.namespace;
  const why = "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources";
  throw new ParamError(why, { ofPolicy: false });
}

interface ParamPlace {
  readonly type: ResourceType;
  readonly namespace: string;
}

function* selecting(
  paramRef: JsonObject,
  { type, namespace }: ParamPlace,
  store: Store<JsonObject>,
): Work<JsonObject[]> {
  const name = stringAt(paramRef, ["name"]);
  if (name !== "") {
    const found = store.get(objectKey(type, namespace, name))?.value;
    return found === undefined ? [] : [found];
  }
  const selector = memberAt(paramRef, ["selector"]);
  if (!isJsonObject(selector)) return [];
  const wanted = labelSelectorOf(selector as LabelSelectorObject);
  const { entries } = store.list({ prefix: keyPrefix(type, namespace) });
  return yield* collecting(entries, ({ value }) => (matchesLabels(wanted, metaOf(value).labels) ? value : undefined));
}
