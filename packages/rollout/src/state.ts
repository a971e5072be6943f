// SPDX-License-Identifier: Apache-2.0

import { bucketCount, type RolloutPhase, readRollout } from "@purlin/function-runner";
import { isJsonObject, type JsonObject, type JsonValue } from "@purlin/kube-objects/json";
import { memberAt, numberAt, objectAt, objectsAt, stringAt, textAt, textsAt } from "@purlin/kube-objects/object";
import type { GateResult } from "./gates.ts";
import type { Labels } from "./plan.ts";

/** Numbers of composite resources. */
export interface CompositeNumbers {
  readonly total: number;
  /** Those that the rules place on the candidate. */
  readonly candidate: number;
  /** Those that the candidate has reconciled. */
  readonly moved: number;
  readonly healthy: number;
  readonly unhealthy: number;
}

/** The revisions of one function, or of the Composition. */
export interface FrozenSides {
  readonly name: string;
  readonly stable: string;
  /** Empty until there is one. */
  readonly candidate: string;
}

/** A decision, for the history. */
interface HistoryEntry {
  readonly time: number;
  readonly step: number;
  readonly decision: string;
  readonly message: string;
  readonly composites: CompositeNumbers;
}

/** The state of a rollout: everything of its status that the next decision depends on. */
export interface RolloutState {
  readonly phase: RolloutPhase;
  readonly currentStep: number;
  readonly frozen: readonly FrozenSides[];
  readonly threshold: number;
  readonly shadowThreshold: number;
  readonly cohorts: readonly Labels[];
  readonly startedAt: number | undefined;
  readonly stepStartedAt: number | undefined;
  /** Since when the last step is done and its gates pass. */
  readonly gatesPassedAt: number | undefined;
  readonly heldSince: number | undefined;
  readonly deadlineAt: number | undefined;
  readonly completedAt: number | undefined;
  readonly awaitingApproval: string | undefined;
  readonly approvedSteps: readonly string[];
  /** The p95 of the stable revision when the step began, where a gate needs it. */
  readonly stableP95Ms: number | undefined;
  /** Set while a failed gate pauses the rollout. */
  readonly pauseToken: string | undefined;
  /** Why the rollout waits or ended, as a reason and a text. */
  readonly reason: string;
  readonly message: string;
  readonly gates: readonly GateResult[];
  readonly composites: CompositeNumbers;
  readonly history: readonly HistoryEntry[];
}

/** No composite resources. */
const noComposites: CompositeNumbers = { total: 0, candidate: 0, moved: 0, healthy: 0, unhealthy: 0 };

/** The state of a rollout that has not been looked at yet. */
const firstState: RolloutState = {
  phase: "Pending",
  currentStep: 0,
  frozen: [],
  threshold: 0,
  shadowThreshold: 0,
  cohorts: [],
  startedAt: undefined,
  stepStartedAt: undefined,
  gatesPassedAt: undefined,
  heldSince: undefined,
  deadlineAt: undefined,
  completedAt: undefined,
  awaitingApproval: undefined,
  approvedSteps: [],
  stableP95Ms: undefined,
  pauseToken: undefined,
  reason: "Pending",
  message: "",
  gates: [],
  composites: noComposites,
  history: [],
};

/** Decisions that the status keeps. */
const historyLimit = 30;

/** The state with one more decision in its history. */
export function withHistory(
  state: RolloutState,
  time: number,
  decision: { reason: string; message: string },
): RolloutState {
  const entry = {
    time,
    step: state.currentStep,
    decision: decision.reason,
    message: decision.message,
    composites: state.composites,
  };
  return { ...state, history: [...state.history, entry].slice(-historyLimit) };
}

/** Whether the rollout has ended. */
export function isEnded({ phase }: Pick<RolloutState, "phase">): boolean {
  return phase === "Succeeded" || phase === "RolledBack" || phase === "Failed";
}

/** Reads the state from a rollout. */
export function readState(rollout: JsonObject): RolloutState {
  const status = objectAt(rollout, ["status"]);
  if (Object.keys(status).length === 0) return firstState;
  const { phase, threshold, shadowThreshold, cohorts } = readRollout(rollout);
  const ready = objectsAt(status, ["conditions"]).find((one) => one["type"] === "Progressing");
  return {
    phase,
    threshold: Math.min(threshold, bucketCount),
    shadowThreshold,
    cohorts,
    currentStep: numberAt(status, ["currentStep"]),
    frozen: frozenOf(rollout, status),
    startedAt: timeAt(status, "startedAt"),
    stepStartedAt: timeAt(status, "stepStartedAt"),
    gatesPassedAt: timeAt(status, "gatesPassedAt"),
    heldSince: timeAt(status, "heldSince"),
    deadlineAt: timeAt(status, "deadlineAt"),
    completedAt: timeAt(status, "completedAt"),
    awaitingApproval: textAt(status, ["awaitingApproval"]),
    approvedSteps: textsAt(status, ["approvedSteps"]),
    stableP95Ms: typeof status["stableP95Ms"] === "number" ? status["stableP95Ms"] : undefined,
    pauseToken: textAt(status, ["pauseToken"]),
    reason: ready === undefined ? "Pending" : stringAt(ready, ["reason"]),
    message: ready === undefined ? "" : stringAt(ready, ["message"]),
    gates: objectsAt(status, ["gates"]).map(gateOf),
    composites: numbersOf(status),
    history: objectsAt(status, ["history"]).map((entry) => ({
      time: timeAt(entry, "time") ?? 0,
      step: numberAt(entry, ["step"]),
      decision: stringAt(entry, ["decision"]),
      message: stringAt(entry, ["message"]),
      composites: numbersOf(entry),
    })),
  };
}

function timeAt(object: JsonObject, field: string): number | undefined {
  const value = Date.parse(stringAt(object, [field]));
  return Number.isNaN(value) ? undefined : value;
}

function gateOf(gate: JsonObject): GateResult {
  const result = stringAt(gate, ["result"]);
  return {
    name: stringAt(gate, ["name"]),
    result: result === "Passed" || result === "Failed" ? result : "Unknown",
    message: stringAt(gate, ["message"]),
    sample: numberAt(gate, ["sample"]),
  };
}

function numbersOf(object: JsonObject): CompositeNumbers {
  const numbers = objectAt(object, ["composites"]);
  const at = (field: keyof CompositeNumbers): number => numberAt(numbers, [field]);
  return {
    total: at("total"),
    candidate: at("candidate"),
    moved: at("moved"),
    healthy: at("healthy"),
    unhealthy: at("unhealthy"),
  };
}

function frozenOf(rollout: JsonObject, status: JsonObject): readonly FrozenSides[] {
  const composition = textAt(rollout, ["spec", "compositionRef", "name"]);
  const sides = (object: JsonObject, name: string): FrozenSides => ({
    name,
    stable: stringAt(object, ["stableRevision"]),
    candidate: stringAt(object, ["candidateRevision"]),
  });
  if (composition !== undefined) return stringAt(status, ["stableRevision"]) === "" ? [] : [sides(status, composition)];
  const functions = memberAt(status, ["functions"]);
  return (Array.isArray(functions) ? functions : [])
    .filter(isJsonObject)
    .map((one) => sides(one, stringAt(one, ["name"])));
}

/** The status fields of a state. Conditions are not among them. */
export function statusFields(
  state: RolloutState,
  options: { readonly isComposition: boolean; readonly generation: number },
): JsonObject {
  const [first] = state.frozen;
  const names = (one: FrozenSides): JsonObject => ({
    stableRevision: one.stable,
    ...(one.candidate !== "" && { candidateRevision: one.candidate }),
  });
  const cohorts = state.cohorts.map((matchLabels) => ({ matchLabels: { ...matchLabels } }));
  return pruned({
    phase: state.phase,
    observedGeneration: options.generation,
    currentStep: state.currentStep,
    ...(first && names(first)),
    functions: options.isComposition ? undefined : state.frozen.map((one) => ({ name: one.name, ...names(one) })),
    membership: { threshold: state.threshold, shadowThreshold: state.shadowThreshold, cohorts },
    composites: { ...state.composites },
    gates: state.gates.map((gate) => ({ ...gate })),
    awaitingApproval: state.awaitingApproval,
    approvedSteps: state.approvedSteps.length > 0 ? [...state.approvedSteps] : undefined,
    stableP95Ms: state.stableP95Ms,
    pauseToken: state.pauseToken,
    startedAt: timeText(state.startedAt),
    stepStartedAt: timeText(state.stepStartedAt),
    gatesPassedAt: timeText(state.gatesPassedAt),
    heldSince: timeText(state.heldSince),
    deadlineAt: timeText(state.deadlineAt),
    completedAt: timeText(state.completedAt),
    history: state.history.map(({ time, composites, ...rest }) => ({
      time: timeText(time),
      ...rest,
      composites: { ...composites },
    })),
  });
}

/** The times that a status can have: those of the years 1 to 9999. Sums with times of a forged status may lie outside. */
const [earliest, latest] = [Date.parse("0001-01-01T00:00:00.000Z"), Date.parse("9999-12-31T23:59:59.999Z")];

function timeText(time: number | undefined): string | undefined {
  return time === undefined ? undefined : new Date(Math.min(Math.max(time, earliest), latest)).toISOString();
}

function pruned(fields: Readonly<Record<string, unknown>>): JsonObject {
  const kept = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(kept) as Record<string, JsonValue>;
}
