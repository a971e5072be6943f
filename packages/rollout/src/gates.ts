// SPDX-License-Identifier: Apache-2.0

import type { Gate } from "./plan.ts";

/** The calls of one revision. */
export interface CallNumbers {
  readonly calls: number;
  /** Calls that failed. Fatal results are not among them. */
  readonly errors: number;
  readonly fatals: number;
  /** Undefined without calls. */
  readonly p95Ms: number | undefined;
}

/** Conditions of composite resources by type: how many have the wanted status. */
export interface SideNumbers {
  readonly total: number;
  has(condition: string, status: string): number;
}

/** The composite resources whose desired states were compared in shadow, by their worst difference. */
export interface ShadowNumbers {
  readonly compared: number;
  readonly deleted: number;
  readonly replaced: number;
  readonly changed: number;
  readonly failed: number;
  /** Names of composite resources with a difference of a kind, the first few. */
  readonly examples: (kind: "delete" | "replace" | "change" | "failed") => readonly string[];
}

/** The result of a check outside of the control plane; undefined while there is none. */
export type ExternalNumber =
  | { readonly value: number }
  | { readonly passed: boolean; readonly message: string }
  | { readonly unknown: string };

/** Everything that gates judge. */
export interface GateSamples {
  readonly now: number;
  readonly stepStartedAt: number;
  /** Whether the step shadows composite resources. */
  readonly isShadowStep: boolean;
  /** Whether an earlier step or this one shadowed. */
  readonly hasShadowed: boolean;
  /** Whether any composite resource is on the candidate. */
  readonly members: number;
  /** Members that the candidate has not reconciled yet. */
  readonly pendingMoves: number;
  /** Composite resources that a shadow step has to compare and that have no report yet. */
  readonly pendingShadows: number;
  readonly candidateCalls: (sinceMs: number) => CallNumbers;
  readonly stableCalls: (sinceMs: number) => CallNumbers;
  /** The p95 of the stable revision when the step began: in the last step it is no longer called. */
  readonly stableP95Ms?: number | undefined;
  readonly moved: SideNumbers;
  readonly stayed: SideNumbers;
  readonly shadow: ShadowNumbers | undefined;
  /** For how long this process has looked at the rollout. */
  readonly watchedMs: number;
  /** The health of the runtime of the candidate, and for how long this process has seen it like that. */
  readonly runtime: {
    readonly status: "True" | "False" | "Unknown";
    readonly forMs: number;
    readonly message: string;
    /** How often the runtimes went down in the last milliseconds. */
    readonly outages: (withinMs: number) => { readonly candidate: number; readonly stable: number };
  };
  readonly external: (gate: Gate) => ExternalNumber | undefined;
}

/** The result of a gate. Unknown is not success. */
export interface GateResult {
  readonly name: string;
  readonly result: "Passed" | "Failed" | "Unknown";
  readonly message: string;
  readonly sample: number;
}

type Verdict = Omit<GateResult, "name">;

/** Judges one gate. */
export function judge(gate: Gate, samples: GateSamples): GateResult {
  return { name: gate.name, ...judges[gate.type](gate, samples) };
}

const judges: Readonly<Record<Gate["type"], (gate: Gate, samples: GateSamples) => Verdict>> = {
  RuntimeHealthy: runtimeHealth,
  FunctionErrors: (gate, samples) => callRatio(gate, samples, ({ errors, fatals }) => errors + fatals),
  FatalResults: (gate, samples) => callRatio(gate, samples, ({ fatals }) => fatals),
  CompositeCondition: compositeCondition,
  DesiredDiff: desiredDiff,
  CallDuration: callDuration,
  Prometheus: externalNumber,
  Webhook: externalNumber,
};

function passed(message: string, sample: number): Verdict {
  return { result: "Passed", message, sample };
}

function failed(message: string, sample: number): Verdict {
  return { result: "Failed", message, sample };
}

function unknown(message: string, sample = 0): Verdict {
  return { result: "Unknown", message, sample };
}

const notMoved = "no composite resource is on the candidate yet";

/** A function that restarts is given a moment. */
const restartMs = 30_000;

/** One that goes down this often fails, although it comes back each time: it leaks memory, for example. */
const outageLimit = 3;

function runtimeHealth({ windowMs }: Gate, { runtime, now, stepStartedAt }: GateSamples): Verdict {
  const { status, forMs, message } = runtime;
  const outages = runtime.outages(Math.min(windowMs, now - stepStartedAt));
  const cause = message === "" ? "" : `: ${message}`;
  if (outages.candidate >= outageLimit) {
    const text = `the candidate went down ${outages.candidate} times (stable: ${outages.stable})${cause}`;
    // What takes both down is not the fault of the candidate, but no proof of its health either.
    return outages.candidate > outages.stable ? failed(text, outages.candidate) : unknown(text);
  }
  if (status === "True") return passed("the candidate is healthy", 1);
  const text = `the candidate is not healthy${cause}`;
  const isLasting = status === "False" && forMs >= restartMs;
  return isLasting ? failed(`${text} (for ${Math.round(forMs / 1000)} s)`, 1) : unknown(text);
}

function callRatio(gate: Gate, samples: GateSamples, failures: (calls: CallNumbers) => number): Verdict {
  if (samples.members === 0) return beforeMoves(samples);
  const since = Math.max(samples.now - gate.windowMs, samples.stepStartedAt);
  const candidate = samples.candidateCalls(since);
  const stable = samples.stableCalls(since);
  const [bad, stableBad] = [failures(candidate), failures(stable)];
  const limit = gate.limits.maxRatio ?? 0;
  const text = `candidate ${percent(bad, candidate.calls)}, stable ${percent(stableBad, stable.calls)}, allowed ${inPercent(limit)} %`;
  const ratio = ratioOf(bad, candidate.calls);
  if (candidate.calls < gate.minSample)
    return unknown(`${candidate.calls} of ${gate.minSample} calls`, candidate.calls);
  if (ratio <= limit) return passed(text, candidate.calls);
  // What is broken on both sides is not the fault of the candidate, but no proof of its health either.
  if (ratio <= ratioOf(stableBad, stable.calls)) return unknown(text, candidate.calls);
  return failed(text, candidate.calls);
}

/** Gates about calls have nothing to judge before the first composite resource moves: a shadow step is left without them. */
function beforeMoves({ isShadowStep }: GateSamples): Verdict {
  return isShadowStep ? passed("nothing has moved in a shadow step", 0) : unknown(notMoved);
}

function compositeCondition(gate: Gate, samples: GateSamples): Verdict {
  const { moved, stayed, pendingMoves, now, stepStartedAt, watchedMs } = samples;
  if (samples.members === 0) return beforeMoves(samples);
  const good = moved.has(gate.condition, gate.status);
  const stayedGood = stayed.has(gate.condition, gate.status);
  const sides = `moved ${percent(good, moved.total)}, stayed ${percent(stayedGood, stayed.total)}`;
  const limit = gate.limits.minRatio ?? 1;
  const text = `${gate.condition}=${gate.status}: ${sides}, wanted ${inPercent(limit)} %`;
  const ratio = ratioOf(good, moved.total);
  const stayedRatio = stayed.total === 0 ? 1 : ratioOf(stayedGood, stayed.total);
  if (moved.total < gate.minSample)
    return unknown(`${moved.total} of ${gate.minSample} composite resources`, moved.total);
  if (pendingMoves > 0) return unknown(`${pendingMoves} composite resources have not moved yet`, moved.total);
  if (ratio >= limit) return passed(text, moved.total);
  // A control plane that was just started may have started its functions, too: composite resources get the same time again.
  const isEarly = Math.min(now - stepStartedAt, watchedMs) < gate.withinMs;
  if (isEarly || ratio >= stayedRatio) return unknown(text, moved.total);
  return failed(text, moved.total);
}

function desiredDiff(gate: Gate, { shadow, isShadowStep, hasShadowed, pendingShadows }: GateSamples): Verdict {
  if (!hasShadowed) return passed("no shadow step yet", 0);
  if (shadow === undefined) return isShadowStep ? unknown("no shadow report yet") : passed("no shadow report", 0);
  const { compared, deleted, replaced, changed, failed: errors } = shadow;
  const counts = `${compared} compared: ${deleted} delete, ${replaced} replace, ${changed} change, ${errors} fail`;
  // Nothing has moved yet, so there is time for a complete report.
  if (isShadowStep && pendingShadows > 0) return unknown(`${counts}; ${pendingShadows} not compared yet`, compared);
  const { limits } = gate;
  const checks = [
    [
      "delete",
      deleted,
      limits.maxDeleted ?? (limits.maxDeletedRatio === undefined ? 0 : undefined),
      limits.maxDeletedRatio,
    ],
    ["replace", replaced, limits.maxReplaced, limits.maxReplacedRatio],
    ["change", changed, limits.maxChanged, limits.maxChangedRatio],
    ["failed", errors, 0, undefined],
  ] as const;
  for (const [kind, number, most, ratio] of checks) {
    const isTooMany = number > (most ?? Infinity) || ratioOf(number, compared) > (ratio ?? 1);
    if (isTooMany && compared >= gate.minSample) {
      const names = shadow.examples(kind);
      return failed(`${counts}; ${kind}: ${names.join(", ")}${number > names.length ? ", …" : ""}`, compared);
    }
  }
  if (!isShadowStep) return passed(counts, compared);
  if (compared < gate.minSample) return unknown(`${compared} of ${gate.minSample} compared`, compared);
  return passed(counts, compared);
}

function callDuration(gate: Gate, samples: GateSamples): Verdict {
  if (samples.members === 0) return beforeMoves(samples);
  const since = Math.max(samples.now - gate.windowMs, samples.stepStartedAt);
  const candidate = samples.candidateCalls(since);
  const stable = samples.stableCalls(since);
  if (candidate.p95Ms === undefined || candidate.calls < gate.minSample) {
    return unknown(`${candidate.calls} of ${gate.minSample} calls`, candidate.calls);
  }
  const { p95 = Infinity, maxIncrease } = gate.limits;
  const stableMs = stable.p95Ms ?? samples.stableP95Ms;
  if (maxIncrease !== undefined && stableMs === undefined)
    return unknown("no calls of the stable revision to compare with", candidate.calls);
  const most = Math.min(p95, maxIncrease === undefined ? Infinity : (stableMs ?? 0) * (1 + maxIncrease));
  const compared = stableMs === undefined ? "" : `, stable ${round(stableMs)} ms`;
  const text = `p95 candidate ${round(candidate.p95Ms)} ms${compared}, allowed ${round(most)} ms`;
  return candidate.p95Ms > most ? failed(text, candidate.calls) : passed(text, candidate.calls);
}

function externalNumber(gate: Gate, samples: GateSamples): Verdict {
  const answer = samples.external(gate);
  if (answer === undefined) return unknown("not asked yet");
  if ("unknown" in answer) return unknown(answer.unknown);
  if ("passed" in answer) return answer.passed ? passed(answer.message, 1) : failed(answer.message, 1);
  const { min = -Infinity, max = Infinity } = gate.limits;
  const range = `${min === -Infinity ? "" : `from ${min} `}${max === Infinity ? "" : `to ${max}`}`.trim();
  const text = `result ${answer.value}, wanted ${range}`;
  return answer.value >= min && answer.value <= max ? passed(text, 1) : failed(text, 1);
}

function ratioOf(part: number, whole: number): number {
  return whole === 0 ? 0 : part / whole;
}

/** Without the digits that binary fractions add: 0.07 is 7 %. */
function inPercent(ratio: number): number {
  return Number((ratio * 100).toFixed(6));
}

function percent(part: number, whole: number): string {
  return `${(ratioOf(part, whole) * 100).toFixed(1)} % (${part} of ${whole})`;
}

function round(ms: number): number {
  return Math.round(ms * 10) / 10;
}
