// SPDX-License-Identifier: Apache-2.0

import { silentLog, systemClock } from "@purlin/base";
import { createResourceFetcher, noSchemas } from "@purlin/function-runner";
import type { ControllerClient, EventRecorder, EventText, ReconcileResult } from "@purlin/kube-controller";
import { eventually } from "@purlin/kube-controller/testing";
import { ignoreNotFound } from "@purlin/kube-objects/errors";
import type { JsonObject, JsonValue } from "@purlin/kube-objects/json";
import {
  type Condition,
  conditionOf,
  conditionsOf,
  controllerReference,
  type KubeObject,
  keyOf,
  type ObjectKey,
  objectAt,
  type TypeRef,
} from "@purlin/kube-objects/object";
import { type CompositeState, createCompositeState } from "../src/composite/composite-state.ts";
import type { CompositeDeps, CompositeKind } from "../src/composite/context.ts";
import { clientReader } from "../src/composite/observe/observe.ts";
import { createReconcile } from "../src/composite/reconciler.ts";
import { kinds, labels } from "../src/composite-resource/constants.ts";
import { definitionFacts } from "../src/definition/definition-facts.ts";
import type { TestCluster } from "./test-control.ts";
import { createTestFunctions, type TestFunctions } from "./test-doubles.ts";

/** An event as tests compare it: `Kind/name Type Reason: message`. */
type EventLine = string;

/** One kind of XR on a real API server, its controller's reconcile, and functions to set at will. */
export interface CompositeBench {
  readonly cluster: TestCluster;
  readonly kind: CompositeKind;
  readonly functions: TestFunctions;
  readonly state: CompositeState;
  readonly deps: CompositeDeps;
  /** Events since the last call. */
  takeEvents(): EventLine[];
  /** Makes a Composition with a valid revision. Each step is the name of its function, or a step. */
  compositionOf(name: string, steps: readonly (string | JsonObject)[], wish?: CompositionWish): Promise<KubeObject>;
  /** Makes an XR. */
  xr(name: string, spec?: JsonObject, metadata?: JsonObject): Promise<KubeObject>;
  /** Reconciles an XR as it is stored, whatever the cache has seen of it. */
  reconcile(key: ObjectKey | string): Promise<ReconcileResult>;
  /** Waits until the controller's cache holds an object as it is stored, or knows that it is gone. */
  seen(type: TypeRef, key: ObjectKey): Promise<void>;
  /** The XR as it is stored now. */
  read(key: ObjectKey | string): Promise<KubeObject>;
  condition(key: ObjectKey | string, type: string): Promise<Condition>;
}

/** What a test wants of a Composition beside the ordinary. */
interface CompositionWish {
  readonly annotations?: Readonly<Record<string, string>> | undefined;
  readonly labels?: Readonly<Record<string, string>>;
  readonly spec?: JsonObject;
  readonly valid?: JsonObject | null;
}

/** Makes a bench for the XRs of a definition, with deps of its own where a test needs them. */
export function createCompositeBench(
  cluster: TestCluster,
  xrd: KubeObject,
  deps: Partial<CompositeDeps> = {},
): CompositeBench {
  const facts = definitionFacts(xrd);
  const kind: CompositeKind = { definition: facts.name, type: facts.compositeType, schema: facts.schema };
  const lines: EventLine[] = [];
  const client: ControllerClient = deps.client ?? cluster.client;
  const fetchers = { resources: createResourceFetcher(clientReader(client)), schema: noSchemas };
  const functions = createTestFunctions(fetchers);
  const complete: CompositeDeps = {
    kind,
    client,
    events: recorder(lines),
    engine: { enqueue() {}, startWatches: async () => {}, stopWatches: async () => {}, watchesOf: () => [] },
    runStep: functions.runStep,
    fetchers,
    clock: systemClock,
    log: silentLog,
    random: () => 0.5,
    ...deps,
  };
  const state = createCompositeState(complete);
  const reconcile = createReconcile(complete, state);
  const keyFrom = (key: ObjectKey | string): ObjectKey => (typeof key === "string" ? { name: key } : key);
  const seen = (type: TypeRef, key: ObjectKey): Promise<void> => seenBy(cluster, type, key);
  const read = (key: ObjectKey | string): Promise<KubeObject> => cluster.kube.get(kind.type, keyFrom(key));
  return {
    cluster,
    kind,
    functions,
    state,
    deps: complete,
    takeEvents: () => lines.splice(0),
    compositionOf: (name, steps, wish) => makeComposition(cluster, kind, { name, steps, ...wish }),
    xr: (name, spec = {}, metadata = {}) =>
      cluster.kube.create({ ...kind.type, metadata: { name, ...metadata }, spec } as KubeObject),
    seen,
    async reconcile(key) {
      await seen(kind.type, keyFrom(key));
      return reconcile(keyFrom(key), new AbortController().signal);
    },
    read,
    condition: async (key, type) => conditionOf(conditionsOf(await read(key)), type),
  };
}

async function seenBy({ client, kube }: TestCluster, type: TypeRef, key: ObjectKey): Promise<void> {
  // Read each time: an object that is being deleted may go in the meantime.
  const isSeen = async (): Promise<boolean> => {
    const stored = await ignoreNotFound(kube.get(type, key));
    return (await client.get(type, key))?.metadata.resourceVersion === stored?.metadata.resourceVersion;
  };
  await eventually(`${type.kind} ${key.name} is in the cache`, isSeen);
}

function recorder(lines: EventLine[]): EventRecorder {
  const self: EventRecorder = {
    event(object: KubeObject, { type, reason, message }: EventText) {
      lines.push(`${object.kind}/${object.metadata.name} ${type} ${reason}: ${message}`);
    },
    with: () => self,
  };
  return self;
}

interface CompositionFacts extends CompositionWish {
  readonly name: string;
  readonly steps: readonly (string | JsonObject)[];
}

async function makeComposition(
  cluster: TestCluster,
  { type }: CompositeKind,
  { name, steps, labels: extra = {}, annotations, spec = {}, valid }: CompositionFacts,
): Promise<KubeObject> {
  const pipeline = steps.map((step) => (typeof step === "string" ? { step, functionRef: { name: step } } : step));
  const whole = { compositeTypeRef: { ...type }, mode: "Pipeline", pipeline: pipeline as JsonValue, ...spec };
  const composition = await cluster.kube.create({
    ...kinds.composition,
    metadata: { name, labels: extra, ...(annotations && { annotations }) },
    spec: whole,
  });
  await seenBy(cluster, kinds.composition, { name });
  await makeRevision(cluster, composition, { revision: 1, labels: extra, annotations, valid });
  return composition;
}

/** Makes a further revision of a Composition. */
export async function makeRevision(
  cluster: TestCluster,
  composition: KubeObject,
  wish: {
    revision: number;
    labels?: Readonly<Record<string, string>>;
    annotations?: Readonly<Record<string, string>> | undefined;
    valid?: JsonObject | null | undefined;
    spec?: JsonObject;
  },
): Promise<KubeObject> {
  const { name = "" } = composition.metadata;
  const spec = objectAt(composition, ["spec"]);
  const revision = await cluster.kube.create({
    ...kinds.revision,
    metadata: {
      name: `${name}-${wish.revision}`,
      labels: { ...wish.labels, [labels.compositionName]: name },
      ...(wish.annotations && { annotations: wish.annotations }),
      ownerReferences: [controllerReference(composition)],
    },
    spec: { ...spec, revision: wish.revision, ...wish.spec },
  });
  if (wish.valid === null) {
    await seenBy(cluster, kinds.revision, keyOf(revision));
    return revision;
  }
  const condition = {
    type: "ValidPipeline",
    status: "True",
    reason: "ValidPipeline",
    lastTransitionTime: "2026-01-01T00:00:00Z",
    ...wish.valid,
  };
  const status = { conditions: [condition] };
  const valid = await cluster.kube.update({ ...revision, status }, { subresource: "status" });
  await seenBy(cluster, kinds.revision, keyOf(revision));
  return valid;
}

/** A ConfigMap a function may desire. */
export function configMap(data: Readonly<Record<string, string>> = {}, metadata: JsonObject = {}): JsonObject {
  return { apiVersion: "v1", kind: "ConfigMap", metadata, data };
}
