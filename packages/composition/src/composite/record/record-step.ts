// SPDX-License-Identifier: Apache-2.0

import type { RunFunctionRequest } from "@purlin/function-protocol";
import type { CallObserver, FunctionReference, FunctionTarget, RunCall, RunStep } from "@purlin/function-runner";
import { textOf } from "@purlin/kube-objects/errors";
import type { CallRecord, StepRecord } from "@purlin/run-store";

interface StepCall {
  readonly request: RunFunctionRequest;
  readonly call: RunCall;
  /** Takes over the record; without it nothing is recorded. */
  readonly record: ((step: StepRecord) => void) | undefined;
}

/** Runs a step, and records each call of its function. */
export async function recordStep(
  runStep: RunStep,
  reference: FunctionReference,
  { request, call, record }: StepCall,
): ReturnType<RunStep> {
  if (record === undefined) return runStep(reference, request, call);
  const calls = new StepCalls();
  const began = performance.now();
  const end = (more: Pick<StepRecord, "error">): void => {
    const { name = "", index = 0 } = call.step ?? {};
    const durationMs = Math.round((performance.now() - began) * 10) / 10;
    record({ index, name, durationMs, ...calls.facts(reference), ...more });
  };
  try {
    const run = await runStep(reference, request, { ...call, observer: calls });
    calls.answered(run.target, { request, response: run.response });
    end({});
    return run;
  } catch (error) {
    end({ error: textOf(error) });
    throw error;
  }
}

class StepCalls implements CallObserver {
  readonly #calls: CallRecord[] = [];
  #target: FunctionTarget | undefined;
  #isCached = false;

  called: CallObserver["called"] = (target, request) => {
    this.#target = target;
    const at = this.#calls.push({ request }) - 1;
    return (response) => {
      this.#calls[at] = { request, response };
    };
  };

  cached: CallObserver["cached"] = () => {
    this.#isCached = true;
  };

  /** The step has an answer. One from a cache, or from a runner that reports no calls, is recorded as one call. */
  answered(target: FunctionTarget, call: CallRecord): void {
    this.#target = target;
    if (this.#calls.length === 0) this.#calls.push(call);
  }

  facts({ functionName, function: image = "" }: FunctionReference) {
    return {
      functionName: this.#target?.functionName || functionName || image,
      revisionName: this.#target?.revisionName ?? "",
      packageRef: this.#target?.packageRef ?? "",
      isCached: this.#isCached,
      calls: this.#calls,
    };
  }
}
