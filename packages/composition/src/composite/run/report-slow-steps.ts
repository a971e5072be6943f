// SPDX-License-Identifier: Apache-2.0

import type { RunStep } from "@purlin/function-runner";
import { conditionOf, conditionsOf, conditionTime, type KubeObject, textOf } from "@purlin/kube-objects/object";
import { waitingForFunction } from "../../composite-resource/standard-conditions.ts";
import { type Account, closeAccount } from "../account.ts";
import type { Pass } from "../pass.ts";

/** Runs steps, and reports on the XR those that take long. */
export interface SlowStepReporter {
  readonly runStep: RunStep;
  /** The XR as it was last stored, once a report that is under way has been written. */
  latest(): Promise<KubeObject>;
}

/** A step that took long is reported again when it takes this many times as long. */
const unusual = 2;

/**
 * Sets the condition Synced of an XR to Unknown while a step has not been answered for a while: the deadline of a reconcile is minutes
 * away. The end of the reconcile sets it again. A step that is answered in time costs no write, and neither does one that takes
 * as long as it took the last time, unless the XR has changed since.
 */
export function reportSlowSteps(xr: KubeObject, pass: Pass, account: Account): SlowStepReporter {
  const { ports, settings, statusSignal, state, key } = pass;
  const { clock, log } = ports;
  const { slowStepMs: longMs } = settings;
  const isNew = conditionOf(conditionsOf(xr), "Synced").observedGeneration !== xr.metadata.generation;
  let latest = Promise.resolve(xr);
  const report = async (before: KubeObject, message: string): Promise<KubeObject> => {
    if (statusSignal.aborted) return before;
    try {
      // The request is handled when the reconcile ends.
      const open = { ...account, handledRequest: undefined };
      return await closeAccount(before, pass, open, { conditions: [waitingForFunction(message)] });
    } catch (error) {
      // A conflict means that the XR has changed: the next reconcile reports.
      log.debug("cannot report a slow step", { name: before.metadata.name, error: textOf(error) });
      return before;
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
        latest = latest.then((before) => report(before, message));
      });
      try {
        return await ports.runStep(reference, request, call);
      } finally {
        cancel();
        state.durations.record(key, step, { ms: clock.now() - began, longMs });
      }
    },
    latest: () => latest,
  };
}
