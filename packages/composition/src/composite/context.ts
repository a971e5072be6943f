// SPDX-License-Identifier: Apache-2.0
import type { Clock, Log } from "@purlin/base";
import type { Struct } from "@purlin/function-protocol";
import type { RequirementFetchers, Rollouts, RunStep } from "@purlin/function-runner";
import type {
  ControllerClient,
  ControllerEngine,
  EventRecorder,
  ReconcileContext,
  StepText,
} from "@purlin/kube-controller";
import { during, notFound } from "@purlin/kube-objects/errors";
import { isJsonObject } from "@purlin/kube-objects/json";
import {
  conditionTime,
  type KubeObject,
  memberAt,
  objectAt,
  type TypeRef,
  textAt,
  textMapAt,
  textsAt,
} from "@purlin/kube-objects/object";
import { apiGroup, kinds } from "../composite-resource/constants.ts";
import type { CompositeSchema, MatchLabels } from "../composite-resource/crossplane-fields.ts";
import type { CompositeState } from "./composite-state.ts";
import type { Hold } from "./guard/guard.ts";
import type { RecordRun, RunDraft } from "./record/run-draft.ts";
import type { Stamp } from "./report/status-after.ts";
import type { StatusBaseline } from "./report/status-baseline.ts";
import type { BreakerLimits, BreakerMetrics } from "./watch/circuit-breaker.ts";

/** The kind of composite resource that a controller reconciles. */
export interface CompositeKind {
  /** The name of the XRD that defines it. */
  readonly definition: string;
  /** The referenceable version. */
  readonly type: TypeRef;
  readonly schema: CompositeSchema;
}

/** The settings of composite controllers. */
export interface CompositeSettings {
  /** Wake an XR when something it composed or required changes; without it XRs are reconciled at intervals. */
  readonly realtime: boolean;
  readonly pollIntervalMs: number;
  /** The shortest interval that an XR may ask for by annotation, and the shortest time to live of responses. */
  readonly minPollIntervalMs: number;
  /** Write the function revision that ran each step into the status. */
  readonly functionRevisions: boolean;
  readonly deadlineMs: number;
  /** A step that has not been answered for this long is reported on the XR. */
  readonly slowStepMs: number;
  /** Events of one type that one reconcile emits for one object. */
  readonly maxEvents: number;
  /** How long after the deadline the status may still be written. */
  readonly statusGraceMs: number;
}

/** The default settings. */
export const defaultSettings: CompositeSettings = {
  realtime: true,
  pollIntervalMs: 60_000,
  minPollIntervalMs: 1_000,
  functionRevisions: false,
  deadlineMs: 120_000,
  slowStepMs: 10_000,
  // An event recorder accepts 25 at once of each type for an object.
  maxEvents: 20,
  statusGraceMs: 20_000,
};

/** The dependencies of a composite controller. */
export interface CompositeDeps {
  readonly kind: CompositeKind;
  readonly client: ControllerClient;
  readonly events: EventRecorder;
  readonly engine: Pick<ControllerEngine, "enqueue" | "startWatches" | "stopWatches" | "watchesOf">;
  readonly runStep: RunStep;
  /** Rollouts of Compositions; none unless given. */
  readonly rollouts?: Rollouts | undefined;
  /** Read the requirements that pipeline steps declare. */
  readonly fetchers: RequirementFetchers;
  readonly clock: Clock;
  readonly log: Log;
  readonly settings?: Partial<CompositeSettings> | undefined;
  readonly breakerLimits?: Partial<BreakerLimits> | undefined;
  readonly breakerMetrics?: BreakerMetrics | undefined;
  /** A random number in [0, 1). */
  readonly random?: (() => number) | undefined;
  /** The time that goes into conditions; that of the clock unless given. */
  readonly timestamp?: (() => string) | undefined;
  /** The initial context of the pipeline. */
  readonly context?: Struct | undefined;
  /** Called with the error about a desired resource that a cluster would refuse, which is used anyway; without it, the error is thrown. */
  readonly refuse?: ((error: Error) => void) | undefined;
  /** Takes over the record of every reconcile; without it none is recorded. */
  readonly recordRun?: RecordRun | undefined;
  /** Called with what would hold an XR, which is applied anyway: for previews. Without it, the XR is held. */
  readonly onHeld?: ((xr: KubeObject, hold: Hold) => void) | undefined;
  /** Called with the final context of a pipeline, before anything is applied. */
  readonly onPipeline?: ((xr: KubeObject, context: Struct | undefined) => void) | undefined;
}

/** One reconcile of one XR. `stored` is the newest version of the XR, from the first read to the last write. */
export interface CompositeContext extends ReconcileContext {
  readonly deps: CompositeDeps;
  readonly settings: CompositeSettings;
  readonly state: CompositeState;
  /** The XRD as it was when the reconcile started. */
  readonly definition: CompositeDefinition;
  readonly baseline: StatusBaseline;
  /** The record of this reconcile; undefined when it is not recorded. */
  readonly run?: RunDraft | undefined;
}

/** The time and generation of the conditions of an XR. */
export function stampFor(xr: KubeObject, { clock, timestamp }: CompositeDeps): Stamp {
  return { time: timestamp?.() ?? conditionTime(clock.now()), generation: xr.metadata.generation };
}

/** The steps of a reconcile that can fail apart from composing. */
type StepName =
  | "finalizer"
  | "deletion"
  | "composition"
  | "revisionSelector"
  | "revision"
  | "configure"
  | "watch"
  | "publish";

/** The event reason and message prefix of each step, in order. */
export const steps: Readonly<Record<StepName, StepText>> = {
  finalizer: { reason: "InitializeCompositeResource", text: "cannot add composite resource finalizer" },
  deletion: { reason: "DeleteCompositeResource", text: "cannot remove composite resource finalizer" },
  composition: { reason: "SelectComposition", text: "cannot select Composition" },
  revisionSelector: { reason: "SelectComposition", text: "cannot select CompositionRevision" },
  revision: { reason: "ComposeResources", text: "cannot fetch Composition" },
  configure: { reason: "ComposeResources", text: "cannot configure composite resource" },
  watch: { reason: "WatchComposedResources", text: "cannot watch resource for changes" },
  publish: { reason: "PublishConnectionSecret", text: "cannot publish connection details" },
};

/** The fields of an XRD that reconciling its composite resources depends on. */
export interface DefinitionFacts {
  readonly enforcedComposition: string | undefined;
  readonly defaultComposition: string | undefined;
  readonly defaultRevisionSelector: MatchLabels | undefined;
  /** Keys a connection secret may have; none means any. */
  readonly connectionSecretKeys: readonly string[];
  /** Status fields that are ours unless the author declared a field of that name. */
  readonly ownStatusFields: ReadonlySet<OwnStatusField>;
  /** The XRD itself, for the annotations of the guard. */
  readonly annotated: KubeObject;
}

/** Status fields of ours that give way to fields of the same name in the author's schema. */
export type OwnStatusField = "claimConditions" | "lastHandledReconcileAt" | "crossplane";

const giveWay: readonly OwnStatusField[] = ["claimConditions", "lastHandledReconcileAt", "crossplane"];
const known = new WeakMap<KubeObject, DefinitionFacts>();

/** The XRD at the start of a reconcile. */
export interface CompositeDefinition {
  /** Undefined when the XRD could not be read. */
  readonly facts: DefinitionFacts | undefined;
  /** Throws the error of the read when there are no facts. */
  require(): DefinitionFacts;
}

/** Reads the XRD from the cache each time, so that an edit counts at once. Never rejects. */
export async function readDefinition(deps: CompositeDeps, signal: AbortSignal): Promise<CompositeDefinition> {
  try {
    const facts = await during("cannot get composite resource definition", () => readFacts(deps, signal));
    return { facts, require: () => facts };
  } catch (error) {
    const require = (): never => {
      throw error;
    };
    return { facts: undefined, require };
  }
}

async function readFacts({ client, kind }: CompositeDeps, signal: AbortSignal): Promise<DefinitionFacts> {
  const definition = await client.get(kinds.definition, { name: kind.definition }, { signal });
  if (definition === undefined) {
    throw notFound({ group: apiGroup, resource: "compositeresourcedefinitions" }, kind.definition);
  }
  const facts = known.get(definition) ?? factsOf(definition);
  if (Object.isFrozen(definition)) known.set(definition, facts);
  return facts;
}

/** The facts in an XRD. */
function factsOf(definition: KubeObject): DefinitionFacts {
  const selector = memberAt(definition, ["spec", "defaultCompositionRevisionSelector"]);
  return {
    annotated: definition,
    enforcedComposition: textAt(definition, ["spec", "enforcedCompositionRef", "name"]),
    defaultComposition: textAt(definition, ["spec", "defaultCompositionRef", "name"]),
    defaultRevisionSelector: isJsonObject(selector) ? (textMapAt(selector, ["matchLabels"]) ?? {}) : undefined,
    connectionSecretKeys: textsAt(definition, ["spec", "connectionSecretKeys"]),
    ownStatusFields: new Set(giveWay.filter((field) => !authorDeclares(definition, field))),
  };
}

function authorDeclares(definition: KubeObject, field: string): boolean {
  const versions = memberAt(definition, ["spec", "versions"]);
  const referenceable = Array.isArray(versions)
    ? versions.filter((v) => isJsonObject(v) && v["referenceable"] === true)
    : [];
  const schema = referenceable.at(-1);
  if (!isJsonObject(schema)) return false;
  const path = ["schema", "openAPIV3Schema", "properties", "status", "properties"];
  return Object.hasOwn(objectAt(schema, path), field);
}
