// SPDX-License-Identifier: Apache-2.0
import { forbidden, notFound } from "@purlin/kube-objects/errors";
import { goQuote, isJsonObject, type JsonObject, jsonEqual } from "@purlin/kube-objects/json";
import { memberAt } from "@purlin/kube-objects/object";
import { metaOf, withMeta } from "../../objects/object-meta.ts";
import type { ResourceType } from "../../registry/resource-type.ts";
import type { ResourceAccess } from "../authorizer.ts";
import { mastersGroup, type User } from "../user.ts";
import { type PolicyRule, rulesOfRole } from "./policy-rule.ts";
import type { RbacAccess } from "./rbac-access.ts";
import { roleRefOf } from "./rbac-index.ts";
import { goList, missingRights, rightsText } from "./rule-coverage.ts";
import { missingRolesText } from "./rule-set.ts";

/** A write of an object. */
interface RbacWrite {
  readonly user: User;
  readonly type: ResourceType;
  readonly target: ResourceAccess;
  readonly object: JsonObject;
  /** The object that is replaced; undefined for a new one. */
  readonly old: JsonObject | undefined;
}

/** Throws when a user may write objects of the kind, but not this one. */
export type EscalationCheck = (write: RbacWrite) => void;

const rbacGroup = "rbac.authorization.k8s.io";

const fullAuthority: readonly PolicyRule[] = [
  { verbs: ["*"], apiGroups: ["*"], resources: ["*"], resourceNames: [], nonResourceURLs: [] },
  { verbs: ["*"], apiGroups: [], resources: [], resourceNames: [], nonResourceURLs: ["*"] },
];

/** Users grant only rights that they hold, unless they may escalate roles or bind the role. */
export function escalationCheck(access: RbacAccess): EscalationCheck {
  return (write) => {
    const { type, user, object, old } = write;
    if (type.group !== rbacGroup || user.groups.includes(mastersGroup)) return;
    if (old !== undefined && changesOnlyGarbageFields(object, old)) return;
    if (type.resource === "roles" || type.resource === "clusterroles") requireRightsOfRole(access, write);
    else requireRightsOfBinding(access, write);
  };
}

/** Owner references and finalizers may be changed by those who clean up, whatever the role says. */
function changesOnlyGarbageFields(object: JsonObject, old: JsonObject): boolean {
  const { ownerReferences, finalizers, managedFields } = metaOf(old);
  return jsonEqual(withMeta(object, { ownerReferences, finalizers, managedFields }), old);
}

function requireRightsOfRole(access: RbacAccess, write: RbacWrite): void {
  const { type, user, target, object, old } = write;
  const mayEscalate = access.authorize(user, { ...target, verb: "escalate", version: "*", subresource: "" });
  if (mayEscalate.allowed) return;
  requireHeld(access, write, rulesOfRole(object));
  const isAggregated = [object, old ?? {}].some((role) => isJsonObject(memberAt(role, ["aggregationRule"])));
  if (isAggregated && missing(access, write, fullAuthority).length > 0) {
    const why = "must have cluster-admin privileges to use the aggregationRule";
    throw forbidden(type, metaOf(object).name ?? "", why);
  }
}

function requireRightsOfBinding(access: RbacAccess, write: RbacWrite): void {
  const { user, target, type, object } = write;
  const role = roleRefOf(object, target.namespace);
  const mayBind = access.authorize(user, {
    ...target,
    verb: "bind",
    version: "*",
    resource: role.kind === "ClusterRole" ? "clusterroles" : "roles",
    subresource: "",
    name: role.name,
  });
  if (mayBind.allowed) return;
  const rules = access.rulesOf(role);
  if (rules === undefined) throw notFound(type, role.name);
  requireHeld(access, write, rules);
}

function missing(access: RbacAccess, { user, target }: RbacWrite, rules: readonly PolicyRule[]): PolicyRule[] {
  return missingRights(access.rulesFor(user, target.namespace).rules, rules);
}

/** 403 with the rights that the user does not hold. */
function requireHeld(access: RbacAccess, write: RbacWrite, rules: readonly PolicyRule[]): void {
  const { user, type, target, object } = write;
  const lacking = missing(access, write, rules);
  if (lacking.length === 0) return;
  // The reference reports roles that it cannot find as if they were of the resource that is written.
  const error = missingRolesText(access.rulesFor(user, target.namespace).missing, () => type.resource);
  const who = `user ${goQuote(user.name)} (groups=${goList(user.groups)})`;
  const text = `${who} is attempting to grant RBAC permissions not currently held:\n${rightsText(lacking)}`;
  throw forbidden(type, metaOf(object).name ?? "", error === "" ? text : `${text}; resolution errors: [${error}]`);
}
