// SPDX-License-Identifier: Apache-2.0
import {
  allCapabilities,
  create,
  RequestMeta,
  type RunFunctionRequest,
  type RunFunctionResponse,
} from "@purlin/function-protocol";
import {
  asCrossplane,
  type CrossplaneLine,
  createDiallingRunner,
  type FunctionRunner,
  type FunctionTarget,
  type RequirementFetchers,
  requestTag,
  settleRequirements,
  type TlsSource,
} from "@purlin/function-runner";
import type { Target } from "./probe-target.ts";

/** One call of one function, through the runner a control plane uses. */
interface FunctionCall {
  readonly target: Target;
  readonly security: TlsSource | "plaintext";
  readonly request: RunFunctionRequest;
  readonly fetchers: RequirementFetchers;
  /** A release line whose runner to imitate; undefined for our own. */
  readonly asCrossplane: CrossplaneLine | undefined;
  /** Milliseconds since the epoch. */
  readonly deadline: number;
  readonly signal: AbortSignal;
}

/** What the function was sent and what it answered, in one round of the requirements loop. */
export interface Round {
  readonly request: RunFunctionRequest;
  readonly response: RunFunctionResponse;
}

/** The settled response, and the rounds that led to it. */
export interface CallOutcome {
  readonly response: RunFunctionResponse;
  readonly rounds: readonly Round[];
}

/** Calls a function until it settles. Rejects with the runner's error, which is one line that names what failed. */
export async function callFunction(call: FunctionCall): Promise<CallOutcome> {
  const dialling = createDiallingRunner({ security: call.security });
  const rounds: Round[] = [];
  const recorded = recordRounds(dialling, rounds);
  const masked = call.asCrossplane === undefined ? recorded : asCrossplane(recorded, call.asCrossplane);
  const runner = settleRequirements(masked, call.fetchers);
  try {
    const { deadline, signal } = call;
    const response = await runner.run(functionTarget(call.target), withMeta(call.request), { deadline, signal });
    return { response, rounds };
  } finally {
    dialling.close();
  }
}

function recordRounds(next: FunctionRunner, rounds: Round[]): FunctionRunner {
  return {
    async run(target, request, call) {
      const response = await next.run(target, request, call);
      rounds.push({ request, response });
      return response;
    },
  };
}

/** What the request says about itself is kept, so that an author can try what a control plane might send. */
function withMeta(request: RunFunctionRequest): RunFunctionRequest {
  const { tag = "", capabilities = [] } = request.meta ?? {};
  const meta = create(RequestMeta, {
    ...request.meta,
    tag: tag || requestTag(request),
    capabilities: capabilities.length > 0 ? capabilities : [...allCapabilities],
  });
  return { ...request, meta };
}

function functionTarget({ text }: Target): FunctionTarget {
  return { functionName: text, revisionName: text, packageRef: "", endpoint: text, revision: 0 };
}
