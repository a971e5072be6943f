// SPDX-License-Identifier: Apache-2.0
import { type Entry, listAt, metaOf, type ResourceType, type Store } from "@purlin/kube-apiserver/kinds";
import { isJsonArray, isNumber, type JsonObject, printJson } from "@purlin/kube-objects/json";
import { memberAt, stringAt } from "@purlin/kube-objects/object";
import { FollowedObjects } from "./followed-objects.ts";
import { amountsAt, type Usage, usageOf } from "./object-usage.ts";

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
      for (const [name, amount] of usageOf(type, value)) {
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

  close(): void {
    this.#followed.close();
  }
}

interface Counted {
  readonly type: CountedType;
  readonly prefix: string;
}

const mostQuotas = 1000;

function versionOf(quota: JsonObject): string {
  const { uid = "", resourceVersion = "" } = metaOf(quota);
  return `${uid}/${resourceVersion}`;
}

/** Counts objects for quotas. Objects are listed once for each quota and resource; after that only changes are read. */
export class QuotaUsage {
  readonly #store: Store<JsonObject>;
  /** The usage by the identity and version of a quota, and by the prefix of the counted objects. A changed quota is counted anew. */
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
    const prefix = `/${type.group}/${type.resource}/${namespace}/`;
    const known = this.#known.get(versionOf(quota)) ?? new Map<string, ResourceUsage>();
    const usage = known.get(prefix) ?? new ResourceUsage(this.#store, quota, { type, prefix });
    this.#known.set(versionOf(quota), known.set(prefix, usage));
    if (this.#known.size > mostQuotas) this.#forgetOldest();
    return usage.catchUp();
  }

  /** Frees what is kept for a quota that was changed or deleted. */
  forget(quota: JsonObject): void {
    this.#forget(versionOf(quota));
  }

  #forget(version: string): void {
    for (const usage of this.#known.get(version)?.values() ?? []) usage.close();
    this.#known.delete(version);
  }

  #forgetOldest(): void {
    const [oldest] = this.#known.keys();
    if (oldest !== undefined) this.#forget(oldest);
  }
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

/** Whether a quota concerns an object: one with scopes concerns Pods only, and only those in all of its scopes. */
export function isInScope(quota: JsonObject, resource: string, object: JsonObject): boolean {
  const scopes = scopesOf(quota);
  if (scopes.length === 0) return true;
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
      return printJson(memberAt(pod, ["spec", "affinity"]) ?? {}).includes('"namespace');
    default:
      return false;
  }
}

function matchesClass(name: string, operator: string, values: readonly string[]): boolean {
  if (operator === "In") return values.includes(name);
  if (operator === "NotIn") return !values.includes(name);
  return (operator === "Exists") === (name !== "");
}

function isTerminating(pod: JsonObject): boolean {
  const seconds = memberAt(pod, ["spec", "activeDeadlineSeconds"]);
  return isNumber(seconds) && seconds >= 0;
}

function isBestEffort(pod: JsonObject): boolean {
  const containers = [...listAt(pod, "spec", "containers"), ...listAt(pod, "spec", "initContainers")];
  return containers.every((one) =>
    ["requests", "limits"].every((member) => {
      const amounts = amountsAt(one, ["resources", member]);
      return amounts["cpu"] === undefined && amounts["memory"] === undefined;
    }),
  );
}
