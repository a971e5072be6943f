// SPDX-License-Identifier: Apache-2.0
import { forbidden, notFound } from "@purlin/kube-objects/errors";
import {
  compareUtf8,
  goQuote,
  goQuotedList,
  isJsonObject,
  type JsonObject,
  jsonEqual,
} from "@purlin/kube-objects/json";
import { memberAt } from "@purlin/kube-objects/object";
import { metaOf, withMeta } from "../../objects/object-members.ts";
import type { ResourceType } from "../../registry/registry.ts";
import { coversPath, has, missingRolesText, type PolicyRule, type ResourceAccess, rulesOfRole } from "../authorizer.ts";
import { mastersGroup, type User } from "../user.ts";
import { type RbacAccess, roleRefOf } from "./rbac-access.ts";

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

/** Controllers that clean up may change owner references and finalizers. */
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
  const who = `user ${goQuote(user.name)} (groups=${goQuotedList(user.groups)})`;
  const text = `${who} is attempting to grant RBAC permissions not currently held:\n${rightsText(lacking)}`;
  throw forbidden(type, metaOf(object).name ?? "", error === "" ? text : `${text}; resolution errors: [${error}]`);
}

/** The rights in `wanted` that no single rule of `held` covers, each as a rule of one verb on one thing. */
export function missingRights(held: readonly PolicyRule[], wanted: readonly PolicyRule[]): PolicyRule[] {
  return wanted.flatMap(breakDown).filter((right) => !held.some((rule) => covers(rule, right)));
}

const noRights: PolicyRule = { verbs: [], apiGroups: [], resources: [], resourceNames: [], nonResourceURLs: [] };

/** A rule as rules that each have one value in every list. */
function breakDown(rule: PolicyRule): PolicyRule[] {
  const names = rule.resourceNames.length === 0 ? [[]] : rule.resourceNames.map((name) => [name]);
  const resources = rule.apiGroups.flatMap((group) =>
    rule.resources.flatMap((resource) =>
      rule.verbs.flatMap((verb) =>
        names.map((resourceNames) => ({
          ...noRights,
          apiGroups: [group],
          resources: [resource],
          verbs: [verb],
          resourceNames,
        })),
      ),
    ),
  );
  const paths = rule.nonResourceURLs.flatMap((url) =>
    rule.verbs.map((verb) => ({ ...noRights, nonResourceURLs: [url], verbs: [verb] })),
  );
  return [...resources, ...paths];
}

/** Whether a rule includes a right as {@link breakDown} returns it. */
function covers(rule: PolicyRule, right: PolicyRule): boolean {
  return (
    right.verbs.every((verb) => has(rule.verbs, verb)) &&
    right.apiGroups.every((group) => has(rule.apiGroups, group)) &&
    right.resources.every((resource) => coversResource(rule.resources, resource)) &&
    right.nonResourceURLs.every((path) => rule.nonResourceURLs.some((url) => coversPath(url, path))) &&
    coversNames(rule.resourceNames, right.resourceNames)
  );
}

function coversResource(resources: readonly string[], resource: string): boolean {
  if (has(resources, resource)) return true;
  const slash = resource.indexOf("/");
  return slash >= 0 && resources.includes(`*${resource.slice(slash)}`);
}

function coversNames(held: readonly string[], wanted: readonly string[]): boolean {
  return held.length === 0 || (wanted.length > 0 && wanted.every((name) => held.includes(name)));
}

/** Rights as text, one rule per line, sorted. The verbs on the same resource are one rule. */
function rightsText(rights: readonly PolicyRule[]): string {
  return [...new Set(compact(rights).map(ruleText))].sort(compareUtf8).join("\n");
}

function compact(rights: readonly PolicyRule[]): PolicyRule[] {
  const merged = new Map<string, PolicyRule>();
  const paths: PolicyRule[] = [];
  for (const right of rights) {
    if (right.nonResourceURLs.length > 0) {
      paths.push(right);
      continue;
    }
    const key = JSON.stringify([right.apiGroups, right.resources, right.resourceNames]);
    const known = merged.get(key);
    merged.set(key, known === undefined ? right : { ...known, verbs: [...known.verbs, ...right.verbs] });
  }
  return [...paths, ...merged.values()];
}

function ruleText(rule: PolicyRule): string {
  const members: readonly (readonly [string, readonly string[]])[] = [
    ["APIGroups", rule.apiGroups],
    ["Resources", rule.resources],
    ["NonResourceURLs", rule.nonResourceURLs],
    ["ResourceNames", rule.resourceNames],
    ["Verbs", rule.verbs],
  ];
  const set = members
    .filter(([, values]) => values.length > 0)
    .map(([name, values]) => `${name}:${goQuotedList(values)}`);
  return `{${set.join(", ")}}`;
}
