// SPDX-License-Identifier: Apache-2.0

import { bucketCount } from "@purlin/function-runner";
import { type GateResult, type GateSamples, judge } from "./gates.ts";
import type { Labels, PlanStep, RolloutPlan } from "./plan.ts";
import { type CompositeNumbers, type FrozenSides, isEnded, type RolloutState, withHistory } from "./state.ts";

/** What a rollout is decided on: the world at one moment. */
export interface Observation {
  readonly now: number;
  /** How far the wall clock jumped since the last decision of this process; 0 when it did not. */
  readonly jumpMs: number;
  /** The revisions, or why there are none. Only asked until they are frozen. */
  readonly sides: SidesFound;
  /** The names of frozen revisions that do not exist or are no longer active. */
  readonly lost: readonly string[];
  readonly composites: CompositeNumbers;
  /** The lowest bucket of all composite resources; undefined when there are none. */
  readonly lowestBucket: number | undefined;
  /** Composite resources that are still on the candidate and can be reconciled. */
  readonly leftBehind: number;
  readonly samples: Omit<GateSamples, "stepStartedAt" | "isShadowStep" | "hasShadowed">;
  readonly approvals: readonly string[];
  readonly resumeToken: string | undefined;
  readonly isAborted: boolean;
}

/** The revisions of a rollout that is not started yet. */
export type SidesFound =
  | { readonly found: readonly FrozenSides[]; readonly isServing: boolean; readonly waitingFor: string }
  /** `stable` is kept on while the rollout waits for a candidate. */
  | { readonly reason: string; readonly message: string; readonly stable?: readonly FrozenSides[] | undefined };

/** A decision: one condition, one event and one metric. */
export interface Decision {
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly message: string;
}

/** The state after a decision. */
interface Outcome {
  readonly state: RolloutState;
  readonly decision: Decision | undefined;
}

/** A rollback does not wait longer for composite resources that are not reconciled. */
const rollbackMs = 10 * 60_000;

/** Decides what happens next. At most one transition a call; a state that does not change is returned with new numbers. */
export function decide(plan: RolloutPlan, stored: RolloutState, seen: Observation): Outcome {
  const before = withNumbers(afterJump(stored, seen), plan, seen);
  if (isEnded(before)) return { state: before, decision: undefined };
  if (before.phase === "RollingBack") return finishRollback(before, seen);
  if (seen.isAborted)
    return fail(before, seen, { plan, reason: "Aborted", message: "aborted by annotation", policy: "Rollback" });
  if (before.phase === "Pending") return start(plan, before, seen);
  if (before.phase === "Paused") return resume(plan, before, seen);
  return progress(plan, before, seen);
}

/** A wall clock that jumped has not made the rollout older or younger. */
function afterJump(state: RolloutState, { jumpMs, now }: Observation): RolloutState {
  const shift = (time: number | undefined): number | undefined => (time === undefined ? undefined : time + jumpMs);
  const moved =
    jumpMs === 0
      ? state
      : {
          ...state,
          stepStartedAt: shift(state.stepStartedAt),
          gatesPassedAt: shift(state.gatesPassedAt),
          heldSince: shift(state.heldSince),
          deadlineAt: shift(state.deadlineAt),
        };
  // A time in the future was written before the clock went back, by a process that has ended.
  const notLater = (time: number | undefined): number | undefined =>
    time === undefined ? undefined : Math.min(time, now);
  return {
    ...moved,
    stepStartedAt: notLater(moved.stepStartedAt),
    gatesPassedAt: notLater(moved.gatesPassedAt),
    heldSince: notLater(moved.heldSince),
  };
}

function withNumbers(state: RolloutState, plan: RolloutPlan, { composites, approvals }: Observation): RolloutState {
  const known = new Set(plan.steps.map(({ name }) => name));
  const added = approvals.filter((name) => known.has(name) && !state.approvedSteps.includes(name));
  const approvedSteps = added.length === 0 ? state.approvedSteps : [...state.approvedSteps, ...new Set(added)];
  return { ...state, composites, approvedSteps };
}

function decided(state: RolloutState, now: number, decision: Decision): Outcome {
  const { reason, message } = decision;
  return { state: withHistory({ ...state, reason, message }, now, decision), decision };
}

/** The rollout waits; it is reported once for each reason. */
function waiting(state: RolloutState, { reason, message }: Pick<Decision, "reason" | "message">, now: number): Outcome {
  const isNews = state.reason !== reason;
  const held = { ...state, reason, message };
  return isNews
    ? { state: withHistory(held, now, { reason, message }), decision: { type: "Normal", reason, message } }
    : { state: held, decision: undefined };
}

function start(plan: RolloutPlan, before: RolloutState, seen: Observation): Outcome {
  const { now, sides, composites } = seen;
  if (plan.problem !== undefined) return waiting(before, { reason: "InvalidSpec", message: plan.problem }, now);
  if ("reason" in sides) {
    const kept = sides.stable === undefined ? before : { ...before, frozen: sides.stable };
    return waiting(kept, sides, now);
  }
  const frozen = { ...before, frozen: sides.found, deadlineAt: before.deadlineAt ?? now + plan.deadlineMs };
  const isHeld = plan.isPaused || composites.total === 0;
  const held = hold(frozen, isHeld, now);
  if (plan.isPaused) return waiting(held, { reason: "Paused", message: "spec.paused is true" }, now);
  if (!sides.isServing) {
    if (isPast(held, now))
      return fail(held, seen, { plan, reason: "ProgressDeadlineExceeded", message: sides.waitingFor });
    return waiting(held, { reason: "CandidateNotServing", message: sides.waitingFor }, now);
  }
  if (composites.total === 0) {
    const message = "no composite resource uses the revisions: gates would have nothing to judge";
    return waiting(held, { reason: "NoComposites", message }, now);
  }
  const [first] = plan.steps;
  if (first === undefined) return waiting(held, { reason: "InvalidSpec", message: "spec.steps is empty" }, now);
  return enter(plan, { ...held, startedAt: now, phase: "Progressing" }, { index: 0, seen });
}

function hold(state: RolloutState, isHeld: boolean, now: number): RolloutState {
  if (isHeld) return state.heldSince === undefined ? { ...state, heldSince: now } : state;
  if (state.heldSince === undefined) return state;
  // The time that a person or a window took does not count.
  const deadlineAt = state.deadlineAt === undefined ? undefined : state.deadlineAt + (now - state.heldSince);
  return { ...state, heldSince: undefined, deadlineAt };
}

function isPast({ deadlineAt, heldSince }: RolloutState, now: number): boolean {
  return heldSince === undefined && deadlineAt !== undefined && now >= deadlineAt;
}

/** Begins a step, if its window is open. */
function enter(
  plan: RolloutPlan,
  before: RolloutState,
  { index, seen }: { index: number; seen: Observation },
): Outcome {
  const { now } = seen;
  const step = plan.steps[index];
  if (step === undefined) throw new Error(`the rollout has no step ${index}`);
  if (step.window !== undefined && !step.window.isOpen(now)) {
    const phase = before.startedAt === now && index === 0 ? ("Pending" as const) : before.phase;
    const startedAt = phase === "Pending" ? undefined : before.startedAt;
    const message = `step "${step.name}" waits for its window: ${step.window.text}`;
    return waiting({ ...hold(before, true, now), phase, startedAt }, { reason: "WaitingForWindow", message }, now);
  }
  const membership = membershipOf(plan, step, { before, seen });
  const state: RolloutState = {
    ...hold(before, false, now),
    ...membership,
    stableP95Ms: stableP95(plan, seen) ?? before.stableP95Ms,
    currentStep: index,
    stepStartedAt: now,
    gatesPassedAt: undefined,
    awaitingApproval: undefined,
    gates: [],
  };
  const what = describe(step, state);
  const reason = index === 0 ? "RolloutStarted" : "StepStarted";
  const message = `step "${step.name}" (${index + 1} of ${plan.steps.length}): ${what}${summaryOf(before.gates)}`;
  return decided(state, now, { type: "Normal", reason, message });
}

/** The p95 of the stable revision, where a gate compares with it. */
function stableP95({ gates }: RolloutPlan, { now, samples }: Observation): number | undefined {
  const gate = gates.find(({ limits }) => limits.maxIncrease !== undefined);
  return gate === undefined ? undefined : samples.stableCalls(now - gate.windowMs).p95Ms;
}

function describe(step: PlanStep, { threshold, cohorts }: RolloutState): string {
  const parts = [
    ...(step.shadowThreshold > 0 ? [`shadow for ${step.shadowThreshold / 100} % of composite resources`] : []),
    ...(step.percent !== undefined ? [`${threshold / 100} % of composite resources on the candidate`] : []),
    ...(cohorts.length > 0 && step.shadowThreshold === 0 ? [`${cohorts.length} cohort(s) on the candidate`] : []),
    ...(step.needsApproval ? ["needs an approval"] : []),
  ];
  return parts.join(", ");
}

function summaryOf(gates: readonly GateResult[]): string {
  return gates.length === 0
    ? ""
    : `; gates passed: ${gates.map(({ name, message }) => `${name}: ${message}`).join("; ")}`;
}

type Membership = Pick<RolloutState, "threshold" | "shadowThreshold" | "cohorts">;

/** Membership only grows. A step that moves a share moves one composite resource at least, so that gates have something to judge. */
function membershipOf(
  { canary }: RolloutPlan,
  step: PlanStep,
  { before, seen }: { readonly before: RolloutState; readonly seen: Observation },
): Membership {
  const moves = step.percent !== undefined || step.cohort !== undefined;
  const added = [
    ...(moves && canary !== undefined ? [canary] : []),
    ...(step.cohort === undefined ? [] : [step.cohort]),
  ];
  const cohorts = [
    ...before.cohorts,
    ...added.filter((one) => !before.cohorts.some((other) => sameLabels(one, other))),
  ];
  const share = step.percent === undefined ? 0 : step.percent * (bucketCount / 100);
  const least = step.percent === undefined || cohorts.length > 0 ? 0 : (seen.lowestBucket ?? 0) + 1;
  const threshold = Math.min(bucketCount, Math.max(before.threshold, share, least));
  return { threshold, cohorts, shadowThreshold: step.shadowThreshold };
}

function sameLabels(a: Labels, b: Labels): boolean {
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => a[key] === b[key]);
}

function progress(plan: RolloutPlan, before: RolloutState, seen: Observation): Outcome {
  const { now } = seen;
  const step = plan.steps[before.currentStep];
  if (step === undefined)
    return fail(before, seen, { plan, reason: "InvalidSpec", message: "the current step was removed from spec.steps" });
  if (plan.isPaused) {
    const message = "spec.paused is true: nothing moves";
    return decided({ ...hold(before, true, now), phase: "Paused" }, now, { type: "Normal", reason: "Paused", message });
  }
  if (seen.lost.length > 0) return loseRevisions(plan, before, seen);
  const gates = judgeAll(plan, before, seen);
  const state = { ...before, gates };
  const broken = gates.find(({ result }) => result === "Failed");
  if (broken !== undefined) {
    return fail(state, seen, { plan, reason: "GateFailed", message: `gate ${broken.name}: ${broken.message}` });
  }
  return advance(plan, state, { step, seen });
}

/** Without the stable revision a rollback would leave composite resources without any. */
function loseRevisions(plan: RolloutPlan, before: RolloutState, seen: Observation): Outcome {
  const stable = before.frozen.map((one) => one.stable).find((one) => seen.lost.includes(one));
  const message =
    stable === undefined
      ? `revisions are no longer active: ${seen.lost.join(", ")}`
      : `the stable revision "${stable}" is no longer active, and nothing can move back: activate it again, then resume or abort the rollout`;
  return fail(before, seen, {
    plan,
    reason: "RevisionLost",
    message,
    ...(stable !== undefined && { policy: "Pause" }),
  });
}

function judgeAll(
  plan: RolloutPlan,
  { stepStartedAt = 0, currentStep, stableP95Ms }: RolloutState,
  { samples }: Observation,
): readonly GateResult[] {
  const isShadowStep = (plan.steps[currentStep]?.shadowThreshold ?? 0) > 0;
  const hasShadowed = plan.steps.slice(0, currentStep + 1).some(({ shadowThreshold }) => shadowThreshold > 0);
  return plan.gates.map((gate) => judge(gate, { ...samples, stepStartedAt, isShadowStep, hasShadowed, stableP95Ms }));
}

/** Leaves a step when its time has passed, its wave has moved, all gates pass, and it is approved. */
function advance(
  plan: RolloutPlan,
  before: RolloutState,
  { step, seen }: { step: PlanStep; seen: Observation },
): Outcome {
  const { now, samples } = seen;
  const unmet = unmetOf(before, { step, now, pendingMoves: samples.pendingMoves });
  const isApproved = !step.needsApproval || before.approvedSteps.includes(step.name);
  const isLast = before.currentStep >= plan.steps.length - 1;
  if (unmet.length > 0) {
    const state = { ...hold(before, false, now), gatesPassedAt: undefined };
    if (isPast(state, now)) {
      const message = `not finished after ${plan.deadlineMs / 1000} s: ${unmet.join("; ")}`;
      return fail(state, seen, { plan, reason: "ProgressDeadlineExceeded", message });
    }
    return waiting(state, { reason: "StepInProgress", message: unmet.join("; ") }, now);
  }
  if (!isApproved) {
    const state = { ...hold(before, true, now), awaitingApproval: step.name };
    return waiting(state, { reason: "WaitingForApproval", message: `step "${step.name}" waits for an approval` }, now);
  }
  if (!isLast) return enter(plan, before, { index: before.currentStep + 1, seen });
  return finish(plan, hold({ ...before, awaitingApproval: undefined }, false, now), seen);
}

function unmetOf(
  { gates, stepStartedAt = 0 }: RolloutState,
  { step, now, pendingMoves }: { readonly step: PlanStep; readonly now: number; readonly pendingMoves: number },
): readonly string[] {
  const left = step.minDurationMs - (now - stepStartedAt);
  return [
    ...(pendingMoves > 0 ? [`${pendingMoves} composite resources have not moved yet`] : []),
    ...gates.filter(({ result }) => result !== "Passed").map(({ name, message }) => `gate ${name}: ${message}`),
    ...(left > 0 ? [`minDuration of ${step.minDurationMs / 1000} s has not passed`] : []),
  ];
}

function finish(plan: RolloutPlan, before: RolloutState, { now }: Observation): Outcome {
  const gatesPassedAt = before.gatesPassedAt ?? now;
  const left = plan.bakeMs - (now - gatesPassedAt);
  if (left > 0)
    return waiting({ ...before, gatesPassedAt }, { reason: "Baking", message: "gates pass; bakeTime runs" }, now);
  const { moved, total } = before.composites;
  const state: RolloutState = { ...before, phase: "Succeeded", gatesPassedAt, shadowThreshold: 0, completedAt: now };
  const message = `${moved} of ${total} composite resources are on the candidate${summaryOf(before.gates)}`;
  return decided(state, now, { type: "Normal", reason: "RolloutSucceeded", message });
}

interface Failure {
  readonly plan: RolloutPlan;
  readonly reason: string;
  readonly message: string;
  /** What to do whatever the policy of the plan. */
  readonly policy?: RolloutPlan["failurePolicy"];
}

function fail(
  before: RolloutState,
  { now, composites }: Observation,
  { plan, reason, message, policy = plan.failurePolicy }: Failure,
): Outcome {
  const numbers = `${composites.candidate} of ${composites.total} composite resources were on the candidate`;
  const text = `${message} (${numbers})`;
  if (policy === "Pause" && before.phase !== "Pending") {
    const pauseToken = `${before.currentStep + 1}-${now.toString(36)}`;
    const paused: RolloutState = { ...hold(before, true, now), phase: "Paused", pauseToken };
    return decided(paused, now, { type: "Warning", reason, message: text });
  }
  const back: RolloutState = {
    ...before,
    phase: before.frozen.length === 0 ? "Failed" : "RollingBack",
    threshold: 0,
    shadowThreshold: 0,
    cohorts: [],
    stepStartedAt: now,
    heldSince: undefined,
    awaitingApproval: undefined,
    pauseToken: undefined,
    ...(before.frozen.length === 0 && { completedAt: now }),
  };
  return decided(back, now, { type: "Warning", reason, message: text });
}

function finishRollback(before: RolloutState, { now, leftBehind }: Observation): Outcome {
  const isOver = leftBehind === 0 || now - (before.stepStartedAt ?? now) >= rollbackMs;
  if (!isOver) return { state: before, decision: undefined };
  const rest = leftBehind === 0 ? "all composite resources are" : `all but ${leftBehind} composite resources are`;
  const state: RolloutState = { ...before, phase: "RolledBack", completedAt: now };
  const message = `${rest} back on the stable revision: ${before.reason}: ${before.message}`;
  const { decision, state: after } = decided(state, now, { type: "Warning", reason: "RolledBack", message });
  // The conditions keep saying why.
  return { decision, state: { ...after, reason: before.reason, message: before.message } };
}

function resume(plan: RolloutPlan, before: RolloutState, seen: Observation): Outcome {
  const { now, resumeToken } = seen;
  const gates = judgeAll(plan, before, seen);
  const isStopped = before.pauseToken !== undefined && before.pauseToken !== resumeToken;
  if (plan.isPaused || isStopped) return { state: { ...before, gates }, decision: undefined };
  const state: RolloutState = {
    ...hold(before, false, now),
    phase: "Progressing",
    pauseToken: undefined,
    // What failed before the pause does not count again.
    ...(before.pauseToken !== undefined && { stepStartedAt: now }),
    gates,
  };
  return decided(state, now, {
    type: "Normal",
    reason: "Resumed",
    message: `resumed at step ${before.currentStep + 1}`,
  });
}
