// SPDX-License-Identifier: Apache-2.0
// What one object counts for in a ResourceQuota.
import { finish, inTurns, type Work } from "@purlin/base";
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

/** A change of an object below a prefix. */
interface FollowedChange {
  readonly entry: Entry<JsonObject> | undefined;
  readonly previous: Entry<JsonObject> | undefined;
}

/** Receives the objects below a prefix: each one that is added or removed. A change is a removal, with what replaces the object, and an addition. */
interface ObjectSink {
  clear(): void;
  add(entry: Entry<JsonObject>): void;
  remove(entry: Entry<JsonObject>, next: Entry<JsonObject> | undefined): void;
}

/**
 * Keeps a summary of all objects below a prefix. It starts with a list on first use, and then reads only the changes, also between uses: the
 * objects may be so large that it takes seconds to look at all of them.
 */
export class FollowedObjects {
  readonly #store: Store<JsonObject>;
  readonly #prefix: string;
  readonly #sink: ObjectSink;
  #watch: Watch<JsonObject> | undefined;
  #isClosed = false;
  /** Changes that were read, and the index of the next one to look at. */
  #changes: readonly FollowedChange[] = [];
  #next = 0;

  constructor(store: Store<JsonObject>, prefix: string, sink: ObjectSink) {
    this.#store = store;
    this.#prefix = prefix;
    this.#sink = sink;
  }

  /** Brings the summary up to date with the store. */
  catchUp(): void {
    finish(this.catchingUp());
  }

  /** The same in parts. What others do of it meanwhile is not done again. */
  *catchingUp(): Work<void> {
    for (let change = this.#take(); change !== undefined; change = this.#take()) {
      const { entry, previous } = change;
      if (previous !== undefined) this.#sink.remove(previous, entry);
      if (entry !== undefined) this.#sink.add(entry);
      yield;
    }
  }

  close(): void {
    this.#isClosed = true;
    this.#watch?.close();
    this.#changes = [];
  }

  #follow(): void {
    // What fails, as in a closed store, fails again for the next user.
    void inTurns(this.catchingUp()).catch(() => {});
  }

  #take(): FollowedChange | undefined {
    if (this.#next >= this.#changes.length) {
      this.#changes = this.#isClosed ? [] : this.#read();
      this.#next = 0;
    }
    const change = this.#changes[this.#next];
    this.#next += 1;
    return change;
  }

  #read(): readonly FollowedChange[] {
    if (this.#watch === undefined) return this.#start();
    try {
      return this.#watch.take();
    } catch {
      // The changes since the last call are compacted: list the objects again.
      this.#watch.close();
      return this.#start();
    }
  }

  #start(): readonly FollowedChange[] {
    const { entries, revision } = this.#store.list({ prefix: this.#prefix });
    this.#sink.clear();
    this.#watch = this.#store.watch({ scope: this.#prefix, after: revision, onReady: () => this.#follow() });
    return entries.map((entry) => ({ entry, previous: undefined }));
  }
}

/** What counts of an object: its identity and its spec. The rest of it may be large. */
function outlineOf(object: JsonObject): JsonObject {
  const { name = "", namespace = "", uid = "" } = metaOf(object);
  return { metadata: { name, namespace, uid }, spec: objectAt(object, ["spec"]) };
}

/** The objects below a prefix by namespace, in the order of their names. Only their identity and their spec are kept. */
export class NamespacedObjects {
  readonly #followed: FollowedObjects;
  readonly #byNamespace = new Map<string, Map<string, JsonObject>>();

  /** `onDeleted` is called for each object that was deleted. */
  constructor(store: Store<JsonObject>, prefix: string, onDeleted: (object: JsonObject) => void = () => {}) {
    const namespaceOf = (key: string): string => key.slice(prefix.length, key.indexOf("/", prefix.length));
    this.#followed = new FollowedObjects(store, prefix, {
      clear: () => this.#byNamespace.clear(),
      add: ({ key, value }) => {
        const known = this.#byNamespace.get(namespaceOf(key)) ?? new Map<string, JsonObject>();
        this.#byNamespace.set(namespaceOf(key), known.set(key, outlineOf(value)));
      },
      remove: ({ key }, next) => {
        const known = this.#byNamespace.get(namespaceOf(key));
        const object = known?.get(key);
        if (object !== undefined && next === undefined) onDeleted(object);
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

  /** The same in parts. */
  *findingIn(namespace: string): Work<readonly JsonObject[]> {
    yield* this.#followed.catchingUp();
    return this.in(namespace);
  }
}
