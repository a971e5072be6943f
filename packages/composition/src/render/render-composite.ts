// SPDX-License-Identifier: Apache-2.0

import { Struct } from "@purlin/function-protocol";
import { type RequirementFetchers, type RunStep, systemClock } from "@purlin/function-runner";
import { type KubeObject, keyOf } from "@purlin/kube-client/objects";
import type { EventRecorder, EventText, Log } from "@purlin/kube-controller";
import { annotationOf } from "@purlin/kube-controller/object";
import { compareUtf8, isJsonObject, type JsonObject } from "@purlin/kube-objects";
import { createCompositeState } from "../composite/composite-state.ts";
import type { CompositePorts } from "../composite/ports.ts";
import { createReconcile } from "../composite/reconciler.ts";
import { annotations, kinds } from "../composite-resource/constants.ts";
import { resourceRefsOf, withMachinery } from "../composite-resource/machinery.ts";
import { planRevisions } from "../composition/plan-revisions.ts";
import { createMemoryClient, type MemoryClient } from "./memory-client.ts";
import { uidOf } from "./name-uuid.ts";
import { type PreparedInputs, prepareInputs, type RenderInputs } from "./render-inputs.ts";

/** How to render. */
export interface RenderOptions {
  readonly runStep: RunStep;
  /** Where bootstrap requirements come from. */
  readonly fetchers: RequirementFetchers;
  /** Secrets that steps name as credentials, or that hold connection details. */
  readonly secrets?: readonly KubeObject[] | undefined;
  /** What the pipeline's context holds before the first step. */
  readonly context?: JsonObject | undefined;
  readonly timeoutMs?: number | undefined;
  /** Whether the status tells which function revisions ran, as it does where steps may choose them. */
  readonly functionRevisions?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** What rendering led to. */
export interface Rendered {
  /** The XR after one reconcile; `full` with everything the input had. */
  readonly xr: { readonly short: KubeObject; readonly full: KubeObject };
  /** Composed resources by their name in the pipeline, as they would be applied. */
  readonly resources: readonly KubeObject[];
  /** What would be told about the XR, in order. */
  readonly results: readonly EventText[];
  /** What the last step left in the context; undefined when the pipeline did not end. */
  readonly context: JsonObject | undefined;
  /** Why the reconcile failed, if it did. */
  readonly failure: Error | undefined;
}

const silent: Log = { debug() {}, info() {}, error() {} };
const stampedAt = "2024-01-01T00:00:00Z";

/** Runs the very reconcile of the composite controller over objects in memory, once. */
export async function renderComposite(inputs: RenderInputs, options: RenderOptions): Promise<Rendered> {
  const prepared = prepareInputs(inputs);
  const client = createMemoryClient(objectsOf(prepared, inputs, options));
  const results: EventText[] = [];
  let context: JsonObject | undefined;
  const ports: CompositePorts = {
    kind: { definition: prepared.definition.metadata.name ?? "", type: typeOf(prepared.xr), schema: prepared.schema },
    client,
    events: recorderFor(prepared.xr, results),
    engine: { enqueue() {}, startWatches: async () => {}, stopWatches: async () => {}, watchesOf: () => [] },
    runStep: options.runStep,
    fetchers: options.fetchers,
    clock: systemClock,
    log: silent,
    settings: settingsOf(options),
    timestamp: () => stampedAt,
    context: options.context && Struct.from(options.context),
    onPipeline: (_, last) => {
      context = last?.value ?? {};
    },
  };
  const reconcile = createReconcile(ports, createCompositeState(ports));
  const signal = options.signal ?? new AbortController().signal;
  const failure = await reconcile(keyOf(prepared.xr), signal).then(
    () => undefined,
    (error: unknown) => (error instanceof Error ? error : new Error(String(error))),
  );
  const stored = await client.live.get(prepared.xr, keyOf(prepared.xr));
  return { xr: outputOf(stored, prepared), resources: composedIn(client), results, context, failure };
}

function settingsOf({ timeoutMs, functionRevisions = false }: RenderOptions): CompositePorts["settings"] {
  return { functionRevisions, ...(timeoutMs === undefined ? {} : { deadlineMs: timeoutMs }) };
}

function typeOf({ apiVersion, kind }: KubeObject): { apiVersion: string; kind: string } {
  return { apiVersion, kind };
}

/** Everything the reconcile reads. The Composition's revision is the one a cluster would make. */
function objectsOf(
  prepared: PreparedInputs,
  { composition }: RenderInputs,
  { secrets = [] }: RenderOptions,
): KubeObject[] {
  const { xr, claim, definition, observed } = prepared;
  const stored = {
    ...composition,
    ...kinds.composition,
    metadata: { ...composition.metadata, uid: uidOf(composition) },
  };
  const revision = planRevisions(stored, []).create;
  const conditions = [
    { type: "ValidPipeline", status: "True", reason: "ValidPipeline", lastTransitionTime: stampedAt },
  ];
  return [
    xr,
    { ...definition, ...kinds.definition },
    stored,
    ...(revision ? [{ ...revision, status: { conditions } }] : []),
    ...(claim ? [claim] : []),
    ...observed,
    ...secrets,
  ];
}

/** What is told about others, such as the claim, is said about the XR as well. */
function recorderFor(xr: KubeObject, results: EventText[]): EventRecorder {
  const recorder: EventRecorder = {
    event({ kind, metadata }, event) {
      if (kind === xr.kind && metadata.name === xr.metadata.name) results.push(event);
    },
    with: () => recorder,
  };
  return recorder;
}

function composedIn({ applied }: MemoryClient): readonly KubeObject[] {
  const composed = applied.flatMap(({ object, subresource }) => {
    const name = annotationOf(object, annotations.resourceName);
    return name === undefined || subresource !== "" ? [] : [{ name, object }];
  });
  return composed.sort((a, b) => compareUtf8(a.name, b.name)).map(({ object }) => stamped(object));
}

/** All conditions of one time, also those that the input had or a function made: the output of equal inputs is equal. */
function stamped(object: KubeObject): KubeObject {
  const { status } = object;
  if (!isJsonObject(status) || !Array.isArray(status["conditions"])) return object;
  const conditions = status["conditions"].map((condition) =>
    isJsonObject(condition) ? { ...condition, lastTransitionTime: stampedAt } : condition,
  );
  return { ...object, status: { ...status, conditions } };
}

function outputOf(stored: KubeObject, { xr, given, schema, claim }: PreparedInputs): Rendered["xr"] {
  const refs = resourceRefsOf(stored, schema);
  const { name = "", namespace } = xr.metadata;
  const identity: KubeObject = { ...typeOf(xr), metadata: { name, ...(namespace ? { namespace } : {}) } };
  const status = isJsonObject(stored["status"]) ? { status: stored["status"] } : {};
  const output = (base: KubeObject): KubeObject =>
    stamped({
      ...(refs.length > 0 ? withMachinery(base, schema, { resourceRefs: refs as never }) : base),
      ...status,
    });
  return { short: output(identity), full: output(claim === undefined ? given : xr) };
}
