// SPDX-License-Identifier: Apache-2.0
import { status } from "@grpc/grpc-js";
import {
  type RunFunctionRequest,
  type RunFunctionResponse,
  runUntilSettled,
  type Schema,
  type SchemaSelector,
} from "@purlin/function-protocol";
import { functionFailure } from "../dial/rpc-failure.ts";
import type { FunctionRunner, FunctionTarget, RunCall } from "../function-runner.ts";
import { isRunnerError } from "../runner-error.ts";
import type { FetchResources } from "./resource-fetcher.ts";

/** Answers schema selectors; an empty Schema means there is no such kind. */
export type FetchSchema = (selector: SchemaSelector) => Promise<Schema>;

/** Where the answers to a function's requirements come from. */
export interface RequirementFetchers {
  readonly resources: FetchResources;
  readonly schema: FetchSchema;
}

/**
 * A runner that gives functions what they ask for: it calls the next runner until two answers in a row ask for the same,
 * at most six times. The same selector is fetched once a step.
 */
export function settleRequirements(next: FunctionRunner, fetchers: RequirementFetchers): FunctionRunner {
  return {
    async run(target, request, call) {
      const { signal } = call;
      try {
        const { response, requests } = await runUntilSettled(request, {
          run: (current) => observed(next, target, { current, call }),
          source: {
            resources: (selector) => untilAborted(fetchers.resources(selector, signal), signal),
            schema: (selector) => untilAborted(fetchers.schema(selector), signal),
          },
          signal,
        });
        call.onSettled?.(requests.at(-1) ?? request);
        return response;
      } catch (error) {
        // A call that timed out just before the cancellation has the more precise error.
        if (!signal?.aborted || hasOwnStatus(error)) throw error;
        throw functionFailure(target, { code: status.CANCELLED, text: "the run was cancelled", cause: error });
      }
    },
  };
}

async function observed(
  next: FunctionRunner,
  target: FunctionTarget,
  { current, call }: { readonly current: RunFunctionRequest; readonly call: RunCall },
): Promise<RunFunctionResponse> {
  const answered = call.observer?.called(target, current);
  const response = await next.run(target, current, call);
  answered?.(response);
  return response;
}

/** Whether an error is the result of the call itself, not of its cancellation. */
function hasOwnStatus(error: unknown): boolean {
  return isRunnerError(error) && error.status !== undefined && error.status !== "Canceled";
}

/** The result of a read, or the reason of the signal if it aborts first: a read that ignores the signal must not hold the run. */
export async function untilAborted<T>(read: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return read;
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const abort = (): void => reject(signal.reason);
  if (signal.aborted) abort();
  signal.addEventListener("abort", abort);
  try {
    return await Promise.race([read, aborted]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}
