// SPDX-License-Identifier: Apache-2.0
import {
  create,
  encode,
  isFatal,
  type Message,
  type MessageType,
  RequestMeta,
  Requirements,
  ResourceSelector,
  ResponseMeta,
  Result,
  type RunFunctionRequest,
  RunFunctionResponse,
} from "@purlin/function-protocol";
import { type FunctionRunner, RunnerError } from "../function-runner.ts";

/**
 * A runner that behaves as one of an older Crossplane would: it does not send what that line did not send, and what that
 * line did not know stays in the response as an unknown field without effect. It belongs inside the requirements
 * loop. Throws on an unknown line.
 */
export function asCrossplane(next: FunctionRunner, line: string): FunctionRunner {
  const gaps = gapsOf(line);
  return {
    async run(target, request, call) {
      const restricted = gaps.betaOnly ? { ...call, protocol: "v1beta1" as const } : call;
      const response = maskResponse(await next.run(target, maskRequest(request, gaps), restricted), gaps);
      if (gaps.before20 && !isFatal(response)) refuseListAll(response, line);
      return response;
    },
  };
}

function maskRequest(request: RunFunctionRequest, gaps: LineGaps): RunFunctionRequest {
  return {
    ...request,
    ...(gaps.credentials ? { credentials: new Map() } : {}),
    ...(gaps.before20 ? { meta: create(RequestMeta), requiredResources: new Map(), requiredSchemas: new Map() } : {}),
  };
}

function maskResponse(response: RunFunctionResponse, gaps: LineGaps): RunFunctionResponse {
  let masked = response;
  if (gaps.conditions) {
    const results = masked.results.map((result) => forget(Result, result, ["reason", "target"]));
    masked = { ...forget(RunFunctionResponse, masked, ["conditions"]), results };
  }
  if (gaps.before20) {
    const { meta, requirements } = masked;
    masked = {
      ...forget(RunFunctionResponse, masked, ["output"]),
      meta: meta && forget(ResponseMeta, meta, ["ttl"]),
      requirements: requirements && maskRequirements(requirements),
    };
  }
  return masked;
}

function maskRequirements(requirements: Requirements): Requirements {
  const masked = forget(Requirements, requirements, ["resources", "schemas"]);
  const selectors = [...masked.extraResources].map(
    ([name, selector]) => [name, forget(ResourceSelector, selector, ["namespace"])] as const,
  );
  return { ...masked, extraResources: new Map(selectors) };
}

/** Makes fields unknown: the message no longer has them, but they still travel with it. */
function forget<T extends Message>(type: MessageType<T>, message: T, names: readonly (keyof T & string)[]): T {
  const empty = create(type);
  const hidden = create(type);
  const kept = { ...message };
  for (const name of names) {
    hidden[name] = message[name];
    kept[name] = empty[name];
  }
  const bytes = encode(type, hidden);
  if (bytes.length > 0) kept.$unknown = [...(message.$unknown ?? []), bytes];
  return kept;
}

function refuseListAll({ requirements }: RunFunctionResponse, line: string): void {
  for (const [name, { match }] of requirements?.extraResources ?? []) {
    if (match !== undefined) continue;
    const reason = `Crossplane ${line} has no selector without matchName or matchLabels`;
    throw new RunnerError("FETCH", `fetching resources for ${name}: ${reason}`);
  }
}

/** What the runner of a release line lacked. */
interface LineGaps {
  /** It called functions as v1beta1 only. */
  readonly betaOnly: boolean;
  /** It sent neither capabilities nor a tag, and knew neither required resources nor schemas, TTL or output. */
  readonly before20: boolean;
  readonly credentials: boolean;
  /** Conditions, and the reason and target of results. */
  readonly conditions: boolean;
}

/** A release line of Crossplane that can be imitated. */
export type CrossplaneLine = "v1.15" | "v1.16" | "v1.17" | "v2.2";

const gaps: Readonly<Record<CrossplaneLine, LineGaps>> = {
  "v1.15": { betaOnly: true, before20: true, credentials: true, conditions: true },
  "v1.16": { betaOnly: true, before20: true, credentials: false, conditions: true },
  "v1.17": { betaOnly: false, before20: true, credentials: false, conditions: false },
  "v2.2": { betaOnly: false, before20: false, credentials: false, conditions: false },
};

/** All lines that can be imitated, oldest first. */
export const crossplaneLines: readonly CrossplaneLine[] = Object.keys(gaps) as CrossplaneLine[];

/** What a line lacked. Throws on an unknown line, naming those there are. */
function gapsOf(line: string): LineGaps {
  if (Object.hasOwn(gaps, line)) return gaps[line as CrossplaneLine];
  const known = crossplaneLines.join(", ");
  throw new RunnerError("UNKNOWN_LINE", `unknown Crossplane release line "${line}": expected one of ${known}`);
}
