// SPDX-License-Identifier: Apache-2.0
import type { RunFunctionRequest, RunFunctionResponse } from "@purlin/function-protocol";
import { longestMessage } from "@purlin/kube-objects/object";
import { type AnswerLimits, defaultAnswerLimits, limitAdvice, limitText } from "../answer/check-answer.ts";
import {
  type CompositeSubject,
  type FunctionRunner,
  type FunctionTarget,
  type RunCall,
  RunnerError,
  type RunTrace,
} from "../function-runner.ts";

/** Which function a pipeline step names, and which of its revisions. */
export interface FunctionReference {
  /** The name of the step, for messages. */
  readonly step: string;
  /** Empty when the step names its function by package instead. */
  readonly functionName: string;
  readonly functionRevisionRef?: { readonly name: string } | undefined;
  readonly functionRevisionSelector?: { readonly matchLabels?: Readonly<Record<string, string>> } | undefined;
  /** `<registry>/<repository>[:<tag>]@sha256:<digest>`. */
  readonly function?: string | undefined;
  /** The Composition of the step, for messages. */
  readonly composition?: string | undefined;
  /** The composite resource that the step runs for; rollouts choose the revision by it. */
  readonly composite?: CompositeSubject | undefined;
}

/** Decides which revision serves a step. Rejects when none does; it never answers with another one instead. */
export interface FunctionResolver {
  resolve(reference: FunctionReference, signal?: AbortSignal): Promise<FunctionTarget>;
}

/** What a step ran, and what came of it. */
interface StepRun {
  readonly target: FunctionTarget;
  readonly response: RunFunctionResponse;
}

/** Runs a step's function. */
export type RunStep = (reference: FunctionReference, request: RunFunctionRequest, call: RunCall) => Promise<StepRun>;

/**
 * Resolves the function once, before the outermost layer, so that connection, cache, metrics and recorder agree on it. A call to a
 * version that has been replaced is ended and made again on its successor.
 */
export function createStepRunner(resolver: FunctionResolver, runner: FunctionRunner): RunStep {
  return async (reference, request, call) => {
    for (;;) {
      const target = await resolver.resolve(reference, call.signal);
      try {
        return { target, response: await runHeld(runner, target, request, call) };
      } catch (error) {
        if (target.replaced?.aborted !== true || call.signal?.aborted === true) throw error;
      }
    }
  };
}

async function runHeld(
  runner: FunctionRunner,
  target: FunctionTarget,
  ...[request, call]: [RunFunctionRequest, RunCall]
): Promise<RunFunctionResponse> {
  const release = target.acquire?.();
  const linked = linkSignals(call.signal, target.replaced);
  try {
    return await runner.run(target, request, { ...call, signal: linked.signal });
  } finally {
    linked.unlink();
    release?.();
  }
}

interface LinkedSignal {
  readonly signal: AbortSignal | undefined;
  readonly unlink: () => void;
}

/** A signal that aborts with either. `AbortSignal.any` would leave something behind in a signal that outlives many calls. */
function linkSignals(call: AbortSignal | undefined, replaced: AbortSignal | undefined): LinkedSignal {
  if (replaced === undefined) return { signal: call, unlink: () => {} };
  const controller = new AbortController();
  const sources = [call, replaced].filter((signal) => signal !== undefined);
  const links = sources.map((source) => {
    const abort = (): void => controller.abort(source.reason);
    if (source.aborted) abort();
    source.addEventListener("abort", abort, { once: true });
    return () => source.removeEventListener("abort", abort);
  });
  const unlink = (): void => {
    for (const remove of links) remove();
  };
  return { signal: controller.signal, unlink };
}

/**
 * Runs steps whose conditions together are as large as one object at most: those of all steps of a pipeline are stored in one. What one
 * answer may hold is checked when it is read.
 */
export function limitPipelines(runStep: RunStep, limits: Partial<AnswerLimits> = {}): RunStep {
  const all = { ...defaultAnswerLimits, ...limits };
  /** The characters of the conditions so far; there is one trace for each run of a pipeline. */
  const characters = new WeakMap<RunTrace, number>();
  return async (reference, request, call) => {
    const run = await runStep(reference, request, call);
    const size = conditionsSize(run.response);
    if (call.trace === undefined || size === 0) return run;
    const total = size + (characters.get(call.trace) ?? 0);
    characters.set(call.trace, total);
    if (total <= all.objectBytes) return run;
    const finding = `the conditions of all steps up to "${reference.step}" have more than ${all.objectBytes} characters`;
    const text = `${finding} ${limitText("objectBytes", all)}: ${limitAdvice}`;
    throw new RunnerError("RPC", text, { status: "ResourceExhausted" });
  };
}

/** A longer message is cut when it is stored. */
function conditionsSize({ conditions }: RunFunctionResponse): number {
  return conditions.reduce(
    (sum, { type, reason, message = "" }) =>
      sum + type.length + reason.length + Math.min(message.length, longestMessage),
    0,
  );
}
