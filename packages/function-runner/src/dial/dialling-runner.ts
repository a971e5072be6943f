// SPDX-License-Identifier: Apache-2.0

import { Buffer } from "node:buffer";
import { type ServiceError, status } from "@grpc/grpc-js";
import { type Clock, systemClock } from "@purlin/base";
import {
  type DecodeLimits,
  decodeInTurns,
  encode,
  isProtocolError,
  type ProtocolVersion,
  RunFunctionRequest,
  RunFunctionResponse,
  runFunctionPaths,
  Severity,
  type Struct,
} from "@purlin/function-protocol";
import {
  type AnswerLimits,
  decodeLimitsOf,
  defaultAnswerLimits,
  defaultMaxRequestBytes,
  limitAdvice,
  problemOf,
} from "../answer/check-answer.ts";
import { type FunctionRunner, type FunctionTarget, type RunCall, textOf } from "../function-runner.ts";
import { noMetrics, type OutcomeLabels, type RunnerMetrics } from "../metrics.ts";
import type { TlsSource } from "./channel-credentials.ts";
import { type NameResolver, systemNames } from "./channel-resolver.ts";
import type { FunctionConnection } from "./connection.ts";
import { ConnectionPool, type LiveRevisions, type PoolStats } from "./connection-pool.ts";
import { functionFailure, rpcFailure, statusName } from "./rpc-failure.ts";

/** How functions are reached. */
export interface DialOptions {
  /** Mutual TLS for every function. "plaintext" has to be set explicitly. */
  readonly security: TlsSource | "plaintext";
  readonly names?: NameResolver | undefined;
  readonly clock?: Clock | undefined;
  readonly metrics?: RunnerMetrics | undefined;
  /** Default 64 MiB. */
  readonly maxRequestBytes?: number | undefined;
  /** How much a function may answer; {@link defaultAnswerLimits} where nothing is given. */
  readonly answerLimits?: Partial<AnswerLimits> | undefined;
}

/** The innermost runner: it calls functions over gRPC and owns the connections to them. */
export interface DiallingRunner extends FunctionRunner {
  /** Retires connections to revisions that no longer serve; answers with how many. */
  collect(live: LiveRevisions): Promise<number>;
  /** What is open right now. */
  stats(): PoolStats;
  /** Ends all calls and connections. */
  close(): void;
}

interface Limits {
  readonly maxRequestBytes: number;
  readonly answer: AnswerLimits;
  readonly decode: DecodeLimits;
}

/** One run of a function: its request is encoded once, whichever version of the protocol it takes. */
interface Run {
  readonly target: FunctionTarget;
  readonly call: RunCall;
  readonly connection: FunctionConnection;
  readonly request: Buffer;
  readonly metrics: RunnerMetrics;
  readonly limits: Limits;
}

/** A runner that calls functions over gRPC: v1 first, the same bytes as v1beta1 when the function does not support v1. */
export function createDiallingRunner(options: DialOptions): DiallingRunner {
  const { security, names = systemNames, clock = systemClock, metrics = noMetrics } = options;
  const answer = { ...defaultAnswerLimits, ...options.answerLimits };
  const limits: Limits = {
    maxRequestBytes: options.maxRequestBytes ?? defaultMaxRequestBytes,
    answer,
    decode: decodeLimitsOf(answer),
  };
  const tls = security === "plaintext" ? undefined : security;
  const pool = new ConnectionPool({
    tls,
    names,
    clock,
    maxRequestBytes: limits.maxRequestBytes,
    maxResponseBytes: answer.answerBytes,
  });
  return {
    async run(target, request, call) {
      const connection = pool.connectionTo(target);
      const bytes = encode(RunFunctionRequest, request);
      if (bytes.length > limits.maxRequestBytes) throw tooLarge(target, bytes.length, limits.maxRequestBytes);
      const response = await connection.use(() =>
        runOnce({ target, call, connection, request: bytes, metrics, limits }),
      );
      shareUnchanged(request, response);
      return response;
    },
    collect: (live) => pool.collect(live),
    stats: () => pool.stats(),
    close: () => pool.close(),
  };
}

function tooLarge(target: FunctionTarget, bytes: number, limit: number): Error {
  const text = `the request has ${bytes} bytes, this runner sends at most ${limit}; raise its limit for requests`;
  return functionFailure(target, { code: status.RESOURCE_EXHAUSTED, text });
}

async function runOnce(run: Run): Promise<RunFunctionResponse> {
  const { connection, call } = run;
  try {
    if (call.protocol === "v1beta1") return await attempt(run, "v1beta1");
    if (connection.isBetaOnly) return await attemptBoth(run, "v1beta1", "v1");
    return await attemptBoth(run, "v1", "v1beta1");
  } catch (error) {
    throw isServiceError(error) ? failure(run, error) : error;
  }
}

async function attemptBoth(run: Run, first: ProtocolVersion, second: ProtocolVersion): Promise<RunFunctionResponse> {
  const { connection } = run;
  try {
    return await attempt(run, first);
  } catch (error) {
    if (!isUnimplemented(error)) throw error;
  }
  connection.forgetBetaOnly();
  // Remembered for the connection that just answered, not for one that may be made during the second attempt.
  const { epoch } = connection;
  const response = await attempt(run, second);
  if (second === "v1beta1") connection.rememberBetaOnly(epoch);
  return response;
}

function failure(run: Run, error: ServiceError): Error {
  return rpcFailure(error, {
    target: run.target,
    call: run.call,
    requestBytes: run.request.length,
    maxResponseBytes: run.limits.answer.answerBytes,
    problem: run.connection.problem,
    closed: run.connection.isClosed,
  });
}

async function attempt(run: Run, version: ProtocolVersion): Promise<RunFunctionResponse> {
  const { target, call, connection, request, metrics } = run;
  const labels = {
    function_name: target.functionName,
    function_package: target.packageRef,
    grpc_target: target.endpoint,
    grpc_method: runFunctionPaths[version],
  };
  const started = performance.now();
  const ended = (outcome: Pick<OutcomeLabels, "grpc_code" | "result_severity">): void =>
    metrics.responseReceived({ ...labels, ...outcome }, (performance.now() - started) / 1000);
  metrics.requestSent(labels);
  try {
    const bytes = await connection.invoke(runFunctionPaths[version], request, call);
    const response = await readResponse(target, bytes, run.limits);
    ended({ grpc_code: "OK", result_severity: severityOf(response) });
    return response;
  } catch (error) {
    const code = isServiceError(error) ? error.code : status.INTERNAL;
    ended({ grpc_code: statusName(code), result_severity: "Normal" });
    throw error;
  }
}

async function readResponse(target: FunctionTarget, bytes: Buffer, limits: Limits): Promise<RunFunctionResponse> {
  const response = await decodeResponse(target, bytes, limits.decode);
  const problem = await problemOf(response, limits.answer);
  if (problem === undefined) return response;
  const code = problem.exceeded === undefined ? status.INTERNAL : status.RESOURCE_EXHAUSTED;
  throw functionFailure(target, { code, text: problem.text });
}

async function decodeResponse(
  target: FunctionTarget,
  bytes: Buffer,
  limits: DecodeLimits,
): Promise<RunFunctionResponse> {
  try {
    return await decodeInTurns(RunFunctionResponse, bytes, limits);
  } catch (error) {
    if (isProtocolError(error) && error.code === "TOO_LARGE") {
      const text = `the function's answer has ${error.message}: ${limitAdvice}`;
      throw functionFailure(target, { code: status.RESOURCE_EXHAUSTED, text, cause: error });
    }
    const text = `the function's answer is not a RunFunctionResponse: ${textOf(error)}`;
    throw functionFailure(target, { code: status.INTERNAL, text, cause: error });
  }
}

function severityOf({ results }: RunFunctionResponse): OutcomeLabels["result_severity"] {
  if (results.some(({ severity }) => severity === Severity.SEVERITY_FATAL)) return "Fatal";
  return results.some(({ severity }) => severity === Severity.SEVERITY_WARNING) ? "Warning" : "Normal";
}

function isServiceError(error: unknown): error is ServiceError {
  return error instanceof Error && "code" in error && typeof error.code === "number" && "details" in error;
}

function isUnimplemented(error: unknown): boolean {
  return isServiceError(error) && error.code === status.UNIMPLEMENTED;
}

/**
 * Puts the request's own Structs in place of those that came back unchanged. Most steps change little of what earlier
 * ones desire; what was decoded, sorted or hashed of it before need not be again, and the response's bytes can go.
 */
function shareUnchanged(request: RunFunctionRequest, response: RunFunctionResponse): void {
  response.context = shared(request.context, response.context);
  const { composite, resources } = response.desired ?? {};
  if (composite !== undefined) composite.resource = shared(request.desired?.composite?.resource, composite.resource);
  for (const [name, desired] of resources ?? []) {
    desired.resource = shared(request.desired?.resources.get(name)?.resource, desired.resource);
  }
}

function shared(before: Struct | undefined, after: Struct | undefined): Struct | undefined {
  if (before === undefined || after === undefined) return after;
  return Buffer.compare(before.bytes, after.bytes) === 0 ? before : after;
}
