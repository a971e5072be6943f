// SPDX-License-Identifier: Apache-2.0
// Objects in memory, for tests of one controller without a server: one reconcile at a time, at times that the test sets.
import { type Clock, silentLog, systemClock } from "@purlin/base";
import { createKubeClient, type KubeClient } from "@purlin/kube-client";
import type { ControllerClient, EventRecorder, ReconcileResult, WatchingController } from "@purlin/kube-controller";
import { eventually, recordRequests, startTestServer } from "@purlin/kube-controller/testing";
import { alreadyExists, notFound } from "@purlin/kube-objects/errors";
import { type JsonObject, jsonEqual } from "@purlin/kube-objects/json";
import {
  conditionTime,
  controllerOf,
  type KubeObject,
  type ObjectKey,
  stringAt,
  type TypeRef,
} from "@purlin/kube-objects/object";
import { applyMergePatch } from "@purlin/kube-objects/patch";
import { simulatorRules } from "../src/kinds.ts";
import type { PodDeps } from "../src/pods/pod-controller.ts";
import { startWorkloadSimulator } from "../src/start-simulator.ts";

const namespace = "default";
const nameOf = ({ kind }: TypeRef, key: ObjectKey): string => `${kind}/${key.namespace ?? ""}/${key.name}`;
const resource = ({ kind }: TypeRef) => ({ group: "", resource: `${kind.toLowerCase()}s` });

/** What the controllers under test see and do. */
export class World {
  /** Milliseconds since the epoch; it starts with the year 2026, and tests change it. */
  now: number = Date.UTC(2026, 0, 1);
  /** Makes writes fail while it is set. */
  failure: Error | undefined;
  readonly deps: PodDeps;
  readonly #objects = new Map<string, KubeObject>();
  #writes: string[] = [];
  #events: string[] = [];
  #serial = 0;

  constructor() {
    const recorder: EventRecorder = {
      event: (_object, { reason, message }) => void this.#events.push(`${reason}: ${message}`),
      with: () => recorder,
    };
    const parts = {
      client: this.#client(),
      clock: { now: () => this.now, schedule: () => () => undefined },
      kube: { raw: async () => ({}), mapper: {} },
      events: recorder,
      log: silentLog,
      informers: { peek: (type: TypeRef) => this.#informer(type) },
    };
    this.deps = parts as unknown as PodDeps;
  }

  /** Reconciles an object once. */
  reconcile(controller: (deps: PodDeps) => WatchingController, name: string): Promise<ReconcileResult> {
    return controller(this.deps).spec.reconcile({ name, namespace }, new AbortController().signal);
  }

  /** Reasons and messages of the events since the last call. */
  takeEvents(): readonly string[] {
    const taken = this.#events;
    this.#events = [];
    return taken;
  }

  /** Verbs, kinds and names of the writes since the last call; those of a status end in /status. */
  takeWrites(): readonly string[] {
    const taken = this.#writes;
    this.#writes = [];
    return taken;
  }

  /** Stores an object as it is given, with what a server adds. One without a namespace has null there. */
  put(type: TypeRef, name: string, fields: JsonObject = {}): KubeObject {
    const { metadata = {}, ...rest } = fields as { metadata?: JsonObject };
    return this.#create({ ...type, metadata: { name, namespace, ...metadata }, ...rest } as KubeObject);
  }

  get(type: TypeRef, name: string): KubeObject {
    return this.#existing(type, { name, namespace });
  }

  list({ kind }: TypeRef): readonly KubeObject[] {
    return [...this.#objects.values()].filter((object) => object.kind === kind);
  }

  /** Changes an object as a user does, by a merge patch. A patch of the status leaves the rest as it is. */
  change(type: TypeRef, name: string, patch: JsonObject): KubeObject {
    const after = applyMergePatch(this.get(type, name), patch) as KubeObject;
    return patch["status"] === undefined ? this.#replace(after, false) : this.#store(after);
  }

  #store(object: KubeObject): KubeObject {
    const { name = "" } = object.metadata;
    const stored = { ...object, metadata: { ...object.metadata, resourceVersion: String(++this.#serial) } };
    this.#objects.set(nameOf(object, { name, namespace: object.metadata.namespace }), stored);
    return stored;
  }

  #existing(type: TypeRef, key: ObjectKey): KubeObject {
    const found = this.#objects.get(nameOf(type, key));
    if (found === undefined) throw notFound(resource(type), key.name);
    return found;
  }

  #create(object: KubeObject): KubeObject {
    const { generateName = "", name = `${generateName}${++this.#serial}`, ...rest } = object.metadata;
    const isTaken = this.#objects.has(nameOf(object, { name, namespace: rest.namespace }));
    if (isTaken) throw alreadyExists(resource(object), name);
    const added = { uid: `uid-of-${name}`, generation: 1, creationTimestamp: conditionTime(this.now) };
    return this.#store({ ...object, metadata: { ...added, ...rest, name } });
  }

  #replace(after: KubeObject, isStatus: boolean): KubeObject {
    const { name = "", namespace: where } = after.metadata;
    const before = this.#existing(after, { name, namespace: where });
    const { status, ...rest } = after;
    const other = isStatus ? { ...before, status } : { ...rest, status: before["status"] };
    const isChanged = !isStatus && !jsonEqual(before["spec"] ?? null, after["spec"] ?? null);
    const generation = (before.metadata.generation ?? 0) + (isChanged ? 1 : 0);
    return this.#store({ ...other, metadata: { ...after.metadata, generation } } as KubeObject);
  }

  #remove(type: TypeRef, key: ObjectKey): KubeObject | undefined {
    const found = this.#existing(type, key);
    if ((found.metadata.finalizers ?? []).length > 0) {
      return this.#store({ ...found, metadata: { ...found.metadata, deletionTimestamp: conditionTime(this.now) } });
    }
    this.#objects.delete(nameOf(type, key));
    return undefined;
  }

  #note(verb: string, type: TypeRef, name: string): void {
    if (this.failure !== undefined) throw this.failure;
    this.#writes.push(`${verb} ${type.kind} ${name}`);
  }

  #client(): Partial<ControllerClient> {
    return {
      get: async (type, key) => this.#objects.get(nameOf(type, key)),
      list: async (type, { namespace: where, labels = {}, controller } = {}) =>
        this.list(type).filter(
          (object) =>
            (where === undefined || object.metadata.namespace === where) &&
            Object.entries(labels ?? {}).every(([key, value]) => object.metadata.labels?.[key] === value) &&
            (controller === undefined || (controllerOf(object)?.uid ?? "") === controller),
        ),
      create: async (object) => {
        this.#note("create", object, object.metadata.name ?? object.metadata.generateName ?? "");
        return this.#create(object);
      },
      update: async (object, { subresource } = {}) => {
        this.#note("update", object, [object.metadata.name ?? "", ...(subresource ? [subresource] : [])].join("/"));
        return this.#replace(object, subresource === "status");
      },
      patch: async ({ name, namespace: where, ...type }, patch) => {
        this.#note("patch", type, name);
        const before = this.#existing(type, { name, namespace: where });
        const after = this.#store(applyMergePatch(before, patch as JsonObject) as KubeObject);
        const isOver = after.metadata.deletionTimestamp != null && (after.metadata.finalizers ?? []).length === 0;
        if (isOver) this.#objects.delete(nameOf(type, { name, namespace: where }));
        return after;
      },
      delete: async ({ name, namespace: where, ...type }) => {
        this.#note("delete", type, name);
        return this.#remove(type, { name, namespace: where });
      },
    };
  }

  #informer(type: TypeRef): object {
    return {
      list: () => this.list(type),
      get: (key: ObjectKey) => this.#objects.get(nameOf(type, key)),
      addIndex: () => undefined,
      byIndex: (index: string, value: string) =>
        this.list(type).filter((object) =>
          index === "podIP"
            ? stringAt(object, ["status", "podIP"]) === value
            : (object.metadata.namespace ?? "") === value,
        ),
    };
  }
}

/** An API server with simulated workloads, for one test. */
interface Scene extends AsyncDisposable {
  readonly client: KubeClient;
  /** The writes of the simulator since the last call. */
  takeWrites(): string[];
  create(type: TypeRef, name: string, fields: JsonObject): Promise<KubeObject>;
  get(type: TypeRef, name: string): Promise<KubeObject>;
  list(type: TypeRef): Promise<readonly KubeObject[]>;
  /** Waits until an object is as wanted. */
  until(type: TypeRef, name: string, isWanted: (object: KubeObject) => boolean): Promise<KubeObject>;
  /** Changes an object by a merge patch. */
  patch(type: TypeRef, name: string, patch: JsonObject): Promise<KubeObject>;
  /** The reasons of the events about an object, in their order. */
  reasons(object: KubeObject): Promise<readonly string[]>;
}

const rbac = "rbac.authorization.k8s.io";
const simulatorUser = { name: "simulator", groups: ["system:authenticated"] };

/** The simulator has the rights that it has outside of tests, and no others. */
async function grantRights(client: KubeClient): Promise<void> {
  const { name } = simulatorUser;
  await client.create({ apiVersion: `${rbac}/v1`, kind: "ClusterRole", metadata: { name }, rules: simulatorRules });
  await client.create({
    apiVersion: `${rbac}/v1`,
    kind: "ClusterRoleBinding",
    metadata: { name },
    roleRef: { apiGroup: rbac, kind: "ClusterRole", name },
    subjects: [{ apiGroup: rbac, kind: "User", name }],
  });
}

/** Starts a server and the simulator. */
export async function startScene(clock: Clock = systemClock): Promise<Scene> {
  const server = await startTestServer();
  const client = createKubeClient(server.connect());
  await grantRights(client);
  const { transport, takeWrites } = recordRequests(server.connect(undefined, simulatorUser));
  const simulated = createKubeClient(transport);
  const simulator = await startWorkloadSimulator({ client: simulated, log: silentLog, clock });
  const get = (type: TypeRef, name: string): Promise<KubeObject> => client.get(type, { name, namespace });
  const list = async (type: TypeRef): Promise<readonly KubeObject[]> => (await client.list(type, { namespace })).items;
  return {
    client,
    takeWrites,
    get,
    list,
    create: (type, name, fields) => client.create({ ...type, metadata: { name, namespace }, ...fields } as KubeObject),
    patch: (type, name, patch) => client.patch({ ...type, name, namespace }, patch, { type: "merge" }),
    until: (type, name, isWanted) =>
      eventually(`${type.kind} ${name}`, async () => {
        const object = await get(type, name);
        return isWanted(object) ? object : undefined;
      }),
    async reasons({ metadata }) {
      const events = await list({ apiVersion: "v1", kind: "Event" });
      const own = events.filter((event) => stringAt(event, ["involvedObject", "uid"]) === metadata.uid);
      return own.map((event) => stringAt(event, ["reason"]));
    },
    async [Symbol.asyncDispose]() {
      await simulator[Symbol.asyncDispose]();
      await simulated.close();
      await client.close();
      await server.stop();
    },
  };
}

/** A clock for the simulator on which time passes faster, from now on. */
export function fastClock(speed: number): Clock {
  const start = Date.now();
  return {
    now: () => start + (Date.now() - start) * speed,
    schedule: (delayMs, task) => systemClock.schedule(delayMs / speed, task),
  };
}

/** The spec of a workload of Pods with one container. */
export function workloadSpec(fields: JsonObject = {}, annotations: Readonly<Record<string, string>> = {}): JsonObject {
  const labels = { app: "web" };
  const template = { metadata: { labels, annotations }, spec: { containers: [{ name: "main", image: "nginx:1" }] } };
  return { selector: { matchLabels: labels }, template, ...fields };
}
