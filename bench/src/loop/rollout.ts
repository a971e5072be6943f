// SPDX-License-Identifier: Apache-2.0
import { silentLog, systemClock } from "@purlin/base";
import { ShadowStore } from "@purlin/function-runner";
import { type ControllerClient, noEvents } from "@purlin/kube-controller";
import { deepFreeze, type KubeObject, type TypeRef } from "@purlin/kube-objects/object";
import { createCallSamples, rolloutControllers } from "@purlin/rollout";
import { type Figure, figure } from "../measure/figure.ts";

/** How much of everything. */
export interface RolloutEffort {
  readonly rounds: number;
  /** Composite resources of the rollout. */
  readonly count: number;
}

const app = { apiVersion: "example.org/v1", kind: "App" };
const functionName = "f";

function object(type: TypeRef, name: string, more: object = {}): KubeObject {
  return deepFreeze({
    ...type,
    metadata: { name, uid: `uid-${name}`, generation: 1, labels: {} },
    ...more,
  }) as KubeObject;
}

function revision(number: number): KubeObject {
  // As the rollout marks its candidate at the start.
  const annotations: Record<string, string> = number === 2 ? { "pkg.crossplane.io/withheld": "r" } : {};
  const metadata = {
    name: `f-${number}`,
    uid: `f-${number}`,
    labels: { "pkg.crossplane.io/package": functionName },
    annotations,
  };
  const spec = { desiredState: "Active", image: `example.org/a/f:v${number}`, revision: number };
  const conditions = [
    { type: "RuntimeHealthy", status: "True", reason: "Healthy", lastTransitionTime: "2026-01-01T00:00:00Z" },
  ];
  const status = { endpoint: `f-${number}:9443`, capabilities: ["composition"], conditions };
  return { apiVersion: "pkg.crossplane.io/v1", kind: "FunctionRevision", metadata, spec, status };
}

/** A cache of objects that answers as the informers of a control plane do, and counts writes. */
class Objects {
  readonly #byKind = new Map<string, Map<string, KubeObject>>();
  writes = 0;

  put(one: KubeObject): KubeObject {
    const kind = this.#byKind.get(one.kind) ?? new Map<string, KubeObject>();
    this.#byKind.set(one.kind, kind.set(one.metadata.name ?? "", deepFreeze(structuredClone(one))));
    return one;
  }

  get(kind: string, name: string): KubeObject | undefined {
    return this.#byKind.get(kind)?.get(name);
  }

  list(kind: string): readonly KubeObject[] {
    return [...(this.#byKind.get(kind)?.values() ?? [])];
  }

  client(): ControllerClient {
    const written = async (one: KubeObject): Promise<KubeObject> => {
      this.writes++;
      return this.put(one);
    };
    const client: Pick<ControllerClient, "get" | "list" | "update" | "patch"> = {
      get: async (type, { name }) => this.get(type.kind, name),
      list: async (type) => this.list(type.kind),
      update: written,
      patch: async (type) => written(this.get(type.kind, type.name) as KubeObject),
    };
    return client as ControllerClient;
  }
}

function platform(count: number): Objects {
  const objects = new Objects();
  const versions = [{ name: "v1", served: true, referenceable: true }];
  const names = { kind: "App", plural: "apps" };
  const definition = { apiVersion: "apiextensions.crossplane.io/v2", kind: "CompositeResourceDefinition" };
  objects.put(
    object(definition, "apps.example.org", { spec: { group: "example.org", scope: "Cluster", names, versions } }),
  );
  const composition = { apiVersion: "apiextensions.crossplane.io/v1", kind: "CompositionRevision" };
  const pipeline = [{ step: "s", functionRef: { name: functionName } }];
  objects.put(object(composition, "apps-1", { spec: { revision: 1, compositeTypeRef: app, pipeline } }));
  objects.put(object({ apiVersion: "pkg.crossplane.io/v1", kind: "Function" }, functionName));
  for (const number of [1, 2]) objects.put(revision(number));
  for (let index = 0; index < count; index++) objects.put(composite(`app-${index}`, "f-1"));
  return objects;
}

function composite(name: string, functionRevision: string): KubeObject {
  const conditions = [
    { type: "Synced", status: "True", reason: "ReconcileSuccess", lastTransitionTime: "2026-01-01T00:00:00Z" },
  ];
  const status = { conditions, crossplane: { functionRevisions: [{ step: "s", functionRevision }] } };
  return object(app, name, { spec: { crossplane: { compositionRevisionRef: { name: "apps-1" } } }, status });
}

const moving = [{ percent: 50, minDuration: "1h" }, { percent: 100 }];
const shadowing = [{ shadow: true, minDuration: "1h" }, { percent: 100 }];

/** A rollout whose controller looks at it when it is asked to. Resolves to the processor time of the look, in milliseconds. */
function lookAt(objects: Objects, steps: readonly object[], shadow?: ShadowStore): () => Promise<number> {
  const deps = {
    client: objects.client(),
    engine: { enqueue: () => {} },
    events: noEvents,
    clock: systemClock,
    log: silentLog,
    samples: createCallSamples(() => Date.now()),
    shadow,
  };
  const [controller] = rolloutControllers(deps);
  const type = { apiVersion: "pkg.crossplane.io/v1alpha1", kind: "FunctionRollout" };
  objects.put(
    object(type, "r", {
      spec: { functionRef: { name: functionName }, candidate: { functionRevisionRef: { name: "f-2" } }, steps },
    }),
  );
  return async () => {
    const began = process.cpuUsage();
    await controller?.spec.reconcile({ name: "r" }, new AbortController().signal);
    const { user, system } = process.cpuUsage(began);
    return (user + system) / 1000;
  };
}

/** Adds the report of a comparison that found a change. */
function report(store: ShadowStore, name: string): void {
  store.add("uid-r", {
    composite: { ...app, name, uid: `uid-${name}` },
    step: "s",
    class: "change",
    at: "2026-01-01T00:00:00Z",
    durationMs: 1,
    stableMs: 1,
    resources: [{ resource: "one", apiVersion: "v1", kind: "ConfigMap", class: "change", fields: [] }],
    differing: 1,
  });
}

/**
 * The processor time of one decision about a rollout of many composite resources, in a step that moves them and in one that shadows all of
 * them and finds changes; and the writes of a decision that changes nothing.
 */
export async function rolloutFigures({ rounds, count }: RolloutEffort): Promise<Figure[]> {
  const objects = platform(count);
  const look = lookAt(objects, moving);
  const store = new ShadowStore();
  for (let index = 0; index < count; index++) report(store, `app-${index}`);
  const lookInShadow = lookAt(platform(count), shadowing, store);
  for (const one of [look, look, lookInShadow, lookInShadow]) await one();
  const times: number[] = [];
  const shadowTimes: number[] = [];
  const writes: number[] = [];
  for (let round = 0; round < rounds; round++) {
    // A composite resource moves, so that there is something to count.
    objects.put(composite(`app-${round}`, "f-2"));
    times.push(await look());
    objects.writes = 0;
    await look();
    writes.push(objects.writes);
    shadowTimes.push(await lookInShadow());
  }
  const limit = { relation: "at most", value: 100 } as const;
  return [
    figure(`rollout: one decision about ${count} XRs`, "ms", times, limit),
    figure(`rollout: one decision about ${count} XRs in shadow`, "ms", shadowTimes, limit),
    figure("rollout: writes of a decision that changes nothing", "writes", writes, { relation: "at most", value: 0 }),
  ];
}
