// SPDX-License-Identifier: Apache-2.0
import type { Clock } from "@purlin/base";
import { compositionKinds, crossplaneLabels, functionRevisionType, packageLabel } from "@purlin/composition";
import { decidingRollout, type RolloutView, readRevision, readRollout } from "@purlin/function-runner";
import { type ControllerClient, withConditionTexts } from "@purlin/kube-controller";
import type { JsonObject } from "@purlin/kube-objects/json";
import { type ConditionText, conditionsOf, type KubeObject, numberAt } from "@purlin/kube-objects/object";
import { Counter, Gauge, type Registry } from "prom-client";
import type { Decision } from "./decide.ts";
import type { RolloutPlan } from "./plan.ts";
import { type FrozenSides, isEnded, type RolloutState, statusFields } from "./state.ts";

/** Reasons for which a rollout waits until its author changes something. */
const stallingReasons: ReadonlySet<string> = new Set([
  "InvalidSpec",
  "SameRevision",
  "RevisionNotFound",
  "RevisionInactive",
  "FunctionNotFound",
  "CompositionNotFound",
  "Conflict",
  "NoComposites",
  "StableNotFound",
]);

interface StatusFacts {
  readonly plan: RolloutPlan;
  readonly clock: Pick<Clock, "now">;
  readonly shadow?: JsonObject | undefined;
  /** Which newer revision an ended rollout keeps composite resources from. */
  readonly superseded?: string | undefined;
}

/** The rollout with the status of a state. Equal to the stored one when nothing changed. */
export function withState(
  rollout: KubeObject,
  state: RolloutState,
  { plan, clock, shadow, superseded }: StatusFacts,
): KubeObject {
  const before = (rollout["status"] ?? {}) as { readonly conditions?: unknown; readonly shadow?: unknown };
  const generation = rollout.metadata.generation ?? 0;
  const fields = statusFields(state, { isComposition: plan.composition !== undefined, generation });
  // The reports of an ended rollout may be gone; what they said stays.
  const report = shadow ?? before.shadow;
  const status = {
    ...fields,
    ...(report !== undefined && { shadow: report }),
    ...(before.conditions !== undefined && { conditions: before.conditions }),
  };
  const conditions = [...conditionsFor(state), ...supersededCondition(rollout, superseded)];
  return withConditionTexts({ ...rollout, status } as KubeObject, conditions, clock);
}

/** Absent until there was a newer revision once. */
function supersededCondition(rollout: KubeObject, message: string | undefined): readonly ConditionText[] {
  const type = supersededType;
  if (message !== undefined) return [{ type, status: "True", reason: "NewerRevision", message }];
  const isKnown = conditionsOf(rollout).some((one) => one.type === type);
  return isKnown ? [{ type, status: "False", reason: "NoNewerRevision" }] : [];
}

/** Conditions that tools which know kstatus read: Ready, Reconciling and Stalled; and those of rollouts. */
function conditionsFor(state: RolloutState): readonly ConditionText[] {
  const { phase, reason, message } = state;
  const isStalled =
    phase === "RolledBack" ||
    phase === "Failed" ||
    state.pauseToken !== undefined ||
    (phase === "Pending" && stallingReasons.has(reason));
  const isReady = phase === "Succeeded";
  const isMoving = !isEnded(state) && !isStalled;
  const text = (type: string, status: boolean): ConditionText => ({
    type,
    status: status ? "True" : "False",
    reason,
    message,
  });
  return [
    text("Ready", isReady),
    text("Reconciling", isMoving),
    text("Stalled", isStalled),
    text("Progressing", isMoving && phase !== "Paused"),
    gatesPassed(state),
    text("RolledBack", phase === "RolledBack"),
  ];
}

function gatesPassed({ gates }: RolloutState): ConditionText {
  const bad = gates.find(({ result }) => result === "Failed") ?? gates.find(({ result }) => result === "Unknown");
  const message = gates.map((gate) => `${gate.name}: ${gate.message}`).join("; ");
  if (gates.length === 0) return { type: "GatesPassed", status: "Unknown", reason: "NotJudged", message: "" };
  if (bad === undefined) return { type: "GatesPassed", status: "True", reason: "Passed", message };
  return { type: "GatesPassed", status: bad.result === "Failed" ? "False" : "Unknown", reason: bad.result, message };
}

/** The metrics of rollouts. */
export interface RolloutMetrics {
  decided(rollout: string, decision: Decision): void;
  seen(rollout: string, state: RolloutState): void;
  gone(rollout: string): void;
}

/** Metrics without a registry. */
const noMetrics: RolloutMetrics = { decided: () => {}, seen: () => {}, gone: () => {} };

const sides = ["total", "candidate", "moved", "unhealthy"] as const;

/** Registers the metrics of rollouts; those of an earlier term of leadership are used again. */
export function createRolloutMetrics(registry: Registry | undefined): RolloutMetrics {
  if (registry === undefined) return noMetrics;
  const decisionsName = "purlin_rollout_decisions_total";
  const compositesName = "purlin_rollout_composites";
  const stepName = "purlin_rollout_step";
  const decisions =
    (registry.getSingleMetric(decisionsName) as Counter | undefined) ??
    new Counter({
      name: decisionsName,
      help: "Decisions about rollouts.",
      labelNames: ["rollout", "decision"],
      registers: [registry],
    });
  const composites =
    (registry.getSingleMetric(compositesName) as Gauge | undefined) ??
    new Gauge({
      name: compositesName,
      help: "Composite resources of a rollout: all, those that belong on the candidate, those that it reconciled, and those of them that are not synced.",
      labelNames: ["rollout", "side"],
      registers: [registry],
    });
  const step =
    (registry.getSingleMetric(stepName) as Gauge | undefined) ??
    new Gauge({
      name: stepName,
      help: "Index of the current step of a rollout.",
      labelNames: ["rollout"],
      registers: [registry],
    });
  return {
    decided: (rollout, { reason }) => decisions.inc({ rollout, decision: reason }),
    seen(rollout, state) {
      for (const side of sides) composites.set({ rollout, side }, state.composites[side]);
      step.set({ rollout }, state.currentStep);
    },
    gone(rollout) {
      for (const side of sides) composites.remove({ rollout, side });
      step.remove({ rollout });
    },
  };
}

/** The condition type of ended rollouts that keep composite resources from a newer revision. */
export const supersededType = "Superseded";

interface EndedRollout {
  readonly rollout: KubeObject;
  readonly plan: RolloutPlan;
  readonly state: RolloutState;
  readonly others: readonly RolloutView[];
}

interface Reading {
  readonly client: Pick<ControllerClient, "list">;
  readonly signal: AbortSignal;
}

/**
 * Says which newer revision no composite resource gets because an ended rollout still decides; undefined when there is none. An ended
 * rollout keeps deciding until it is deleted, and without this a later revision would be ignored in silence.
 */
export async function supersededText(ended: EndedRollout, reading: Reading): Promise<string | undefined> {
  const { plan, state } = ended;
  for (const sides of state.frozen) {
    if (!isDeciding(sides.name, ended)) continue;
    const left = state.phase === "Succeeded" ? sides.candidate : sides.stable;
    const newer =
      plan.composition === undefined
        ? await newerFunctionRevision(sides, left, reading)
        : await newerCompositionRevision(sides, left, reading);
    if (newer === undefined) continue;
    const [kind, flag] =
      plan.composition === undefined ? ["FunctionRevision", ""] : ["CompositionRevision", " --composition"];
    const what = `${kind} "${newer}" is newer than "${left}", where this rollout keeps composite resources until it is deleted`;
    return `${what}: start another rollout (purlin rollout start ${sides.name}${flag}), or delete this one to move all at once`;
  }
  return undefined;
}

/** A live rollout, or one that ended later, decides instead of this one. */
function isDeciding(name: string, { rollout, plan, others }: EndedRollout): boolean {
  const own = readRollout(rollout);
  const rivals = others.filter((one) =>
    plan.composition === undefined ? one.functions.has(name) : one.composition?.name === name,
  );
  return decidingRollout([own, ...rivals]) === own;
}

async function newerFunctionRevision(
  { name }: FrozenSides,
  left: string,
  { client, signal }: Reading,
): Promise<string | undefined> {
  const all = await client.list(functionRevisionType, { labels: { [packageLabel]: name }, signal });
  // A revision that is withheld was rejected, or waits for its own rollout.
  return newest(all, left, (one) => readRevision(one).isActive && !readRevision(one).isWithheld);
}

async function newerCompositionRevision(
  { name, candidate }: FrozenSides,
  left: string,
  { client, signal }: Reading,
): Promise<string | undefined> {
  const all = await client.list(compositionKinds.revision, {
    labels: { [crossplaneLabels.compositionName]: name },
    signal,
  });
  return newest(all, left, ({ metadata }) => metadata.name !== candidate);
}

function newest(
  all: readonly KubeObject[],
  left: string,
  isWanted: (revision: KubeObject) => boolean,
): string | undefined {
  const current = all.find(({ metadata }) => metadata.name === left);
  if (current === undefined) return undefined;
  const [first] = all
    .filter((one) => numberOf(one) > numberOf(current) && isWanted(one))
    .toSorted((a, b) => numberOf(b) - numberOf(a));
  return first?.metadata.name;
}

function numberOf(revision: KubeObject): number {
  return numberAt(revision, ["spec", "revision"]);
}
