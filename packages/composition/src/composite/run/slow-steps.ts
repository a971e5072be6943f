// SPDX-License-Identifier: Apache-2.0

import type { RunStep } from "@purlin/function-runner";
import { writeStatus } from "@purlin/kube-controller";
import { isConflict, textOf } from "@purlin/kube-objects/errors";
import { conditionOf, conditionsOf, conditionTime, keyText, type ObjectKey } from "@purlin/kube-objects/object";
import { waitingForFunction } from "../../composite-resource/constants.ts";
import { type CompositeContext, stampFor } from "../context.ts";
import { statusAfter } from "../report/status-after.ts";
import { draftOf, type Outcome, writeOutcome } from "../report/status-baseline.ts";

/**
 * The last duration of each slow step of each XR. A function that is always slow is not worth two writes per reconcile: it is
 * reported again when it takes longer than usual.
 */
export interface StepDurations {
  /** Milliseconds that a step took when it last ran; 0 when it was not slow. */
  last(xr: ObjectKey, step: string): number;
  /** Remembers how long a step took, unless that is less than what counts as slow. */
  record(xr: ObjectKey, step: string, duration: { readonly ms: number; readonly longMs: number }): void;
  forget(xr: ObjectKey): void;
}

/** Remembers nothing of XRs whose functions answer soon. */
export function createStepDurations(): StepDurations {
  const durations = new Map<string, Map<string, number>>();
  return {
    last: (xr, step) => durations.get(keyText(xr))?.get(step) ?? 0,
    record(xr, step, { ms, longMs }) {
      const key = keyText(xr);
      const known = durations.get(key);
      if (ms >= longMs) durations.set(key, (known ?? new Map<string, number>()).set(step, ms));
      else if (known?.delete(step) && known.size === 0) durations.delete(key);
    },
    forget: (xr) => void durations.delete(keyText(xr)),
  };
}

/** A slow step is reported again when it takes this many times as long. */
const unusual = 2;

/** Runs steps, and reports slow ones on the XR. */
interface SlowStepReporter {
  readonly runStep: RunStep;
  /** Resolves when a report that is being written is stored. */
  settled(): Promise<void>;
}

/**
 * Sets the condition Synced of an XR to Unknown while a step has not been answered for a while: the deadline of a reconcile is minutes
 * away. The end of the reconcile sets it again. A step that is answered in time costs no write, and neither does one that takes
 * as long as it took the last time, unless the XR has changed since.
 */
export function reportSlowSteps(context: CompositeContext): SlowStepReporter {
  const { deps, settings, statusSignal, state, key, stored } = context;
  const { clock, log } = deps;
  const { slowStepMs: longMs } = settings;
  const xr = stored.object;
  const isNew = conditionOf(conditionsOf(xr), "Synced").observedGeneration !== xr.metadata.generation;
  // A reconcile request is handled when the reconcile ends.
  const open = { ...context, baseline: { ...context.baseline, handledRequest: undefined } };
  let reports = Promise.resolve();
  const report = async (message: string): Promise<void> => {
    if (statusSignal.aborted) return;
    const outcome = { conditions: [waitingForFunction(message)] };
    try {
      await writeOutcome(open, outcome).catch(async (error: unknown) => {
        if (!isConflict(error)) throw error;
        await writeOnNewest(open, outcome);
      });
    } catch (error) {
      log.debug("cannot report a slow step", { name: xr.metadata.name, error: textOf(error) });
    }
  };
  return {
    async runStep(reference, request, call) {
      const { step, functionName, function: image } = reference;
      const began = clock.now();
      const since = conditionTime(began);
      const patienceMs = isNew ? longMs : Math.max(longMs, unusual * state.durations.last(key, step));
      const cancel = clock.schedule(patienceMs, () => {
        const message = `waiting for Function "${functionName || image}" in pipeline step "${step}" since ${since}`;
        reports = reports.then(() => report(message));
      });
      try {
        return await deps.runStep(reference, request, call);
      } finally {
        cancel();
        state.durations.record(key, step, { ms: clock.now() - began, longMs });
      }
    },
    settled: () => reports,
  };
}

/**
 * Writes an outcome on an XR that has changed since it was read, such as one that its user edits while a function hangs. The reconcile
 * keeps the version that functions have seen, and conditions have the generation of that one.
 */
async function writeOnNewest(
  { deps, key, stored, baseline, statusSignal: signal }: CompositeContext,
  outcome: Outcome,
): Promise<void> {
  const seen = stored.object;
  const newest = await deps.client.get(deps.kind.type, key, { signal });
  if (newest === undefined || newest.metadata.uid !== seen.metadata.uid) return;
  const { rules } = baseline;
  const status = statusAfter(newest, draftOf(baseline, outcome), { rules, stamp: stampFor(seen, deps) });
  await writeStatus(deps.client, { before: newest, after: { ...newest, status }, signal });
}
