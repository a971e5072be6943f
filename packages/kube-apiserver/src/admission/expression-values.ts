// SPDX-License-Identifier: Apache-2.0
import {
  type AccessCheck,
  authorizerValue,
  type CheckAccess,
  type ExpressionValues,
  requestResourceValue,
  untypedValue,
} from "@purlin/cel";
import { isJsonObject, type JsonObject } from "@purlin/kube-objects/json";
import type { Authorizer } from "../auth/authorizer.ts";
import { serviceAccountUser, type User } from "../auth/user.ts";
import type { Store } from "../store/store.ts";
import { type ReviewedWrite, reviewRequest } from "./admission-review.ts";

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
