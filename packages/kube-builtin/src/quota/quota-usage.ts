// SPDX-License-Identifier: Apache-2.0
import type { Work } from "@purlin/base";
import {
  type Check,
  type Endpoint,
  type Entry,
  type KindRules,
  listAt,
  metaOf,
  type ResourceType,
  type Store,
} from "@purlin/kube-apiserver/kinds";
import {
  type FieldError,
  firstErrors,
  firstErrorsByName,
  invalidPrinted,
  invalidValue,
  keyPath,
  requiredValue,
} from "@purlin/kube-objects/errors";
import {
  isJsonArray,
  isNumber,
  type JsonObject,
  type JsonValue,
  jsonEqual,
  sortedKeys,
} from "@purlin/kube-objects/json";
import { memberAt, objectAt, stringAt, textsAt } from "@purlin/kube-objects/object";
import { amountErrors, isQuotaName, resourceNameErrors } from "../checks/resource-names.ts";
import { goStruct, hasObject } from "../checks/rule-checks.ts";
import { qosClassOf } from "../pods/pod-parts.ts";
import { FollowedObjects, type Usage, usageOf } from "./object-usage.ts";

type CountedType = Pick<ResourceType, "group" | "resource">;

/** What the objects of one resource in one namespace count for in one quota. */
class ResourceUsage {
  readonly totals = new Map<string, bigint>();
  readonly keys = new Set<string>();
  readonly #followed: FollowedObjects;

  constructor(store: Store<JsonObject>, quota: JsonObject, { type, prefix }: Counted) {
    const count = ({ key, value }: Entry<JsonObject>, sign: 1n | -1n): void => {
      if (sign === 1n) this.keys.add(key);
      else this.keys.delete(key);
      if (!isInScope(quota, type.resource, value)) return;
      // This server gives a deleted Pod no grace period: that of all is over, and what is added is what is removed later.
      for (const [name, amount] of usageOf(type, value, Number.POSITIVE_INFINITY)) {
        this.totals.set(name, (this.totals.get(name) ?? 0n) + sign * amount);
      }
    };
    this.#followed = new FollowedObjects(store, prefix, {
      clear: () => {
        this.totals.clear();
        this.keys.clear();
      },
      add: (entry) => count(entry, 1n),
      remove: (entry) => count(entry, -1n),
    });
  }

  catchUp(): this {
    this.#followed.catchUp();
    return this;
  }

  catchingUp(): Work<void> {
    return this.#followed.catchingUp();
  }

  close(): void {
    this.#followed.close();
  }
}

interface Counted {
  readonly type: CountedType;
  readonly prefix: string;
}

const mostQuotas = 1000;

/** What counts of a quota for its usage: which one it is, and its scopes. */
function identityOf(quota: JsonObject): string {
  return `${metaOf(quota).uid ?? ""}/${JSON.stringify(scopesOf(quota))}`;
}

/** Counts objects for quotas. Objects are listed once for each quota and resource; after that only changes are read. */
export class QuotaUsage {
  readonly #store: Store<JsonObject>;
  /** The usage by the identity of a quota, and by the prefix of the counted objects. */
  readonly #known = new Map<string, Map<string, ResourceUsage>>();

  constructor(store: Store<JsonObject>) {
    this.#store = store;
  }

  /** The usage of a quota by objects of a type, and the keys of the counted objects. */
  of(
    quota: JsonObject,
    type: CountedType,
    namespace: string,
  ): { readonly totals: Usage; readonly keys: ReadonlySet<string> } {
    return this.#find(quota, type, namespace).catchUp();
  }

  /** Counts in parts, so that {@link of} does not take long. */
  counting(quota: JsonObject, type: CountedType, namespace: string): Work<void> {
    return this.#find(quota, type, namespace).catchingUp();
  }

  #find(quota: JsonObject, type: CountedType, namespace: string): ResourceUsage {
    const prefix = `/${type.group}/${type.resource}/${namespace}/`;
    const identity = identityOf(quota);
    const known = this.#known.get(identity) ?? new Map<string, ResourceUsage>();
    const usage = known.get(prefix) ?? new ResourceUsage(this.#store, scopedAs(quota), { type, prefix });
    this.#known.set(identity, known.set(prefix, usage));
    if (this.#known.size > mostQuotas) this.#forgetOldest();
    return usage;
  }

  /** Frees what is kept for a quota that was deleted. */
  forget(quota: JsonObject): void {
    this.#forget(identityOf(quota));
  }

  #forget(identity: string): void {
    for (const usage of this.#known.get(identity)?.values() ?? []) usage.close();
    this.#known.delete(identity);
  }

  #forgetOldest(): void {
    const [oldest] = this.#known.keys();
    if (oldest !== undefined) this.#forget(oldest);
  }
}

/** A quota of the same scopes, and nothing else: the usage keeps it. */
function scopedAs(quota: JsonObject): JsonObject {
  const { scopes = [], scopeSelector = {} } = objectAt(quota, ["spec"]);
  return { spec: { scopes, scopeSelector } };
}

interface Scope {
  readonly name: string;
  readonly operator: string;
  readonly values: readonly string[];
}

function scopesOf(quota: JsonObject): Scope[] {
  const names = memberAt(quota, ["spec", "scopes"]);
  const plain = isJsonArray(names) ? names.map((name) => ({ name: String(name), operator: "Exists", values: [] })) : [];
  const selected = listAt(quota, "spec", "scopeSelector", "matchExpressions").map((one) => {
    const values = memberAt(one, ["values"]);
    return {
      name: stringAt(one, ["scopeName"]),
      operator: stringAt(one, ["operator"]),
      values: isJsonArray(values) ? values.map(String) : [],
    };
  });
  return [...plain, ...selected];
}

/** Whether a quota concerns an object: one with scopes concerns Pods and claims only, and only those in all of its scopes. */
export function isInScope(quota: JsonObject, resource: string, object: JsonObject): boolean {
  const scopes = scopesOf(quota);
  if (scopes.length === 0) return true;
  if (resource === "persistentvolumeclaims") return scopes.every((scope) => claimMatches(scope, object));
  return resource === "pods" && scopes.every((scope) => matches(scope, object));
}

function matches({ name, operator, values }: Scope, pod: JsonObject): boolean {
  switch (name) {
    case "Terminating":
      return isTerminating(pod);
    case "NotTerminating":
      return !isTerminating(pod);
    case "BestEffort":
      return isBestEffort(pod);
    case "NotBestEffort":
      return !isBestEffort(pod);
    case "PriorityClass":
      return matchesClass(stringAt(pod, ["spec", "priorityClassName"]), operator, values);
    case "CrossNamespacePodAffinity":
      return usesOtherNamespaces(pod);
    default:
      return false;
  }
}

function matchesClass(name: string, operator: string, values: readonly string[]): boolean {
  if (operator === "In") return values.includes(name);
  if (operator === "NotIn") return !values.includes(name);
  return (operator === "Exists") === (name !== "");
}

/** Whether a Pod has a deadline. */
export function isTerminating(pod: JsonObject): boolean {
  const seconds = memberAt(pod, ["spec", "activeDeadlineSeconds"]);
  return isNumber(seconds) && seconds >= 0;
}

const isBestEffort = (pod: JsonObject): boolean =>
  (stringAt(pod, ["status", "qosClass"]) || qosClassOf(pod)) === "BestEffort";

/** Whether an affinity of a Pod concerns Pods of other namespaces. */
function usesOtherNamespaces(pod: JsonObject): boolean {
  return ["podAffinity", "podAntiAffinity"].some((name) => {
    const affinity = objectAt(pod, ["spec", "affinity", name]);
    const preferred = listAt(affinity, "preferredDuringSchedulingIgnoredDuringExecution");
    const terms = [
      ...listAt(affinity, "requiredDuringSchedulingIgnoredDuringExecution"),
      ...preferred.map((one) => objectAt(one, ["podAffinityTerm"])),
    ];
    return terms.some((term) => textsAt(term, ["namespaces"]).length > 0 || hasObject(term, "namespaceSelector"));
  });
}

/** The classes of attributes that a claim has, is about to have, or should have. */
function attributesClassesOf(claim: JsonObject): string[] {
  const names = [
    stringAt(claim, ["spec", "volumeAttributesClassName"]),
    stringAt(claim, ["status", "currentVolumeAttributesClassName"]),
    stringAt(claim, ["status", "modifyVolumeStatus", "targetVolumeAttributesClassName"]),
  ];
  return names.filter((name) => name !== "");
}

/** A claim is in a scope by any of its classes. */
function claimMatches({ name, operator, values }: Scope, claim: JsonObject): boolean {
  if (name !== "VolumeAttributesClass") return false;
  const classes = attributesClassesOf(claim);
  return classes.length === 0
    ? matchesClass("", operator, values)
    : classes.some((one) => matchesClass(one, operator, values));
}

// The rules of ResourceQuotas.

/** Limits by the name of their resource. */
function limits(member: string): Check {
  return (object, path) => {
    const amounts = objectAt(object, [member]);
    return firstErrorsByName(amounts, (name) => {
      const at = keyPath(`${path}.${member}`, name);
      const isKnown = name.includes("/") || isQuotaName(name);
      return [
        ...resourceNameErrors(name, at),
        ...(isKnown ? [] : [invalidValue(at, name, "must be a standard resource for quota")]),
        ...amountErrors(name, String(amounts[name]), at),
      ];
    });
  };
}

const compute = new Set(["cpu", "memory", "limits.cpu", "limits.memory", "requests.cpu", "requests.memory", "pods"]);
const claims = new Set(["persistentvolumeclaims", "requests.storage"]);
const scopeResources: Readonly<Record<string, ReadonlySet<string>>> = {
  Terminating: compute,
  NotTerminating: compute,
  NotBestEffort: compute,
  PriorityClass: compute,
  CrossNamespacePodAffinity: compute,
  BestEffort: new Set(["pods"]),
  VolumeAttributesClass: claims,
};
const onlyExists = ["BestEffort", "NotBestEffort", "Terminating", "NotTerminating", "CrossNamespacePodAffinity"];
const existsText =
  "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity";
const conflicts = [
  ["BestEffort", "NotBestEffort"],
  ["Terminating", "NotTerminating"],
];

/** A value that is made when it is first needed. */
function once<T>(make: () => T): () => T {
  let made: T | undefined;
  return () => (made ??= make());
}

/** The errors of a scope that does not fit limited resources: one for each of them, all alike. Worked out once for each scope. */
function createMisfits(spec: JsonObject, error: () => FieldError): (scope: string) => readonly FieldError[] {
  const names = sortedKeys(objectAt(spec, ["hard"])).filter(isQuotaName);
  const one = once(error);
  const known = new Map<string, readonly FieldError[]>();
  return (scope) => {
    const fitting = Object.hasOwn(scopeResources, scope) ? scopeResources[scope] : undefined;
    if (fitting === undefined) return [];
    const errors = known.get(scope) ?? firstErrors(names, (name) => (fitting.has(name) ? [] : [one()]));
    known.set(scope, errors);
    return errors;
  };
}

const unfitText = "unsupported scope applied to resource";
const hasConflict = (scopes: readonly string[]): string[][] =>
  conflicts.filter((pair) => pair.every((scope) => scopes.includes(scope)));

const scopes: Check = (spec, path) => {
  const [given, at] = [textsAt(spec, ["scopes"]), `${path}.scopes`];
  // Each shows the whole list: its text is made once.
  const unsupported = once(() => invalidValue(at, given, "unsupported scope"));
  const misfits = createMisfits(spec, () => invalidValue(at, given, unfitText));
  return [
    ...firstErrors(given, (scope) => [
      ...(Object.hasOwn(scopeResources, scope) ? [] : [unsupported()]),
      ...misfits(scope),
    ]),
    ...hasConflict(given).map(() => invalidValue(at, given, "conflicting scopes")),
  ];
};

/** A selector as the reference prints it. */
function inGo(selector: JsonObject): string {
  const expressions = listAt(selector, "matchExpressions").map((one) =>
    goStruct({
      ScopeName: stringAt(one, ["scopeName"]),
      Operator: stringAt(one, ["operator"]),
      Values: textsAt(one, ["values"]).length > 0 ? textsAt(one, ["values"]) : null,
    }),
  );
  return `{"MatchExpressions":[${expressions.join(",")}]}`;
}

function operatorErrors(one: JsonObject, path: string): FieldError[] {
  const [operator, values] = [stringAt(one, ["operator"]), textsAt(one, ["values"])];
  const none = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector";
  const some = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector";
  switch (operator) {
    case "In":
    case "NotIn":
      return values.length === 0 ? [requiredValue(`${path}.values`, some)] : [];
    case "Exists":
    case "DoesNotExist":
      return values.length === 0 ? [] : [invalidValue(`${path}.values`, values, none)];
    default:
      return [invalidValue(`${path}.operator`, operator, "not a valid selector operator")];
  }
}

const selector: Check = (spec, path) => {
  if (!hasObject(spec, "scopeSelector")) return [];
  const [own, at] = [objectAt(spec, ["scopeSelector"]), `${path}.scopeSelector.matchExpressions`];
  const expressions = listAt(own, "matchExpressions");
  const names = expressions.map((one) => stringAt(one, ["scopeName"]));
  const misfits = createMisfits(spec, () => invalidPrinted(at, inGo(own), unfitText));
  return [
    ...firstErrors(expressions, (one, index) => {
      const [scope, operator] = [names[index] ?? "", stringAt(one, ["operator"])];
      return [
        ...(Object.hasOwn(scopeResources, scope) ? [] : [invalidValue(`${at}.scopeName`, scope, "unsupported scope")]),
        ...misfits(scope),
        ...(onlyExists.includes(scope) && operator !== "Exists"
          ? [invalidValue(`${at}.operator`, operator, existsText)]
          : []),
        ...operatorErrors(one, at),
      ];
    }),
    ...hasConflict(names).map(() => invalidValue(at, memberAt(spec, ["scopes"]) ?? null, "conflicting scopes")),
  ];
};

function quotaErrors(object: JsonObject): FieldError[] {
  const spec = objectAt(object, ["spec"]);
  return [limits("hard"), scopes, selector].flatMap((check) => check(spec, "spec"));
}

/** The scopes of a quota stay. */
function quotaChange(object: JsonObject, old: JsonObject, endpoint: Endpoint): FieldError[] {
  if (endpoint === "status") {
    const status = objectAt(object, ["status"]);
    return [limits("hard"), limits("used")].flatMap((check) => check(status, "status"));
  }
  const scopeSet = (one: JsonObject): JsonValue => [...new Set(textsAt(one, ["spec", "scopes"]))].sort();
  const sent = memberAt(object, ["spec", "scopes"]) ?? null;
  return jsonEqual(scopeSet(object), scopeSet(old)) ? [] : [invalidValue("spec.scopes", sent, "field is immutable")];
}

/** The rules of ResourceQuotas. */
export const quotaChecks: KindRules = { validate: quotaErrors, validateChange: quotaChange };
