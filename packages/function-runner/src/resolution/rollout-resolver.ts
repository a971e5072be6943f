// SPDX-License-Identifier: Apache-2.0

import { createHash } from "node:crypto";
import { compareUtf8 } from "@purlin/base";
import { isJsonObject, type JsonObject, ownValue } from "@purlin/kube-objects/json";
import { numberAt, objectAt, objectsAt, stringAt, textMapAt } from "@purlin/kube-objects/object";
import { type CompositeSubject, type FunctionTarget, wrapError } from "../function-runner.ts";
import type { FunctionReference, FunctionResolver } from "./function-resolver.ts";

/** Where FunctionRollouts are read from. */
export interface Rollouts {
  list(signal?: AbortSignal): Promise<readonly JsonObject[]>;
}

/** The decision of a rollout about one step of one composite resource. */
interface RolloutDecision {
  readonly rollout: RolloutView;
  /** The revision that serves the step. */
  readonly revision: string;
  /** The candidate, when it is to be run beside the stable revision. */
  readonly shadow?: string | undefined;
}

/** The dependencies of {@link createRolloutResolver}. */
interface RolloutResolverOptions {
  readonly rollouts: Rollouts;
  /** Called when the revision that a rollout chose cannot be called. */
  readonly onUnresolved?: ((revisionName: string) => void) | undefined;
}

/**
 * Serves steps whose function is being rolled out from the revision that the rollout chooses for the composite resource, and all
 * others through `next`. Rollouts are read once a reconcile, so that no composite resource is served by both revisions in one. A step
 * that pins its revision, by name or by digest, keeps it.
 */
export function createRolloutResolver(next: FunctionResolver, options: RolloutResolverOptions): FunctionResolver {
  const snapshots = new WeakMap<CompositeSubject, Promise<readonly RolloutView[]>>();
  const snapshotOf = (subject: CompositeSubject): Promise<readonly RolloutView[]> => {
    const taken = snapshots.get(subject) ?? readAll(options.rollouts);
    snapshots.set(subject, taken);
    return taken;
  };
  return {
    async resolve(reference, signal) {
      const { composite } = reference;
      if (composite === undefined || isPinned(reference)) return next.resolve(reference, signal);
      const decision = decide(await snapshotOf(composite), reference, composite);
      if (decision === undefined) return next.resolve(reference, signal);
      const chosen = await resolveChosen(next, { reference, decision, options, signal });
      const target = { ...chosen, isRolledOut: true };
      const candidate = decision.shadow && (await find(next, reference, decision.shadow));
      if (!candidate) return target;
      const { uid, name } = decision.rollout;
      return { ...target, shadow: { rollout: { uid, name }, candidate, composite } };
    },
  };
}

function isPinned({ functionRevisionRef, function: image }: FunctionReference): boolean {
  return functionRevisionRef !== undefined || image !== undefined;
}

async function readAll(rollouts: Rollouts): Promise<readonly RolloutView[]> {
  try {
    return (await rollouts.list()).map(readRollout);
  } catch (error) {
    throw wrapError("FETCH", "cannot list FunctionRollouts", error);
  }
}

/** The decision about a step of a composite resource; undefined when no rollout concerns it. */
function decide(
  views: readonly RolloutView[],
  { functionName }: Pick<FunctionReference, "functionName">,
  subject: CompositeSubject,
): RolloutDecision | undefined {
  if (views.length === 0) return undefined;
  const concerned = views.filter(
    ({ functions, compositionLabels }) =>
      functions.has(functionName) && carriesAll(subject.compositionLabels, compositionLabels),
  );
  const rollout = decidingRollout(concerned);
  const sides = rollout?.functions.get(functionName);
  if (rollout === undefined || sides === undefined) return undefined;
  const { stable, candidate } = sides;
  if (candidate === undefined) return { rollout, revision: stable };
  if (isMember(rollout, subject)) return { rollout, revision: candidate };
  const isShadowed = isLiveRollout(rollout) && bucketOf(rollout.uid, subject.uid) < rollout.shadowThreshold;
  return { rollout, revision: stable, ...(isShadowed && { shadow: candidate }) };
}

interface Chosen {
  readonly reference: FunctionReference;
  readonly decision: RolloutDecision;
  readonly options: RolloutResolverOptions;
  readonly signal: AbortSignal | undefined;
}

/** A rollout never falls back to the other revision: that would serve a composite resource by both. */
async function resolveChosen(next: FunctionResolver, { reference, decision, options, signal }: Chosen) {
  try {
    return await next.resolve(named(reference, decision.revision), signal);
  } catch (error) {
    options.onUnresolved?.(decision.revision);
    throw wrapError("FETCH", `FunctionRollout "${decision.rollout.name}"`, error);
  }
}

/** The candidate of a shadow run; a step does not fail because the candidate cannot be called. */
async function find(
  next: FunctionResolver,
  reference: FunctionReference,
  revision: string,
): Promise<FunctionTarget | undefined> {
  return next.resolve(named(reference, revision)).catch(() => undefined);
}

function named(reference: FunctionReference, name: string): FunctionReference {
  return { ...reference, functionRevisionRef: { name }, functionRevisionSelector: undefined };
}

/** The labels that an object must all have. */
type Labels = Readonly<Record<string, string>>;

/** The two revisions of a rollout. */
interface RolloutSides {
  readonly stable: string;
  /** Undefined until there is a revision to move to. */
  readonly candidate: string | undefined;
}

/** The phases of a rollout. */
const rolloutPhases = ["Pending", "Progressing", "Paused", "Succeeded", "RollingBack", "RolledBack", "Failed"] as const;

/** The phase of a rollout. */
export type RolloutPhase = (typeof rolloutPhases)[number];

/** The fields of a FunctionRollout that decide which revision a composite resource gets. */
export interface RolloutView {
  readonly uid: string;
  readonly name: string;
  readonly created: string;
  readonly phase: RolloutPhase;
  /** What is rolled out, whether or not its revisions are frozen. */
  readonly targets: { readonly functions: readonly string[]; readonly composition: string | undefined };
  /** By Function. Empty for the rollout of a Composition, and while no revision is frozen. */
  readonly functions: ReadonlyMap<string, RolloutSides>;
  readonly composition?: (RolloutSides & { readonly name: string }) | undefined;
  /** Only steps of Compositions with these labels take part. */
  readonly compositionLabels: Labels;
  /** Composite resources with the labels of one of these are on the candidate. */
  readonly cohorts: readonly Labels[];
  /** Composite resources whose bucket is below are on the candidate. */
  readonly threshold: number;
  /** Composite resources on the stable revision whose bucket is below are shadowed. */
  readonly shadowThreshold: number;
}

/** The number of buckets that composite resources are hashed into: a hundredth of a percent each. */
export const bucketCount = 10_000;

/** The bucket of a composite resource in a rollout, from 0 to 9999: sha256(rollout uid + composite uid) mod 10000. */
export function bucketOf(rolloutUid: string, compositeUid: string): number {
  const digest = createHash("sha256")
    .update(rolloutUid + compositeUid)
    .digest();
  let rest = 0;
  for (const byte of digest) rest = (rest * 256 + byte) % bucketCount;
  return rest;
}

/** Whether a composite resource is on the side of the candidate. */
export function isMember(
  { uid, cohorts, threshold }: Pick<RolloutView, "uid" | "cohorts" | "threshold">,
  subject: Pick<CompositeSubject, "uid" | "labels">,
): boolean {
  if (threshold >= bucketCount || cohorts.some((labels) => carriesAll(subject.labels, labels))) return true;
  return threshold > 0 && bucketOf(uid, subject.uid) < threshold;
}

/** Whether labels include all wanted ones. */
export function carriesAll(labels: Labels, wanted: Labels): boolean {
  return Object.entries(wanted).every(([key, value]) => ownValue(labels, key) === value);
}

/** Whether a rollout may still move composite resources. */
export function isLiveRollout({ phase }: Pick<RolloutView, "phase">): boolean {
  return phase !== "Succeeded" && phase !== "RolledBack" && phase !== "Failed";
}

/** The revisions of a Function that must stay active for a rollout: both while it lives, then the one that it left composite resources on. */
export function revisionsToKeep(view: RolloutView, functionName: string): readonly string[] {
  const sides = view.functions.get(functionName);
  if (sides === undefined) return [];
  const { stable, candidate } = sides;
  const wanted = isLiveRollout(view) ? [stable, candidate] : [view.phase === "Succeeded" ? candidate : stable];
  return wanted.filter((one) => one !== undefined);
}

const known = new WeakMap<object, RolloutView>();

/** Reads a FunctionRollout. A rollout whose revisions are not frozen yet decides nothing. */
export function readRollout(object: JsonObject): RolloutView {
  const view = known.get(object) ?? viewOf(object);
  if (Object.isFrozen(object)) known.set(object, view);
  return view;
}

function viewOf(object: JsonObject): RolloutView {
  const metadata = objectAt(object, ["metadata"]);
  const status = objectAt(object, ["status"]);
  const membership = objectAt(status, ["membership"]);
  const phase = rolloutPhases.find((one) => one === status["phase"]) ?? "Pending";
  const composition = stringAt(object, ["spec", "compositionRef", "name"]);
  const stable = stringAt(status, ["stableRevision"]);
  const candidate = stringAt(status, ["candidateRevision"]) || undefined;
  return {
    uid: stringAt(metadata, ["uid"]),
    name: stringAt(metadata, ["name"]),
    created: stringAt(metadata, ["creationTimestamp"]),
    phase,
    targets: { functions: targetsOf(object), composition: composition || undefined },
    functions: composition === "" ? functionsOf(status) : new Map(),
    composition: composition !== "" && stable !== "" ? { name: composition, stable, candidate } : undefined,
    compositionLabels: textMapAt(object, ["spec", "compositionSelector", "matchLabels"]) ?? {},
    cohorts: cohortsOf(membership),
    threshold: numberAt(membership, ["threshold"]),
    shadowThreshold: numberAt(membership, ["shadowThreshold"]),
  };
}

function targetsOf(object: JsonObject): readonly string[] {
  const one = stringAt(object, ["spec", "functionRef", "name"]);
  return one === "" ? objectsAt(object, ["spec", "functionRefs"]).map((ref) => stringAt(ref, ["name"])) : [one];
}

function functionsOf({ functions }: JsonObject): RolloutView["functions"] {
  const frozen = (Array.isArray(functions) ? functions : []).filter(isJsonObject);
  return new Map(
    frozen.flatMap((one) => {
      const stable = stringAt(one, ["stableRevision"]);
      const candidate = stringAt(one, ["candidateRevision"]) || undefined;
      return stable === "" ? [] : [[stringAt(one, ["name"]), { stable, candidate }] as const];
    }),
  );
}

function cohortsOf({ cohorts }: JsonObject): readonly Labels[] {
  const all = (Array.isArray(cohorts) ? cohorts : []).filter(isJsonObject);
  // A cohort without labels would be all composite resources.
  return all.map((one) => textMapAt(one, ["matchLabels"]) ?? {}).filter((labels) => Object.keys(labels).length > 0);
}

/** The rollout among these that decides: the live one, else the newest. */
export function decidingRollout(views: readonly RolloutView[]): RolloutView | undefined {
  const order = (a: RolloutView, b: RolloutView): number =>
    Number(isLiveRollout(b)) - Number(isLiveRollout(a)) ||
    compareUtf8(b.created, a.created) ||
    compareUtf8(a.name, b.name);
  return views.toSorted(order)[0];
}
