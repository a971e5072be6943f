// SPDX-License-Identifier: Apache-2.0
import { silentLog, systemClock } from "@purlin/base";
import { type ControllerClient, noEvents } from "@purlin/kube-controller";
import { isJsonObject, type JsonObject, type JsonValue } from "@purlin/kube-objects/json";
import { deepFreeze, type KubeObject, type ObjectKey, type TypeRef } from "@purlin/kube-objects/object";
import { rolloutType } from "@purlin/package-manager";
import { createCallSamples } from "../src/call-samples.ts";
import { createRolloutController, type RolloutDeps } from "../src/controller.ts";
import type { Observation } from "../src/decide.ts";
import type { CallNumbers } from "../src/gates.ts";
import { type RolloutPlan, readPlan } from "../src/plan.ts";
import { type RolloutState, readState } from "../src/state.ts";

const app = { apiVersion: "example.org/v1", kind: "App" };

/** Objects in memory that answer as caches which include all writes do. */
class MemoryCluster {
  readonly #objects = new Map<string, KubeObject>();
  /** Kind and name of what was written, in order. */
  readonly writes: string[] = [];
  /** Keys that were enqueued. */
  readonly woken: string[] = [];
  /** How often each kind was listed. */
  readonly lists: Map<string, number> = new Map();

  onList: (kind: string) => void = () => {};

  put(object: KubeObject): void {
    this.#objects.set(`${object.kind}/${object.metadata.name ?? ""}`, deepFreeze(structuredClone(object)));
  }

  remove(kind: string, name: string): void {
    this.#objects.delete(`${kind}/${name}`);
  }

  get(kind: string, name: string): KubeObject | undefined {
    return this.#objects.get(`${kind}/${name}`);
  }

  #list(kind: string, labels: Readonly<Record<string, string>>): readonly KubeObject[] {
    this.lists.set(kind, (this.lists.get(kind) ?? 0) + 1);
    this.onList(kind);
    const wanted = Object.entries(labels);
    return [...this.#objects.values()].filter(
      (one) => one.kind === kind && wanted.every(([key, value]) => one.metadata.labels?.[key] === value),
    );
  }

  #write(object: KubeObject): KubeObject {
    this.writes.push(`${object.kind}/${object.metadata.name ?? ""}`);
    this.put(object);
    return object;
  }

  client(): ControllerClient {
    const client: Pick<ControllerClient, "get" | "list" | "update" | "patch"> = {
      get: async (type, { name }) => this.get(type.kind, name),
      list: async (type, { labels = {} } = {}) => this.#list(type.kind, labels),
      update: async (object) => this.#write(object),
      patch: async (type, patch) => {
        const stored = this.get(type.kind, type.name);
        if (stored === undefined) throw new Error(`no ${type.kind} ${type.name}`);
        return this.#write(merged(stored, patch) as KubeObject);
      },
    };
    return client as ControllerClient;
  }

  /** A controller of rollouts on these objects. */
  controller(more: Partial<RolloutDeps> = {}): (rollout: string) => Promise<unknown> {
    const { spec } = createRolloutController({
      client: this.client(),
      engine: { enqueue: (_: string, key: ObjectKey) => void this.woken.push(key.name) },
      events: noEvents,
      clock: systemClock,
      log: silentLog,
      samples: createCallSamples(() => Date.now()),
      ...more,
    });
    return (name) => spec.reconcile({ name }, new AbortController().signal);
  }
}

function merged(into: JsonValue, patch: JsonValue): JsonValue {
  if (!isJsonObject(patch)) return patch;
  const result: Record<string, JsonValue> = { ...(isJsonObject(into) ? into : {}) };
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key];
    else result[key] = merged(result[key] ?? {}, value);
  }
  return result;
}

function object(type: TypeRef, name: string, more: JsonObject = {}): KubeObject {
  return { ...type, metadata: { name, uid: `uid-${name}`, generation: 1, labels: {} }, ...more };
}

/** A FunctionRevision of Function `f` that serves. */
export function functionRevision(number: number): KubeObject {
  const made = object({ apiVersion: "pkg.crossplane.io/v1", kind: "FunctionRevision" }, `f-${number}`, {
    spec: { desiredState: "Active", image: `example.org/a/f:v${number}`, revision: number },
    status: {
      endpoint: `f-${number}:9443`,
      capabilities: ["composition"],
      conditions: [{ type: "RuntimeHealthy", status: "True", lastTransitionTime: "2026-01-01T00:00:00Z" }],
    },
  });
  return { ...made, metadata: { ...made.metadata, labels: { "pkg.crossplane.io/package": "f" } } };
}

const extensions = "apiextensions.crossplane.io";

/** A CompositionRevision of Composition `apps`. */
export function compositionRevision(revision: number): KubeObject {
  const made = object({ apiVersion: `${extensions}/v1`, kind: "CompositionRevision" }, `apps-${revision}`, {
    spec: { revision, compositeTypeRef: app, pipeline: [{ step: "s", functionRef: { name: "f" } }] },
    status: { conditions: [{ type: "ValidPipeline", status: "True", lastTransitionTime: "2026-01-01T00:00:00Z" }] },
  });
  return { ...made, metadata: { ...made.metadata, labels: { "crossplane.io/composition-name": "apps" } } };
}

/** A rollout of Function `f`, unless the spec names a Composition. */
export function rolloutOf(name: string, spec: JsonObject): KubeObject {
  const target: JsonObject = "compositionRef" in spec ? {} : { functionRef: { name: "f" } };
  const made = object(rolloutType, name, { spec: { ...target, ...spec } });
  return { ...made, metadata: { ...made.metadata, creationTimestamp: "2026-01-01T00:00:00Z" } };
}

/** A composite resource for which a revision of `f` ran last. */
function compositeOf(name: string, revision: string): KubeObject {
  const conditions = [{ type: "Synced", status: "True", lastTransitionTime: "2026-01-01T00:00:00Z" }];
  return object(app, name, {
    spec: { crossplane: { compositionRef: { name: "apps" }, compositionRevisionRef: { name: "apps-1" } } },
    status: { conditions, crossplane: { functionRevisions: [{ step: "s", functionRevision: revision }] } },
  });
}

/** A Function with two revisions, a Composition with two, and composite resources on the first ones. */
export function memoryCluster(composites: number): MemoryCluster {
  const cluster = new MemoryCluster();
  cluster.put(
    object({ apiVersion: `${extensions}/v2`, kind: "CompositeResourceDefinition" }, "apps.example.org", {
      spec: {
        group: "example.org",
        scope: "Cluster",
        names: { kind: "App", plural: "apps" },
        versions: [{ name: "v1", served: true, referenceable: true }],
      },
    }),
  );
  cluster.put(object({ apiVersion: `${extensions}/v1`, kind: "Composition" }, "apps"));
  for (const number of [1, 2]) cluster.put(compositionRevision(number));
  cluster.put(object({ apiVersion: "pkg.crossplane.io/v1", kind: "Function" }, "f"));
  for (const number of [1, 2]) cluster.put(functionRevision(number));
  for (let index = 0; index < composites; index++) cluster.put(compositeOf(`app-${index}`, "f-1"));
  return cluster;
}

/** In milliseconds. */
export const minute = 60_000;
/** Calls without an error. */
export const calm: CallNumbers = { calls: 10, errors: 0, fatals: 0, p95Ms: 5 };
/** Calls of which three of ten failed. */
export const broken: CallNumbers = { calls: 10, errors: 3, fatals: 0, p95Ms: 5 };
/** The state of a rollout before the first look. */
export const first: RolloutState = readState({});

/** A world in which everything is well, at a moment. */
export function world(
  now: number,
  more: Partial<Observation> & { readonly candidateCalls?: CallNumbers } = {},
): Observation {
  const side = { total: 5, has: () => 5 };
  return {
    now,
    jumpMs: 0,
    sides: { found: [{ name: "f", stable: "f-1", candidate: "f-2" }], isServing: true, waitingFor: "" },
    lost: [],
    composites: { total: 10, candidate: 5, moved: 5, healthy: 5, unhealthy: 0 },
    lowestBucket: 700,
    leftBehind: 0,
    approvals: [],
    resumeToken: undefined,
    isAborted: false,
    ...more,
    samples: {
      now,
      members: 5,
      pendingMoves: 0,
      pendingShadows: 0,
      candidateCalls: () => more.candidateCalls ?? calm,
      stableCalls: () => calm,
      moved: side,
      stayed: side,
      shadow: undefined,
      watchedMs: 1_000_000,
      runtime: { status: "True", forMs: 0, message: "", outages: () => ({ candidate: 0, stable: 0 }) },
      external: () => undefined,
      ...more.samples,
    },
  };
}

/** The plan of a spec. */
export function plan(spec: object): RolloutPlan {
  return readPlan({ spec: { functionRef: { name: "f" }, ...spec } } as never);
}
