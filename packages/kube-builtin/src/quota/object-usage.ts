// SPDX-License-Identifier: Apache-2.0
// What one object counts for in a ResourceQuota.
import { type Entry, listAt, metaOf, type ResourceType, type Store, type Watch } from "@purlin/kube-apiserver/kinds";
import type { JsonObject } from "@purlin/kube-objects/json";
import { memberAt, objectAt, stringAt } from "@purlin/kube-objects/object";
import { quantityNanos } from "@purlin/kube-objects/typed";
import { type Amounts, amountsAt, containerAmounts } from "../checks/resource-names.ts";

/** Values in billionths by the name of the resource in a quota. */
export type Usage = ReadonlyMap<string, bigint>;

const one = 1_000_000_000n;
/** Resources of the core group that a quota counts under their own name. */
const countedByName = new Set([
  "configmaps",
  "persistentvolumeclaims",
  "pods",
  "replicationcontrollers",
  "resourcequotas",
  "secrets",
  "services",
]);

/** What an object counts for at a time. */
export function usageOf(
  { group, resource }: Pick<ResourceType, "group" | "resource">,
  object: JsonObject,
  now: number = Date.now(),
): Usage {
  const usage = new Map<string, bigint>([[`count/${resource}${group === "" ? "" : `.${group}`}`, one]]);
  if (group !== "") return usage;
  if (resource === "pods") return hasEnded(object) || now > graceEndOf(object) ? usage : podUsage(object, usage);
  if (countedByName.has(resource)) usage.set(resource, one);
  if (resource === "services") addService(object, usage);
  if (resource === "persistentvolumeclaims") addClaim(object, usage);
  return usage;
}

/** A Pod that has ended counts as an object only. */
function hasEnded(pod: JsonObject): boolean {
  const phase = stringAt(pod, ["status", "phase"]);
  return phase === "Succeeded" || phase === "Failed";
}

/** When a deleted Pod stops to count, in milliseconds since 1970: its node may be lost, and nothing would ever end the Pod. */
function graceEndOf(pod: JsonObject): number {
  const { deletionTimestamp, deletionGracePeriodSeconds } = metaOf(pod);
  if (!deletionTimestamp || deletionGracePeriodSeconds === undefined) return Number.POSITIVE_INFINITY;
  return Date.parse(deletionTimestamp) + Number(deletionGracePeriodSeconds) * 1000;
}

function podUsage(pod: JsonObject, usage: Map<string, bigint>): Usage {
  usage.set("pods", one);
  for (const [name, value] of Object.entries(podAmounts(pod, "requests"))) {
    usage.set(`requests.${name}`, quantityNanos(value));
    if (["cpu", "memory", "ephemeral-storage"].includes(name)) usage.set(name, quantityNanos(value));
  }
  for (const [name, value] of Object.entries(podAmounts(pod, "limits"))) {
    usage.set(`limits.${name}`, quantityNanos(value));
  }
  return usage;
}

function addService(service: JsonObject, usage: Map<string, bigint>): void {
  const type = stringAt(service, ["spec", "type"]);
  const ports = listAt(service, "spec", "ports");
  const withoutPorts = memberAt(service, ["spec", "allocateLoadBalancerNodePorts"]) === false;
  const given = ports.filter((port) => Number(memberAt(port, ["nodePort"]) ?? 0) !== 0).length;
  if (type === "LoadBalancer") usage.set("services.loadbalancers", one);
  if (type === "NodePort") usage.set("services.nodeports", BigInt(ports.length) * one);
  if (type === "LoadBalancer") usage.set("services.nodeports", BigInt(withoutPorts ? given : ports.length) * one);
}

const classAnnotation = "volume.beta.kubernetes.io/storage-class";

function addClaim(claim: JsonObject, usage: Map<string, bigint>): void {
  const storage = quantityNanos(stringAt(claim, ["spec", "resources", "requests", "storage"]));
  const named = metaOf(claim).annotations?.[classAnnotation] ?? stringAt(claim, ["spec", "storageClassName"]);
  usage.set("requests.storage", storage);
  if (named === "") return;
  usage.set(`${named}.storageclass.storage.k8s.io/requests.storage`, storage);
  usage.set(`${named}.storageclass.storage.k8s.io/persistentvolumeclaims`, one);
}

const podLevelResources = new Set(["cpu", "memory"]);

/** What a Pod requests, or its limits: its own, and for other resources those of its containers. */
export function podAmounts(pod: JsonObject, member: "requests" | "limits"): Amounts {
  const own = Object.entries(amountsAt(pod, ["spec", "resources", member])).filter(([name]) =>
    podLevelResources.has(name),
  );
  return { ...containerAmounts(objectAt(pod, ["spec"]), member), ...Object.fromEntries(own) };
}

/** Receives the objects below a prefix: each one that is added or removed. A change is a removal and an addition. */
interface ObjectSink {
  clear(): void;
  add(entry: Entry<JsonObject>): void;
  remove(entry: Entry<JsonObject>): void;
}

/** Keeps a summary of all objects below a prefix. It starts with a list on first use, and then reads only the changes. */
export class FollowedObjects {
  readonly #store: Store<JsonObject>;
  readonly #prefix: string;
  readonly #sink: ObjectSink;
  #watch: Watch<JsonObject> | undefined;

  constructor(store: Store<JsonObject>, prefix: string, sink: ObjectSink) {
    this.#store = store;
    this.#prefix = prefix;
    this.#sink = sink;
  }

  /** Brings the summary up to date with the store. */
  catchUp(): void {
    try {
      const watch = this.#watch ?? this.#start();
      for (let changes = watch.take(); changes.length > 0; changes = watch.take()) {
        for (const { entry, previous } of changes) {
          if (previous !== undefined) this.#sink.remove(previous);
          if (entry !== undefined) this.#sink.add(entry);
        }
      }
    } catch {
      // The changes since the last call are compacted: list the objects again.
      this.#watch?.close();
      this.#start();
    }
  }

  close(): void {
    this.#watch?.close();
    this.#watch = undefined;
  }

  #start(): Watch<JsonObject> {
    const { entries, revision } = this.#store.list({ prefix: this.#prefix });
    this.#sink.clear();
    for (const entry of entries) this.#sink.add(entry);
    this.#watch = this.#store.watch({ scope: this.#prefix, after: revision, onReady: () => {} });
    return this.#watch;
  }
}

/** The objects below a prefix by namespace, in the order of their names. */
export class NamespacedObjects {
  readonly #followed: FollowedObjects;
  readonly #byNamespace = new Map<string, Map<string, JsonObject>>();

  /** `onRemoved` is called for each object that was changed or deleted. */
  constructor(store: Store<JsonObject>, prefix: string, onRemoved: (object: JsonObject) => void = () => {}) {
    const namespaceOf = (key: string): string => key.slice(prefix.length, key.indexOf("/", prefix.length));
    this.#followed = new FollowedObjects(store, prefix, {
      clear: () => this.#byNamespace.clear(),
      add: ({ key, value }) => {
        const known = this.#byNamespace.get(namespaceOf(key)) ?? new Map<string, JsonObject>();
        this.#byNamespace.set(namespaceOf(key), known.set(key, value));
      },
      remove: ({ key, value }) => {
        onRemoved(value);
        const known = this.#byNamespace.get(namespaceOf(key));
        known?.delete(key);
        if (known?.size === 0) this.#byNamespace.delete(namespaceOf(key));
      },
    });
  }

  in(namespace: string): readonly JsonObject[] {
    this.#followed.catchUp();
    const known = this.#byNamespace.get(namespace);
    if (known === undefined) return [];
    return [...known].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, object]) => object);
  }
}
