// SPDX-License-Identifier: Apache-2.0

import { type Log, systemClock } from "@purlin/base";
import { Struct } from "@purlin/function-protocol";
import type { RequirementFetchers, RunStep } from "@purlin/function-runner";
import type { EventRecorder, EventText } from "@purlin/kube-controller";
import { compareUtf8, isJsonObject, type JsonObject, type JsonValue } from "@purlin/kube-objects/json";
import { annotationOf, type KubeObject, keyOf, withMember } from "@purlin/kube-objects/object";
import { createCompositeState } from "../composite/composite-state.ts";
import { type CompositeDeps, steps } from "../composite/context.ts";
import { createReconcile } from "../composite/reconciler.ts";
import { annotations, kinds } from "../composite-resource/constants.ts";
import { type ResourceRef, resourceRefsOf, withCrossplaneFields } from "../composite-resource/crossplane-fields.ts";
import { planRevisions } from "../composition/revisions-controller.ts";
import { createMemoryClient, type MemoryClient, merge } from "./memory-client.ts";
import { isSame, type PreparedInputs, prepareInputs, type RenderInputs, uidOf } from "./render-inputs.ts";

/** The time of every condition in the output of a render, so that equal inputs have equal outputs. */
const renderTime = "2024-01-01T00:00:00Z";

/** The options of a render. */
interface RenderOptions {
  readonly runStep: RunStep;
  /** Where bootstrap requirements come from. */
  readonly fetchers: RequirementFetchers;
  /** Secrets that steps use as credentials, or that hold connection details. */
  readonly secrets?: readonly KubeObject[] | undefined;
  /** The initial context of the pipeline. */
  readonly context?: JsonObject | undefined;
  readonly timeoutMs?: number | undefined;
  /** Whether the status has the function revisions that ran, as it has where steps may select them. */
  readonly functionRevisions?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** The result of a render. */
export interface Rendered {
  /** The XR after one reconcile; `full` with everything the input had. */
  readonly xr: { readonly short: KubeObject; readonly full: KubeObject };
  /** Composed resources by their name in the pipeline, as they would be applied. */
  readonly resources: readonly KubeObject[];
  /** The events of the XR, in order. */
  readonly results: readonly EventText[];
  /** Errors about resources that a cluster would refuse. */
  readonly warnings: readonly string[];
  /** The final context; undefined when the pipeline failed. */
  readonly context: JsonObject | undefined;
  /** Why the reconcile failed, if it did. */
  readonly failure: Error | undefined;
}

const silent: Log = { debug() {}, info() {}, error() {} };

/** Runs the reconcile of the composite controller once, over objects in memory. */
export async function renderComposite(inputs: RenderInputs, options: RenderOptions): Promise<Rendered> {
  const prepared = prepareInputs(inputs);
  const client = createMemoryClient(objectsOf(prepared, inputs, options));
  const results: EventText[] = [];
  const warnings: string[] = [];
  let context: JsonObject | undefined;
  const deps: CompositeDeps = {
    kind: { definition: prepared.definition.metadata.name ?? "", type: typeOf(prepared.xr), schema: prepared.schema },
    client,
    events: recorderFor(prepared.xr, (event) => {
      if (!isRevisionChoice(event)) results.push(event);
    }),
    engine: { enqueue() {}, startWatches: async () => {}, stopWatches: async () => {}, watchesOf: () => [] },
    runStep: options.runStep,
    fetchers: options.fetchers,
    clock: systemClock,
    log: silent,
    settings: settingsOf(options),
    timestamp: () => renderTime,
    context: options.context && Struct.rounded(options.context),
    // A render shows what the pipeline desires, as Crossplane's does.
    onHeld() {},
    refuse: ({ message }) => warnings.push(message),
    onPipeline: (_, last) => {
      context = last?.value ?? {};
    },
  };
  const reconcile = createReconcile(deps, createCompositeState(deps));
  const signal = options.signal ?? new AbortController().signal;
  const failure = await reconcile(keyOf(prepared.xr), signal).then(
    () => undefined,
    (error: unknown) => (error instanceof Error ? error : new Error(String(error))),
  );
  const stored = await client.live.get(prepared.xr, keyOf(prepared.xr));
  const resources = composedIn(client, prepared.xr);
  const isComposed = client.applied.some(({ object }) => isSame(object, prepared.xr));
  return { xr: outputOf(stored, prepared, isComposed), resources, results, warnings, context, failure };
}

function settingsOf({ timeoutMs, functionRevisions = false }: RenderOptions): CompositeDeps["settings"] {
  // A render prints all results.
  return {
    functionRevisions,
    maxEvents: Number.POSITIVE_INFINITY,
    ...(timeoutMs === undefined ? {} : { deadlineMs: timeoutMs }),
  };
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
    { type: "ValidPipeline", status: "True", reason: "ValidPipeline", lastTransitionTime: renderTime },
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

/** Events of other objects, such as the claim, are emitted on the XR as well. */
function recorderFor(xr: KubeObject, onEvent: (event: EventText) => void): EventRecorder {
  const recorder: EventRecorder = {
    event({ kind, metadata }, event) {
      if (kind === xr.kind && metadata.name === xr.metadata.name) onEvent(event);
    },
    with: () => recorder,
  };
  return recorder;
}

/** The revision is made for the render, and there is no other to choose. */
function isRevisionChoice({ reason, message }: EventText): boolean {
  return reason === steps.revisionSelector.reason && message.startsWith("Selected composition revision: ");
}

/** The applied composed resources, sorted by their name in the pipeline. A function may have left out names and kinds. */
function composedIn({ applied }: MemoryClient, xr: KubeObject): readonly KubeObject[] {
  const composed = applied.filter(({ object, subresource }) => subresource === "" && !isSame(object, xr));
  const named = composed.map(({ object }) => ({ name: annotationOf(object, annotations.resourceName) ?? "", object }));
  return named.sort((a, b) => compareUtf8(a.name, b.name)).map(({ object }) => withRenderTimes(object));
}

/** The XR as it is printed. One that was not composed, because it is paused or deleted, is printed as it was given. */
function outputOf(
  stored: KubeObject,
  { xr, given, schema, claim }: PreparedInputs,
  isComposed: boolean,
): Rendered["xr"] {
  const whole = claim === undefined ? given : xr;
  if (!isComposed) {
    const unchanged = withRenderTimes(withMember(whole, ["status"], stored["status"]));
    return { short: unchanged, full: unchanged };
  }
  const refs = resourceRefsOf(stored, schema).map(withoutEmptyType);
  const { name = "", namespace } = xr.metadata;
  const identity: KubeObject = { ...typeOf(xr), metadata: { name, ...(namespace ? { namespace } : {}) } };
  const output = (base: KubeObject): KubeObject => {
    const referring = withCrossplaneFields(base, schema, { resourceRefs: refs });
    const status = merge(base["status"] as JsonValue | undefined, (stored["status"] ?? {}) as JsonValue);
    return withRenderTimes({ ...referring, status });
  };
  return { short: output(identity), full: output(whole) };
}

/** A reference to an object without a type has none. */
function withoutEmptyType({ apiVersion, kind, ...rest }: ResourceRef): Partial<ResourceRef> {
  return { ...(apiVersion && { apiVersion }), ...(kind && { kind }), ...rest };
}

/**
 * The object with the render's time in its conditions, which are printed as Crossplane prints them: with the fields that
 * conditions have, and null where a status has none. A status with conditions of another form stays as it is.
 */
function withRenderTimes(object: KubeObject): KubeObject {
  const { status } = object;
  if (!isJsonObject(status)) return object;
  const { conditions = null } = status;
  if (conditions === null) return { ...object, status: { ...status, conditions } };
  if (!Array.isArray(conditions) || !conditions.every(isCondition)) return object;
  return { ...object, status: { ...status, conditions: conditions.map(printed) } };
}

function isCondition(value: JsonValue): value is JsonObject {
  if (!isJsonObject(value)) return false;
  const { observedGeneration = 0 } = value;
  return texts(value).every((text) => typeof text === "string") && typeof observedGeneration === "number";
}

function texts({ type = "", status = "", reason = "", message = "" }: JsonObject): JsonValue[] {
  return [type, status, reason, message];
}

function printed(condition: JsonObject): JsonObject {
  const [type = "", status = "", reason = "", message = ""] = texts(condition);
  const { observedGeneration } = condition;
  return {
    type,
    status,
    lastTransitionTime: renderTime,
    reason,
    ...(message && { message }),
    ...(observedGeneration && { observedGeneration }),
  };
}
