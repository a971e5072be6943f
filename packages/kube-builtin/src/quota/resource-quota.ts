// SPDX-License-Identifier: Apache-2.0
import type { Work } from "@purlin/base";
import {
  type AdmissionPlugin,
  type KindRules,
  listAt,
  metaOf,
  type ResourceType,
  type Store,
} from "@purlin/kube-apiserver/kinds";
import { forbidden } from "@purlin/kube-objects/errors";
import { type JsonObject, sortedKeys } from "@purlin/kube-objects/json";
import { stringAt } from "@purlin/kube-objects/object";
import { compareQuantities, quantityNanos, quantityText } from "@purlin/kube-objects/typed";
import { type Amounts, amountsAt } from "../checks/resource-names.ts";
import { hasOwnAmounts } from "../pods/pod-charge.ts";
import { devicesOfClass, NamespacedObjects, type Usage, usageOf } from "./object-usage.ts";
import { isInScope, isTerminating, QuotaUsage, quotaChecks } from "./quota-usage.ts";

type Attributes = Parameters<NonNullable<AdmissionPlugin["commit"]>>[0];
type AdmissionWrite = Parameters<AdmissionPlugin["handles"]>[0];
type Peek = (key: string) => unknown;

/** Objects that were admitted and that the counters have not seen yet, by the prefix of their keys. */
type Pending = Map<string, Map<string, JsonObject>>;

/** The number of prefixes with such objects. Those of a prefix are looked at when the next one is written: the last ones stay. */
const mostPending = 1000;

const prefix = "//resourcequotas/";
const required = ["cpu", "memory"].flatMap((name) => [name, `requests.${name}`, `limits.${name}`]);

/** Enforces ResourceQuotas: a write that would exceed one is refused in the transaction that makes it. */
export class ResourceQuotas {
  readonly #usage: QuotaUsage;
  readonly #quotas: NamespacedObjects;
  readonly #pending: Pending = new Map();

  constructor(store: Store<JsonObject>) {
    this.#usage = new QuotaUsage(store);
    this.#quotas = new NamespacedObjects(store, prefix, (quota) => this.#usage.forget(quota));
  }

  readonly plugin: AdmissionPlugin = {
    name: "ResourceQuota",
    handles: (write) => write.type.namespaced && write.type.verbs.includes("list") && isCounted(write),
    validating: (attributes) => this.#validating(attributes),
    commit: (attributes, { peek }) => this.#check(attributes, peek),
  };

  /** The rules of ResourceQuotas: the status shows the usage at the time of the read. */
  readonly rules: KindRules = {
    ...quotaChecks,
    toServed: (quota) => ({ ...quota, status: this.#status(quota) }),
    warnings: (quota, old) => (old === undefined ? limitWarnings(amountsAt(quota, ["spec", "hard"])) : []),
  };

  /** Counts in parts what the transaction compares, and what the status of a new quota shows. */
  *#validating(attributes: Attributes): Work<void> {
    const { object, namespace, type, dryRun } = attributes;
    if (object === undefined || isSameForQuotas(attributes)) return;
    for (const quota of yield* this.#quotas.findingIn(namespace)) {
      if (!isInScope(quota, type.resource, object)) continue;
      yield* this.#usage.counting(quota, { group: type.storage.group, resource: type.resource }, namespace);
    }
    if (type.group === "" && type.resource === "resourcequotas") yield* this.#countingAll(object, namespace);
    // Outside of a transaction, what is being written is not known: it counts until the counters have seen it.
    if (dryRun) this.#check(attributes, () => true);
  }

  *#countingAll(quota: JsonObject, namespace: string): Work<void> {
    for (const name of Object.keys(amountsAt(quota, ["spec", "hard"]))) {
      const type = typeCountedAs(name);
      if (type !== undefined) yield* this.#usage.counting(quota, type, namespace);
    }
  }

  #status(quota: JsonObject): JsonObject {
    const hard = amountsAt(quota, ["spec", "hard"]);
    if (Object.keys(hard).length === 0) return {};
    const { namespace = "" } = metaOf(quota);
    const used = Object.keys(hard).map((name) => {
      const type = typeCountedAs(name);
      const total = type === undefined ? 0n : (this.#usage.of(quota, type, namespace).totals.get(name) ?? 0n);
      return [name, quantityText(total, hard[name] ?? "")] as const;
    });
    return { hard, used: Object.fromEntries(used) };
  }

  #check(attributes: Attributes, peek: Peek): void {
    const { object, old, type, namespace } = attributes;
    const quotas = object === undefined ? [] : this.#quotas.in(namespace);
    if (object === undefined || quotas.length === 0 || isSameForQuotas(attributes)) return;
    for (const quota of quotas) this.#checkOne(quota, { ...attributes, object }, peek);
    if (old !== undefined || attributes.dryRun || !quotas.some((quota) => isInScope(quota, type.resource, object)))
      return;
    this.#remember(`/${type.storage.group}/${type.resource}/${namespace}/`, object);
  }

  #remember(place: string, object: JsonObject): void {
    const pending = this.#pending.get(place) ?? new Map<string, JsonObject>();
    this.#pending.delete(place);
    this.#pending.set(place, pending.set(`${place}${metaOf(object).name ?? ""}`, object));
    const [oldest] = this.#pending.keys();
    if (this.#pending.size > mostPending && oldest !== undefined) this.#pending.delete(oldest);
  }

  /** The number of objects that are kept until the counters have seen them. */
  get pending(): number {
    return [...this.#pending.values()].reduce((sum, { size }) => sum + size, 0);
  }

  #checkOne(quota: JsonObject, attributes: Attributes & { readonly object: JsonObject }, peek: Peek): void {
    const { object, old, type, namespace, name } = attributes;
    if (!isInScope(quota, type.resource, object)) return;
    const hard = amountsAt(quota, ["spec", "hard"]);
    const quotaName = metaOf(quota).name ?? "";
    if (type.resource === "pods" && type.group === "") {
      const missing = missingAmounts(object, Object.keys(hard));
      if (missing !== "") throw forbidden(type, name, `failed quota: ${quotaName}: must specify ${missing}`);
    }
    const counted = { group: type.storage.group, resource: type.resource };
    const before = old === undefined || !isInScope(quota, type.resource, old) ? undefined : usageOf(counted, old);
    const usage = this.#usage.of(quota, counted, namespace);
    const used = this.#withPending(usage, quota, { ...counted, peek });
    const over = exceeded(hard, { wanted: usageOf(counted, object), before, used });
    if (over.length > 0) throw forbidden(type, name, exceededText(quotaName, over));
  }

  /** The usage with the objects that are being written at the moment. */
  #withPending(
    { totals, keys }: { readonly totals: Usage; readonly keys: ReadonlySet<string> },
    quota: JsonObject,
    { group, resource, peek }: { readonly group: string; readonly resource: string; readonly peek: Peek },
  ): Usage {
    const pending = this.#pending.get(`/${group}/${resource}/${metaOf(quota).namespace}/`);
    if (pending === undefined) return totals;
    const all = new Map(totals);
    for (const [key, object] of pending) {
      if (keys.has(key) || peek(key) === undefined) {
        pending.delete(key);
        continue;
      }
      if (!isInScope(quota, resource, object)) continue;
      for (const [name, amount] of usageOf({ group, resource }, object)) all.set(name, (all.get(name) ?? 0n) + amount);
    }
    return all;
  }
}

/** A write to a namespace with a quota, beside others that the API server does not know of. */
interface PlannedWrite {
  readonly type: Pick<ResourceType, "group" | "resource">;
  readonly object: JsonObject;
  /** Objects of the same type and namespace that are created before. */
  readonly created: readonly JsonObject[];
  /** Objects of the same type and namespace that are gone by then. */
  readonly deleted: readonly JsonObject[];
}

/** Why a quota refuses to create an object after other changes, by the usage in its status; undefined when it does not. */
export function quotaRefusal(quota: JsonObject, { type, object, created, deleted }: PlannedWrite): string | undefined {
  if (!isInScope(quota, type.resource, object)) return undefined;
  const hard = amountsAt(quota, ["spec", "hard"]);
  const status = amountsAt(quota, ["status", "used"]);
  const used = new Map(Object.entries(status).map(([name, amount]) => [name, quantityNanos(amount)]));
  const count = (objects: readonly JsonObject[], sign: bigint): void => {
    for (const one of objects.filter((other) => isInScope(quota, type.resource, other)))
      for (const [name, amount] of usageOf(type, one)) used.set(name, (used.get(name) ?? 0n) + sign * amount);
  };
  count(created, 1n);
  count(deleted, -1n);
  const over = exceeded(hard, { wanted: usageOf(type, object), before: undefined, used });
  return over.length === 0 ? undefined : exceededText(metaOf(quota).name ?? "", over);
}

/** Changes of most objects change no count. */
function isCounted({ operation, type: { group, resource }, subresource }: AdmissionWrite): boolean {
  if (subresource === "resize") return operation === "UPDATE" && group === "" && resource === "pods";
  if (subresource !== "") return false;
  if (operation === "CREATE") return true;
  return operation === "UPDATE" && group === "" && ["pods", "services", "persistentvolumeclaims"].includes(resource);
}

/** Whether an update of a Pod leaves it in the same scopes, so that quotas do not look at it. */
function isSameForQuotas({ type, subresource, object = {}, old }: Attributes): boolean {
  if (old === undefined || type.group !== "" || type.resource !== "pods" || subresource !== "") return false;
  return isTerminating(object) === isTerminating(old);
}

const byName: Readonly<Record<string, string>> = {
  "requests.storage": "persistentvolumeclaims",
  "services.loadbalancers": "services",
  "services.nodeports": "services",
};

/** The resource whose objects are counted under a name of a quota. */
function typeCountedAs(name: string): Pick<ResourceType, "group" | "resource"> | undefined {
  if (name.startsWith("count/")) {
    const [resource = "", ...group] = name.slice("count/".length).split(".");
    return { group: group.join("."), resource };
  }
  if (name.endsWith(devicesOfClass)) return { group: "resource.k8s.io", resource: "resourceclaims" };
  if (name.includes(".storageclass.storage.k8s.io/")) return { group: "", resource: "persistentvolumeclaims" };
  const plain = [
    "configmaps",
    "persistentvolumeclaims",
    "replicationcontrollers",
    "resourcequotas",
    "secrets",
    "services",
  ];
  if (plain.includes(name)) return { group: "", resource: name };
  return { group: "", resource: byName[name] ?? "pods" };
}

interface Exceeded {
  readonly name: string;
  readonly requested: string;
  readonly used: string;
  readonly limited: string;
}

interface Demand {
  readonly wanted: Usage;
  readonly before: Usage | undefined;
  readonly used: Usage;
}

function exceeded(hard: Amounts, { wanted, before, used }: Demand): Exceeded[] {
  return sortedKeys(hard as JsonObject).flatMap((name) => {
    const limited = hard[name] ?? "0";
    const delta = (wanted.get(name) ?? 0n) - (before?.get(name) ?? 0n);
    const total = used.get(name) ?? 0n;
    if (delta <= 0n || total + delta <= quantityNanos(limited)) return [];
    return [{ name, requested: quantityText(delta, limited), used: quantityText(total, limited), limited }];
  });
}

function exceededText(quota: string, over: readonly Exceeded[]): string {
  const shown = (member: "requested" | "used" | "limited"): string =>
    over.map((one) => `${one.name}=${one[member]}`).join(",");
  return `exceeded quota: ${quota}, requested: ${shown("requested")}, used: ${shown("used")}, limited: ${shown("limited")}`;
}

/** The amounts of cpu and memory that a quota limits and that containers do not specify. */
function missingAmounts(pod: JsonObject, limited: readonly string[]): string {
  if (hasOwnAmounts(pod)) return "";
  const containers = [...listAt(pod, "spec", "containers"), ...listAt(pod, "spec", "initContainers")];
  const names = required.filter((name) => limited.includes(name)).sort();
  const parts = names.flatMap((name) => {
    const lacking = containers.filter((container) => !specifies(container, name)).map((one) => stringAt(one, ["name"]));
    return lacking.length === 0 ? [] : [`${name} for: ${[...new Set(lacking)].sort().join(",")}`];
  });
  return parts.join("; ");
}

function specifies(container: JsonObject, name: string): boolean {
  const [member, resource] = name.includes(".") ? name.split(".") : ["requests", name];
  return amountsAt(container, ["resources", member ?? ""])[resource ?? ""] !== undefined;
}

function limitWarnings(hard: Amounts): string[] {
  return ["cpu", "memory", "ephemeral-storage"].flatMap((resource) => {
    const isShort = hard[`requests.${resource}`] === undefined && resource !== "ephemeral-storage";
    const [name, limit] = [isShort ? resource : `requests.${resource}`, `limits.${resource}`];
    const [request, most] = [hard[name], hard[limit]];
    if (request === undefined || most === undefined || compareQuantities(request, most) <= 0) return [];
    return [`ResourceQuota ${name} (${request}) should be less than ${limit} (${most})`];
  });
}
