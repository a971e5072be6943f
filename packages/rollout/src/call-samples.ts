// SPDX-License-Identifier: Apache-2.0

import { Severity } from "@purlin/function-protocol";
import { type FunctionRunner, observing } from "@purlin/function-runner";
import type { CallNumbers } from "./gates.ts";

type CallResult = "ok" | "error" | "fatal";

interface Call {
  /** When it ended. */
  readonly at: number;
  readonly result: CallResult;
  readonly ms: number;
  /** Whether a cache answered: its time is not a measure of the function. */
  readonly isCached?: boolean;
}

/** A call of a function for a composite resource. */
interface FunctionCall extends Call {
  readonly functionName: string;
  /** The uid of the composite resource. */
  readonly composite: string | undefined;
}

/** The calls of functions of this process, for gates. Bounded: the last calls of the last revisions. */
export interface CallSamples {
  record(revision: string, call: FunctionCall): void;
  /** A revision that a rollout chose could not be called. */
  unresolved(revision: string): void;
  numbers(revisions: readonly string[], since: number): CallNumbers;
  /** The revision of the function that last ran for a composite resource in this process. */
  lastRevision(functionName: string, composite: string): string | undefined;
}

const maxCalls = 5000;
const maxRevisions = 64;
const maxComposites = 100_000;

/** Samples of calls, empty at first. */
export function createCallSamples(now: () => number): CallSamples {
  const calls = new Map<string, Call[]>();
  const last = new Map<string, string>();
  const add = (revision: string, call: Call): void => {
    const known = calls.get(revision) ?? [];
    known.push(call);
    // Half of them at a time, so that no call pays for moving all of them.
    if (known.length >= 2 * maxCalls) known.splice(0, known.length - maxCalls);
    calls.delete(revision);
    calls.set(revision, known);
    forgetOldest(calls, maxRevisions);
  };
  return {
    record(revision, { functionName, composite, ...call }) {
      add(revision, call);
      if (composite === undefined || call.result === "error") return;
      const key = `${functionName}/${composite}`;
      last.delete(key);
      last.set(key, revision);
      forgetOldest(last, maxComposites);
    },
    unresolved: (revision) => add(revision, { at: now(), result: "error", ms: 0 }),
    numbers: (revisions, since) =>
      numbersOf(revisions.flatMap((one) => callsBetween(calls.get(one) ?? [], since, now()))),
    lastRevision: (functionName, composite) => last.get(`${functionName}/${composite}`),
  };
}

function forgetOldest(map: Map<string, unknown>, most: number): void {
  if (map.size <= most) return;
  const [oldest] = map.keys();
  if (oldest !== undefined) map.delete(oldest);
}

/**
 * Calls that began since then: one that was on its way belongs to what was before. A call from the future was made before the clock went
 * back.
 */
function callsBetween(calls: readonly Call[], since: number, now: number): readonly Call[] {
  const ended = calls.slice(calls.findLastIndex(({ at }) => at < since) + 1);
  return ended.filter(({ at, ms }) => at - ms >= since && at <= now);
}

function numbersOf(calls: readonly Call[]): CallNumbers {
  const count = (result: CallResult): number => calls.filter((call) => call.result === result).length;
  const durations = calls
    .filter(({ isCached }) => isCached !== true)
    .map(({ ms }) => ms)
    .sort((a, b) => a - b);
  return {
    calls: calls.length,
    errors: count("error"),
    fatals: count("fatal"),
    p95Ms: durations[Math.max(0, Math.ceil(durations.length * 0.95) - 1)],
  };
}

/** A runner that samples the calls of revisions that a rollout chose. Others cost nothing. */
export function sampledRunner(
  next: FunctionRunner,
  samples: CallSamples,
  clock: { readonly now: () => number },
): FunctionRunner {
  return {
    async run(target, request, call) {
      if (target.isRolledOut !== true) return next.run(target, request, call);
      const context = call.trace?.context;
      const composite = context?.case === "compositionMeta" ? context.value.compositeResourceUid : undefined;
      const { functionName, revisionName } = target;
      const start = performance.now();
      let isCached = false;
      const observer = observing(call, () => {
        isCached = true;
      });
      const record = (result: CallResult): void => {
        const ms = performance.now() - start;
        samples.record(revisionName, { at: clock.now(), result, ms, isCached, composite, functionName });
      };
      try {
        const response = await next.run(target, request, { ...call, observer });
        record(response.results.some(({ severity }) => severity === Severity.SEVERITY_FATAL) ? "fatal" : "ok");
        return response;
      } catch (error) {
        record("error");
        throw error;
      }
    },
  };
}
