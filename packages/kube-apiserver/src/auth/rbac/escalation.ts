// SPDX-License-Identifier: Apache-2.0
import { isPartDone, type Work } from "@purlin/base";
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
import { type PolicyRule, type ResourceAccess, readingRules } from "../authorizer.ts";
import { mastersGroup, type User } from "../user.ts";
import type { RbacAccess } from "./rbac-access.ts";
import { roleRefOf } from "./rbac-index.ts";
import { type Right, type RuleIndex, sought } from "./rule-index.ts";

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
export type EscalationCheck = (write: RbacWrite) => Work<void>;

const rbacGroup = "rbac.authorization.k8s.io";

/** Whether objects of the type grant rights. A small one can grant so many that comparing them with those of its user takes long. */
export function grantsRights({ group }: ResourceType): boolean {
  return group === rbacGroup;
}

const fullAuthority: readonly PolicyRule[] = [
  { verbs: ["*"], apiGroups: ["*"], resources: ["*"], resourceNames: [], nonResourceURLs: [] },
  { verbs: ["*"], apiGroups: [], resources: [], resourceNames: [], nonResourceURLs: ["*"] },
];

/** Users grant only rights that they hold, unless they may escalate roles or bind the role. */
export function escalationCheck(access: RbacAccess): EscalationCheck {
  return function* (write) {
    const { type, user, object, old } = write;
    if (!grantsRights(type) || user.groups.includes(mastersGroup)) return;
    if (old !== undefined && changesOnlyGarbageFields(object, old)) return;
    if (type.resource === "roles" || type.resource === "clusterroles") yield* requiringRightsOfRole(access, write);
    else yield* requiringRightsOfBinding(access, write);
  };
}

/** Controllers that clean up may change owner references and finalizers. */
function changesOnlyGarbageFields(object: JsonObject, old: JsonObject): boolean {
  const { ownerReferences, finalizers, managedFields } = metaOf(old);
  return jsonEqual(withMeta(object, { ownerReferences, finalizers, managedFields }), old);
}

function* requiringRightsOfRole(access: RbacAccess, write: RbacWrite): Work<void> {
  const { type, user, target, object, old } = write;
  const mayEscalate = yield* access.authorizing(user, { ...target, verb: "escalate", version: "*", subresource: "" });
  if (mayEscalate.allowed) return;
  yield* requiringHeld(access, write, yield* readingRules(object));
  const isAggregated = [object, old ?? {}].some((role) => isJsonObject(memberAt(role, ["aggregationRule"])));
  if (!isAggregated) return;
  const held = yield* access.holding(user, target.namespace);
  const { rights, isComplete } = yield* missingRights(held.rules, fullAuthority);
  if (rights.length > 0 || !isComplete) {
    const why = "must have cluster-admin privileges to use the aggregationRule";
    throw forbidden(type, metaOf(object).name ?? "", why);
  }
}

function* requiringRightsOfBinding(access: RbacAccess, write: RbacWrite): Work<void> {
  const { user, target, type, object } = write;
  const role = roleRefOf(object, target.namespace);
  const mayBind = yield* access.authorizing(user, {
    ...target,
    verb: "bind",
    version: "*",
    resource: role.kind === "ClusterRole" ? "clusterroles" : "roles",
    subresource: "",
    name: role.name,
  });
  if (mayBind.allowed) return;
  const known = yield* access.readingRole(role);
  if (known === undefined) throw notFound(type, role.name);
  yield* requiringHeld(access, write, known.rules);
}

/** 403 with the rights that the user does not hold. */
function* requiringHeld(access: RbacAccess, write: RbacWrite, wanted: readonly PolicyRule[]): Work<void> {
  const { user, type, target, object } = write;
  const held = yield* access.holding(user, target.namespace);
  const { rights, isComplete } = yield* missingRights(held.rules, wanted);
  if (rights.length === 0 && isComplete) return;
  // The reference reports roles that it cannot find as if they were of the resource that is written.
  const error = held.missing.text(() => type.resource);
  const who = `user ${goQuote(user.name)} (groups=${goQuotedList(user.groups)})`;
  const text = `${who} is attempting to grant ${rightsText(rights, isComplete)}`;
  throw forbidden(type, metaOf(object).name ?? "", error === "" ? text : `${text}; resolution errors: [${error}]`);
}

/** Rights that are not held. */
interface MissingRights {
  readonly rights: readonly Right[];
  /** Whether all rights were compared: there is a limit to the rights that are listed, and to those that are compared. */
  readonly isComplete: boolean;
}

/** A role can have more rights than bytes: the verbs times the groups, resources and names of each rule. */
const mostMissing = 1000;
const mostMissingCharacters = 100_000;
/** Steps of one right, without those in the indexes of held rules. */
const stepsOfRight = 20;
const mostSteps = 20_000_000;

/** How much of a comparison is done. */
interface ComparisonLimits {
  readonly rights: number;
  readonly characters: number;
  readonly steps: number;
}

const limitsForUsers: ComparisonLimits = {
  rights: mostMissing,
  characters: mostMissingCharacters,
  steps: mostSteps,
};

/** For rules that no user wrote. */
export const withoutLimits: ComparisonLimits = {
  rights: Number.POSITIVE_INFINITY,
  characters: Number.POSITIVE_INFINITY,
  steps: Number.POSITIVE_INFINITY,
};

/** The rights in `wanted` that no single rule of `held` includes. */
export function* missingRights(
  given: readonly RuleIndex[],
  wanted: readonly PolicyRule[],
  limits: ComparisonLimits = limitsForUsers,
): Work<MissingRights> {
  const rights: Right[] = [];
  // Many bindings can give the same role.
  const held = [...new Set(given)];
  const steps = held.reduce((sum, index) => sum + index.steps, stepsOfRight);
  const holdsAll = yield* having(held, { verb: "*", group: "*", resource: "*", name: undefined });
  let [left, characters] = [limits.steps, 0];
  for (const right of rightsOf(wanted)) {
    if (isPartDone()) yield;
    if (holdsAll && !("path" in right)) continue;
    left -= steps;
    if (left < 0 || rights.length >= limits.rights || characters > limits.characters) {
      return { rights, isComplete: false };
    }
    if (yield* having(held, right)) continue;
    rights.push(right);
    characters += charactersOf(right);
  }
  return { rights, isComplete: true };
}

/** Steps that are worth a look at the clock. */
const manySteps = 1000;

/** Whether one of the indexes has the right. */
function* having(held: readonly RuleIndex[], right: Right): Work<boolean> {
  const wanted = sought(right);
  let steps = 0;
  for (const index of held) {
    if (index.has(wanted)) return true;
    steps += index.steps;
    if (steps <= manySteps) continue;
    steps = 0;
    yield;
  }
  return false;
}

function charactersOf(right: Right): number {
  if ("path" in right) return right.path.length + right.verb.length;
  return right.group.length + right.resource.length + right.verb.length + (right.name?.length ?? 0);
}

/** The rights of rules, one by one. */
function* rightsOf(rules: readonly PolicyRule[]): Generator<Right, void, void> {
  for (const rule of rules) {
    const names = rule.resourceNames.length === 0 ? [undefined] : rule.resourceNames;
    for (const group of rule.apiGroups) {
      for (const resource of rule.resources) {
        for (const verb of rule.verbs) for (const name of names) yield { verb, group, resource, name };
      }
    }
    for (const path of rule.nonResourceURLs) for (const verb of rule.verbs) yield { verb, path };
  }
}

/** Rights as text, one rule per line, sorted. The verbs on the same resource are one rule. */
function rightsText(rights: readonly Right[], isComplete: boolean): string {
  const lines = [...new Set(compact(rights).map(ruleText))].sort(compareUtf8);
  if (isComplete) return `RBAC permissions not currently held:\n${lines.join("\n")}`;
  if (lines.length === 0) return "too many RBAC permissions to compare them with those held: divide the role";
  return `RBAC permissions not currently held, among them:\n${lines.join("\n")}`;
}

/** A right as a rule of its own. */
export function ruleOf(right: Right): PolicyRule {
  const verbs = [right.verb];
  if ("path" in right) return { ...noRights, verbs, nonResourceURLs: [right.path] };
  const { group, resource, name } = right;
  const resourceNames = name === undefined ? [] : [name];
  return { ...noRights, verbs, apiGroups: [group], resources: [resource], resourceNames };
}

const noRights: PolicyRule = { verbs: [], apiGroups: [], resources: [], resourceNames: [], nonResourceURLs: [] };

function compact(rights: readonly Right[]): PolicyRule[] {
  const merged = new Map<string, PolicyRule>();
  const paths: PolicyRule[] = [];
  for (const right of rights.map(ruleOf)) {
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
