// SPDX-License-Identifier: Apache-2.0

import { parseCron, parseGoDuration } from "@purlin/base";
import { bucketCount } from "@purlin/function-runner";
import { repeatsIn } from "@purlin/kube-objects/errors";
import { isJsonObject, type JsonObject } from "@purlin/kube-objects/json";
import { memberAt, numberAt, objectAt, stringAt, textAt, textMapAt } from "@purlin/kube-objects/object";

/** The labels that an object must all have. */
export type Labels = Readonly<Record<string, string>>;

/** When steps may begin. */
interface MaintenanceWindow {
  readonly text: string;
  isOpen(now: number): boolean;
}

/** One step of a rollout. */
export interface PlanStep {
  readonly name: string;
  /** How many buckets are shadowed; 0 for none. */
  readonly shadowThreshold: number;
  /** Undefined when the step leaves the percentage as it is. */
  readonly percent?: number | undefined;
  readonly cohort?: Labels | undefined;
  readonly needsApproval: boolean;
  readonly minDurationMs: number;
  readonly window?: MaintenanceWindow | undefined;
}

/** The types of gates. */
type GateType =
  | "RuntimeHealthy"
  | "FunctionErrors"
  | "FatalResults"
  | "CompositeCondition"
  | "DesiredDiff"
  | "CallDuration"
  | "Prometheus"
  | "Webhook";

/** A gate with its defaults. */
export interface Gate {
  readonly name: string;
  readonly type: GateType;
  readonly windowMs: number;
  readonly withinMs: number;
  readonly minSample: number;
  readonly intervalMs: number;
  readonly condition: string;
  readonly status: string;
  readonly url: string;
  readonly query: string;
  /** Limits by the name of their field; absent ones do not apply. */
  readonly limits: Readonly<Partial<Record<GateLimit, number>>>;
}

const limitFields = [
  "maxRatio",
  "minRatio",
  "maxDeleted",
  "maxReplaced",
  "maxChanged",
  "maxDeletedRatio",
  "maxReplacedRatio",
  "maxChangedRatio",
  "maxIncrease",
  "min",
  "max",
] as const;

/** The name of a limit. */
type GateLimit = (typeof limitFields)[number] | "p95";

/** What a rollout is to do. */
export interface RolloutPlan {
  /** The Functions that move together; empty for a Composition. */
  readonly functions: readonly string[];
  readonly composition: string | undefined;
  readonly compositionLabels: Labels;
  readonly canary: Labels | undefined;
  readonly steps: readonly PlanStep[];
  readonly gates: readonly Gate[];
  readonly failurePolicy: "Rollback" | "Pause";
  readonly deadlineMs: number;
  readonly bakeMs: number;
  readonly isPaused: boolean;
  /** Why the rollout cannot be carried out; undefined when it can. */
  readonly problem: string | undefined;
}

const minuteMs = 60_000;

/** Reads the spec of a rollout. What the schema refuses is not checked again. */
export function readPlan(rollout: JsonObject): RolloutPlan {
  const spec = objectAt(rollout, ["spec"]);
  const problems: string[] = [];
  const window = windowOf(spec, "spec.window", problems);
  const list = memberAt(spec, ["steps"]);
  const steps = (Array.isArray(list) ? list.filter(isJsonObject) : []).map((step, index) =>
    stepOf(step, { index, window, problems }),
  );
  const composition = textAt(spec, ["compositionRef", "name"]);
  const one = textAt(spec, ["functionRef", "name"]);
  const refs = memberAt(spec, ["functionRefs"]);
  const functions = one === undefined ? (Array.isArray(refs) ? refs.filter(isJsonObject).map(nameOf) : []) : [one];
  const canary = textMapAt(spec, ["compositeSelector", "matchLabels"]);
  const plan = {
    functions,
    composition,
    compositionLabels: textMapAt(spec, ["compositionSelector", "matchLabels"]) ?? {},
    canary: canary !== undefined && Object.keys(canary).length > 0 ? canary : undefined,
    steps,
    gates: gatesOf(spec, composition !== undefined),
    failurePolicy: spec["failurePolicy"] === "Pause" ? ("Pause" as const) : ("Rollback" as const),
    deadlineMs: durationAt(spec, "progressDeadline", 120 * minuteMs),
    bakeMs: durationAt(spec, "bakeTime", 0),
    isPaused: spec["paused"] === true,
  };
  return { ...plan, problem: problems[0] ?? nameProblem(steps) ?? deadlineProblem(plan) };
}

function nameOf(ref: JsonObject): string {
  return stringAt(ref, ["name"]);
}

function durationAt(object: JsonObject, field: string, otherwise: number): number {
  return parseGoDuration(stringAt(object, [field])) ?? otherwise;
}

/** An approval names one step. */
function nameProblem(steps: readonly PlanStep[]): string | undefined {
  const names = steps.map(({ name }) => name);
  const isRepeated = repeatsIn(names);
  const twice = names.find((_, index) => isRepeated(index));
  return twice === undefined ? undefined : `spec.steps: two steps are named "${twice}": rename one of them`;
}

function deadlineProblem(plan: Pick<RolloutPlan, "steps" | "deadlineMs" | "bakeMs">): string | undefined {
  const least = plan.steps.reduce((sum, { minDurationMs }) => sum + minDurationMs, plan.bakeMs);
  if (least < plan.deadlineMs) return undefined;
  const texts = `${plan.deadlineMs / 1000} s, and the steps and bakeTime take at least ${least / 1000} s`;
  return `spec.progressDeadline can never be met: it is ${texts}`;
}

interface StepContext {
  readonly index: number;
  readonly window: MaintenanceWindow | undefined;
  readonly problems: string[];
}

function stepOf(step: JsonObject, { index, window, problems }: StepContext): PlanStep {
  const { percent, shadow, pause, approval } = step;
  const share = numberAt(step, ["shadowPercent"]) || 100;
  return {
    name: textAt(step, ["name"]) ?? `step-${index + 1}`,
    shadowThreshold: shadow === true ? share * (bucketCount / 100) : 0,
    percent: typeof percent === "number" ? percent : undefined,
    cohort: textMapAt(step, ["cohort", "matchLabels"]),
    needsApproval: pause === true || approval === "Manual",
    minDurationMs: durationAt(step, "minDuration", 0),
    window: windowOf(step, `spec.steps[${index}].window`, problems) ?? window,
  };
}

function windowOf(object: JsonObject, path: string, problems: string[]): MaintenanceWindow | undefined {
  const window = memberAt(object, ["window"]);
  if (!isJsonObject(window)) return undefined;
  const schedule = stringAt(window, ["schedule"]);
  const zone = stringAt(window, ["timeZone"]);
  const text = `${schedule}${zone === "" ? "" : ` ${zone}`} for ${stringAt(window, ["duration"])}`;
  const length = durationAt(window, "duration", 0);
  try {
    const cron = parseCron(schedule, zone);
    return { text, isOpen: (now) => cron.last({ after: now - length, until: now }) !== undefined };
  } catch (error) {
    const where = `${path}.schedule ${JSON.stringify(schedule)}${zone === "" ? "" : `, timeZone ${JSON.stringify(zone)}`}`;
    problems.push(`${where}: ${error instanceof Error ? error.message : String(error)}`);
    return { text, isOpen: () => false };
  }
}

const functionGates: readonly JsonObject[] = [
  { type: "RuntimeHealthy" },
  { type: "FunctionErrors", maxRatio: "0.01" },
  { type: "CompositeCondition", condition: "Synced", minRatio: "0.99" },
];
const compositionGates: readonly JsonObject[] = functionGates.slice(2);
const shadowGate: JsonObject = { type: "DesiredDiff", maxDeleted: 0, maxReplaced: 0 };

function gatesOf(spec: JsonObject, isComposition: boolean): readonly Gate[] {
  const written = memberAt(spec, ["healthGates"]);
  const steps = memberAt(spec, ["steps"]);
  const isShadowed = Array.isArray(steps) && steps.some((step) => isJsonObject(step) && step["shadow"] === true);
  const defaults = isComposition ? compositionGates : [...functionGates, ...(isShadowed ? [shadowGate] : [])];
  const gates = Array.isArray(written) ? written.filter(isJsonObject) : defaults;
  const names = new Set<string>();
  return gates.map((gate, index) => {
    const wanted = textAt(gate, ["name"]) ?? stringAt(gate, ["type"]);
    let name = wanted;
    for (let number = index + 1; names.has(name); number++) name = `${wanted}-${number}`;
    names.add(name);
    return gateOf(gate, name);
  });
}

function gateOf(gate: JsonObject, name: string): Gate {
  const limits: Partial<Record<GateLimit, number>> = {};
  for (const field of limitFields) {
    const value = gate[field];
    if (typeof value === "number" || (typeof value === "string" && value !== "")) limits[field] = Number(value);
  }
  const p95 = parseGoDuration(stringAt(gate, ["p95"]));
  if (p95 !== undefined) limits.p95 = p95;
  return {
    name,
    type: stringAt(gate, ["type"]) as GateType,
    windowMs: durationAt(gate, "window", 10 * minuteMs),
    withinMs: durationAt(gate, "within", 5 * minuteMs),
    minSample: numberAt(gate, ["minSample"]) || 1,
    intervalMs: durationAt(gate, "interval", 30_000),
    condition: stringAt(gate, ["condition"]),
    status: textAt(gate, ["status"]) ?? "True",
    url: stringAt(gate, ["url"]),
    query: stringAt(gate, ["query"]),
    limits,
  };
}
