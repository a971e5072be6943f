// SPDX-License-Identifier: Apache-2.0
import type { RunFunctionRequest, RunFunctionResponse } from "@purlin/function-protocol";
import type { FunctionRunner, FunctionTarget, RunCall } from "../function-runner.ts";

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
}

/** Decides which revision serves a step. Rejects when none does; it never answers with another one instead. */
export interface FunctionResolver {
  resolve(reference: FunctionReference, signal?: AbortSignal): Promise<FunctionTarget>;
}

/** What a step ran, and what came of it. */
export interface StepRun {
  readonly target: FunctionTarget;
  readonly response: RunFunctionResponse;
}

/** Runs a step's function. */
export type RunStep = (reference: FunctionReference, request: RunFunctionRequest, call: RunCall) => Promise<StepRun>;

/** Resolves the function once, before the outermost layer, so that connection, cache, metrics and recorder agree on it. */
export function createStepRunner(resolver: FunctionResolver, runner: FunctionRunner): RunStep {
  return async (reference, request, call) => {
    const target = await resolver.resolve(reference, call.signal);
    const release = target.hold?.();
    try {
      return { target, response: await runner.run(target, request, call) };
    } finally {
      release?.();
    }
  };
}
