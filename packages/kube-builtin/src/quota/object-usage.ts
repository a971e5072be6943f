// SPDX-License-Identifier: Apache-2.0
// What one object counts for in a ResourceQuota.
import { type Entry, listAt, metaOf, type ResourceType, type Store, type Watch } from "@purlin/kube-apiserver/kinds";
import { isJsonObject, type JsonObject } from "@purlin/kube-objects/json";
import { memberAt, numberAt, objectAt, stringAt } from "@purlin/kube-objects/object";
import { quantityNanos } from "@purlin/kube-objects/typed";
import { type Amounts, amountsAt, containerAmounts } from "../checks/resource-names.ts";
import { addPod } from "../pods/pod-charge.ts";

/** Values in billionths by the name of the resource in a quota. */
export type Usage = ReadonlyMap<string, bigint>;

const unit = 1_000_000_000n;
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
  const usage = new Map<string, bigint>([[`count/${resource}${group === "" ? "" : `.${group}`}`, unit]]);
  if (group === devicesGroup && resource === "resourceclaims") addDevices(object, usage);
  if (group !== "") return usage;
  if (resource === "pods" && (hasEnded(object) || now > graceEndOf(object))) return usage;
  if (resource === "pods") addPod(object, usage);
  if (countedByName.has(resource)) usage.set(resource, unit);
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

function addService(service: JsonObject, usage: Map<string, bigint>): void {
  const type = stringAt(service, ["spec", "type"]);
  const ports = listAt(service, "spec", "ports");
  const withoutPorts = memberAt(service, ["spec", "allocateLoadBalancerNodePorts"]) === false;
  const given = ports.filter((port) => Number(memberAt(port, ["nodePort"]) ?? 0) !== 0).length;
  if (type === "LoadBalancer") usage.set("services.loadbalancers", unit);
  if (type === "NodePort") usage.set("services.nodeports", BigInt(ports.length) * unit);
  if (type === "LoadBalancer") usage.set("services.nodeports", BigInt(withoutPorts ? given : ports.length) * unit);
}

/** The end of the name under which quotas count the devices of a class. */
export const devicesOfClass = ".deviceclass.resource.k8s.io/devices";

const classAnnotation = "volume.beta.kubernetes.io/storage-class";

function addClaim(claim: JsonObject, usage: Map<string, bigint>): void {
  const storage = quantityNanos(stringAt(claim, ["spec", "resources", "requests", "storage"]));
  const named = metaOf(claim).annotations?.[classAnnotation] ?? stringAt(claim, ["spec", "storageClassName"]);
  usage.set("requests.storage", storage);
  if (named === "") return;
  usage.set(`${named}.storageclass.storage.k8s.io/requests.storage`, storage);
  usage.set(`${named}.storageclass.storage.k8s.io/persistentvolumeclaims`, unit);
}

const devicesGroup = "resource.k8s.io";
/** What a request for all devices of a class counts for: the most that a claim can be given. */
const mostDevices = 32;

/** The devices that a claim asks for, by their class. Of alternatives the largest counts for each class. */
function addDevices(claim: JsonObject, usage: Map<string, bigint>): void {
  for (const request of listAt(claim, "spec", "devices", "requests")) {
    const alternatives = listAt(request, "firstAvailable");
    const exactly = memberAt(request, ["exactly"]);
    const wanted = new Map<string, number>();
    for (const one of alternatives.length > 0 ? alternatives : isJsonObject(exactly) ? [exactly] : []) {
      const name = `${stringAt(one, ["deviceClassName"])}${devicesOfClass}`;
      wanted.set(name, Math.max(devicesOf(one), wanted.get(name) ?? 0));
    }
    for (const [name, count] of wanted) usage.set(name, (usage.get(name) ?? 0n) + BigInt(count) * unit);
  }
}

function devicesOf(request: JsonObject): number {
  const mode = stringAt(request, ["allocationMode"]);
  if (mode === "All") return mostDevices;
  return mode === "ExactCount" ? numberAt(request, ["count"]) : 0;
}

const podLevelResources = new Set(["cpu", "memory"]);

/** What LimitRanges compare: the requests or limits of a Pod itself, and for other resources those of its containers. */
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
