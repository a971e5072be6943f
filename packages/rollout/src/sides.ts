// SPDX-License-Identifier: Apache-2.0
import {
  compositionKinds,
  crossplaneLabels,
  functionRevisionType,
  functionType,
  packageLabel,
} from "@purlin/composition";
import { carriesAll, type RolloutView, readRevision, withheldAnnotation } from "@purlin/function-runner";
import type { ControllerClient } from "@purlin/kube-controller";
import { isNotFound } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import {
  annotationOf,
  conditionOf,
  conditionsOf,
  type KubeObject,
  numberAt,
  objectAt,
  textAt,
  textMapAt,
} from "@purlin/kube-objects/object";
import { policyMark } from "@purlin/package-manager";
import type { SidesFound } from "./decide.ts";
import type { RolloutPlan } from "./plan.ts";
import type { FrozenSides } from "./state.ts";

/** What the search for revisions depends on. */
interface SidesOptions {
  readonly client: Pick<ControllerClient, "get" | "list">;
  readonly rollout: JsonObject;
  readonly plan: RolloutPlan;
  /** Revisions that were frozen before; the stable ones of a rollout that waits for its candidate stay. */
  readonly frozen: readonly FrozenSides[];
  /** All other rollouts. */
  readonly others: readonly RolloutView[];
  readonly signal: AbortSignal;
}

interface Refusal {
  readonly reason: string;
  readonly message: string;
}

/** The sides of one function or Composition. */
type OneSides =
  | { readonly sides: FrozenSides; readonly waitingFor: string }
  | (Refusal & { readonly stable?: FrozenSides });

/** Finds the revisions of a rollout that has not started. */
export async function findSides(options: SidesOptions): Promise<SidesFound> {
  const { plan } = options;
  const all =
    plan.composition === undefined
      ? await Promise.all(plan.functions.map((name) => functionSides(name, options)))
      : [await compositionSides(plan.composition, options)];
  const refusals = all.filter((one) => "reason" in one);
  // A candidate appears by itself; other refused plans have to be fixed first.
  const refused = refusals.find(({ reason }) => reason !== waiting) ?? refusals[0];
  if (refused !== undefined && "reason" in refused) {
    const stable = all.flatMap((one) => ("reason" in one ? (one.stable ?? []) : [{ ...one.sides, candidate: "" }]));
    const isComplete = stable.length === all.length;
    return { reason: refused.reason, message: refused.message, ...(isComplete && { stable }) };
  }
  const found = all.flatMap((one) => ("sides" in one ? [one] : []));
  const waitingFor = found.map((one) => one.waitingFor).filter((text) => text !== "");
  return {
    found: found.map(({ sides }) => sides),
    isServing: waitingFor.length === 0,
    waitingFor: waitingFor.join("; "),
  };
}

async function functionSides(name: string, options: SidesOptions): Promise<OneSides> {
  const { client, rollout, frozen, others, signal } = options;
  if ((await client.get(functionType, { name }, { signal })) === undefined) {
    return { reason: "FunctionNotFound", message: `Function "${name}" does not exist` };
  }
  const listed = await client.list(functionRevisionType, { labels: { [packageLabel]: name }, signal });
  const active = listed.filter((one) => readRevision(one).isActive).toSorted((a, b) => numberOf(b) - numberOf(a));
  const wanted = objectAt(rollout, ["spec", "candidate"]);
  const isNamed = Object.keys(wanted).length > 0;
  const what = `FunctionRevision of Function "${name}"`;
  const named = isNamed ? chosen(wanted, { kind: "function", all: listed, active, what }) : undefined;
  const known = frozen.find((one) => one.name === name)?.stable;
  const stable = stableOf({
    rollout,
    listed,
    active,
    known,
    candidate: named,
    previous: previousOf(others.map((one) => ({ ...one, sides: one.functions.get(name) }))),
    what,
  });
  if ("reason" in stable) return stable;
  const kept = { name, stable: stable.revision.metadata.name ?? "", candidate: "" };
  const later = active.find((one) => numberOf(one) > numberOf(stable.revision) && !isRejected(one, rollout));
  const candidate = named ?? (later === undefined ? waitingForCandidate(what, kept.stable) : { revision: later });
  if ("reason" in candidate) return { ...candidate, stable: kept };
  const sides = { ...kept, candidate: candidate.revision.metadata.name ?? "" };
  if (sides.stable === sides.candidate) {
    return { reason: "SameRevision", message: `stable and candidate are both "${sides.stable}"`, stable: kept };
  }
  return { sides, waitingFor: notServing(candidate.revision) };
}

/** A revision that another rollout withholds was the candidate of that one: it is not taken again unless it is named. */
function isRejected(revision: KubeObject, rollout: JsonObject): boolean {
  const mark = annotationOf(revision, withheldAnnotation);
  return mark !== undefined && mark !== policyMark && mark !== textAt(rollout, ["metadata", "name"]);
}

type Found = { readonly revision: KubeObject } | Refusal;

const waiting = "WaitingForCandidate";

function waitingForCandidate(what: string, stable: string): Refusal {
  return { reason: waiting, message: `there is no ${what} after "${stable}" yet` };
}

/** Another rollout with its revisions of one function or Composition, if it has any. */
type Earlier = RolloutView & {
  readonly sides: { readonly stable: string; readonly candidate: string | undefined } | undefined;
};

/** The revision that the last rollout left everything on. */
function previousOf(others: readonly Earlier[]): string | undefined {
  const ended = others.filter(
    ({ sides, phase }) => sides !== undefined && (phase === "Succeeded" || phase === "RolledBack"),
  );
  const [newest] = ended.toSorted((a, b) => (a.created < b.created ? 1 : -1));
  return newest?.phase === "Succeeded" ? newest.sides?.candidate : newest?.sides?.stable;
}

interface StableQuestion {
  readonly rollout: JsonObject;
  readonly listed: readonly KubeObject[];
  /** Highest number first. */
  readonly active: readonly KubeObject[];
  readonly known: string | undefined;
  readonly candidate: Found | undefined;
  readonly previous: string | undefined;
  readonly what: string;
}

function stableOf({ rollout, listed, active, known, candidate, previous, what }: StableQuestion): Found {
  const wanted = objectAt(rollout, ["spec", "stable"]);
  if (Object.keys(wanted).length > 0) return chosen(wanted, { kind: "function", all: listed, active, what });
  const byName = (name: string | undefined): KubeObject | undefined =>
    active.find(({ metadata }) => metadata.name === name);
  const taken = candidate !== undefined && "revision" in candidate ? candidate.revision : undefined;
  const serving = active.filter(
    (one) => one !== taken && readRevision(one).endpoint !== "" && !readRevision(one).isWithheld,
  );
  const revision = byName(known) ?? byName(previous === taken?.metadata.name ? undefined : previous) ?? serving[0];
  if (revision !== undefined) return { revision };
  return { reason: "StableNotFound", message: `no ${what} serves that composite resources could stay on` };
}

interface ChoiceContext {
  readonly kind: "function" | "composition";
  readonly all: readonly KubeObject[];
  /** Those that may be chosen by labels, highest number first. */
  readonly active: readonly KubeObject[];
  readonly what: string;
}

/** The revision that a side of the spec names or selects. */
function chosen(side: JsonObject, { kind, all, active, what }: ChoiceContext): Found {
  const name = textAt(side, [`${kind}RevisionRef`, "name"]);
  if (name !== undefined) {
    const revision = all.find(({ metadata }) => metadata.name === name);
    if (revision === undefined) return { reason: "RevisionNotFound", message: `there is no ${what} named "${name}"` };
    if (!active.includes(revision))
      return { reason: "RevisionInactive", message: `the ${what} "${name}" is not active` };
    return { revision };
  }
  const labels = textMapAt(side, [`${kind}RevisionSelector`, "matchLabels"]) ?? {};
  const revision = active.find(({ metadata }) => carriesAll(metadata.labels ?? {}, labels));
  if (revision !== undefined) return { revision };
  const text = Object.entries(labels).map(([key, value]) => `${key}=${value}`);
  return { reason: "RevisionNotFound", message: `no active ${what} has the labels ${text.join(",")}` };
}

function numberOf(revision: KubeObject): number {
  return numberAt(revision, ["spec", "revision"]);
}

/** Why a candidate cannot take calls yet; empty when it can. */
function notServing(object: KubeObject): string {
  const revision = readRevision(object);
  const label = `FunctionRevision "${revision.name}"`;
  if (revision.endpoint === "" || revision.capabilities.length === 0) {
    const runtime = conditionOf(conditionsOf(object), "RuntimeHealthy");
    const healthy = conditionOf(conditionsOf(object), "RevisionHealthy");
    const why = [healthy, runtime].find(({ status, message }) => status !== "True" && (message ?? "") !== "")?.message;
    return `${label} does not serve yet${why === undefined ? "" : `: ${why}`}`;
  }
  return revision.capabilities.includes("composition") ? "" : `${label} lacks the capability composition`;
}

async function compositionSides(name: string, options: SidesOptions): Promise<OneSides> {
  const { client, rollout, frozen, others, signal } = options;
  if ((await client.get(compositionKinds.composition, { name }, { signal })) === undefined) {
    return { reason: "CompositionNotFound", message: `Composition "${name}" does not exist` };
  }
  const labels = { [crossplaneLabels.compositionName]: name };
  const listed = await client.list(compositionKinds.revision, { labels, signal });
  const all = listed.toSorted((a, b) => numberOf(b) - numberOf(a));
  const what = `CompositionRevision of Composition "${name}"`;
  const context = { kind: "composition", all, active: all, what } as const;
  const pick = (field: "stable" | "candidate"): Found | undefined => {
    const side = objectAt(rollout, ["spec", field]);
    return Object.keys(side).length === 0 ? undefined : chosen(side, context);
  };
  const byName = (wanted: string | undefined): KubeObject | undefined =>
    all.find(({ metadata }) => metadata.name === wanted);
  const known = byName(frozen.find((one) => one.name === name)?.stable);
  const earlier = others.flatMap((one) => (one.composition?.name === name ? [{ ...one, sides: one.composition }] : []));
  const named = pick("candidate");
  const taken = named !== undefined && "revision" in named ? named.revision : undefined;
  const previous = byName(previousOf(earlier));
  // Without an earlier rollout all composite resources are on the newest revision.
  const newest = known ?? (previous === taken ? undefined : previous) ?? all.find((one) => one !== taken);
  const none = { reason: "StableNotFound", message: `there is no ${what}` };
  const stable = pick("stable") ?? (newest === undefined ? none : { revision: newest });
  if ("reason" in stable) return stable;
  const kept = { name, stable: stable.revision.metadata.name ?? "", candidate: "" };
  const rejected = earlier.filter(({ phase }) => phase === "RolledBack").map(({ sides }) => sides.candidate);
  const later = all.find((one) => numberOf(one) > numberOf(stable.revision) && !rejected.includes(one.metadata.name));
  const candidate = named ?? (later === undefined ? waitingForCandidate(what, kept.stable) : { revision: later });
  if ("reason" in candidate) return { ...candidate, stable: kept };
  const sides = { ...kept, candidate: candidate.revision.metadata.name ?? "" };
  if (sides.stable === sides.candidate) {
    return { reason: "SameRevision", message: `stable and candidate are both "${sides.stable}"`, stable: kept };
  }
  const valid = conditionOf(conditionsOf(candidate.revision), "ValidPipeline");
  const problem = `CompositionRevision "${sides.candidate}" does not have a valid pipeline yet: ${valid.message ?? ""}`;
  return { sides, waitingFor: valid.status === "True" ? "" : problem };
}

interface WithholdOptions {
  readonly rollout: string;
  readonly signal: AbortSignal;
}

/** Marks candidates, so that no step gets one for being the newest revision, also when the rollout is deleted before it succeeded. */
export async function withhold(
  client: ControllerClient,
  sides: readonly FrozenSides[],
  options: WithholdOptions,
): Promise<void> {
  await annotate(client, sides, { ...options, value: options.rollout, replaces: () => true });
}

/** Lets candidates be chosen like every other revision. The mark of another rollout stays. */
export async function release(
  client: ControllerClient,
  sides: readonly FrozenSides[],
  options: WithholdOptions,
): Promise<void> {
  await annotate(client, sides, { ...options, value: null, replaces: (mark) => mark === options.rollout });
}

interface Mark extends WithholdOptions {
  readonly value: string | null;
  /** Whether the mark of a revision is replaced. */
  readonly replaces: (mark: string | null) => boolean;
}

async function annotate(
  client: ControllerClient,
  sides: readonly FrozenSides[],
  { value, signal, replaces }: Mark,
): Promise<void> {
  for (const { candidate } of sides) {
    if (candidate === "") continue;
    const revision = await client.get(functionRevisionType, { name: candidate }, { signal });
    const mark = revision && (annotationOf(revision, withheldAnnotation) ?? null);
    if (mark === undefined || mark === value || !replaces(mark)) continue;
    const patch = { metadata: { annotations: { [withheldAnnotation]: value } } };
    try {
      await client.patch({ ...functionRevisionType, name: candidate }, patch, { type: "merge", signal });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }
}
