// SPDX-License-Identifier: Apache-2.0
import { type Metadata, type ServiceError, status } from "@grpc/grpc-js";
import type { Clock } from "@purlin/base";
import { codeOf, limitAdvice } from "../answer/check-answer.ts";
import { type FunctionTarget, type RunCall, RunnerError } from "../function-runner.ts";

const names = [
  "OK",
  "Canceled",
  "Unknown",
  "InvalidArgument",
  "DeadlineExceeded",
  "NotFound",
  "AlreadyExists",
  "PermissionDenied",
  "ResourceExhausted",
  "FailedPrecondition",
  "Aborted",
  "OutOfRange",
  "Unimplemented",
  "Internal",
  "Unavailable",
  "DataLoss",
  "Unauthenticated",
] as const;

/** The canonical name of a gRPC status code, as Crossplane's metrics and messages spell it. */
export function statusName(code: number): string {
  return names[code] ?? `Code(${code})`;
}

/** What is known about a call that failed. */
interface FailedCall {
  readonly target: FunctionTarget;
  readonly call: RunCall;
  readonly requestBytes: number;
  readonly maxResponseBytes: number;
  /** Why the function could not be reached, if it could not. */
  readonly problem: string | undefined;
  /** Whether the connection was ended by its owner. */
  readonly closed: boolean;
}

/** The step error for a call that ended with anything but OK. Times are left out: a text that changes churns conditions. */
export function rpcFailure(error: ServiceError, failed: FailedCall): RunnerError {
  return functionFailure(failed.target, { code: error.code, text: describe(error, failed), cause: error });
}

interface FailureDetails {
  readonly code: status;
  readonly text: string;
  readonly cause?: unknown;
}

/** A failure of one function, as gRPC words it. */
export function functionFailure(target: FunctionTarget, { code, text, cause }: FailureDetails): RunnerError {
  const name = statusName(code);
  const line = withoutControls(inOneLine(text));
  const message = `cannot run Function "${target.functionName}": rpc error: code = ${name} desc = ${line}`;
  return new RunnerError("RPC", message, { cause, status: name });
}

/** Functions write what goes into it: a pattern with spaces on both sides of a line end would be tried at each space. */
function inOneLine(text: string): string {
  const lines = text.split(/[\r\n]+/);
  if (lines.length === 1) return text;
  const trimmed = lines.map((line) => line.trim());
  return trimmed.filter((line) => line !== "").join(" ");
}

/** Terminals act on some characters; what a function says must only be shown. */
function withoutControls(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this is about.
  return text.replaceAll(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029]/g, codeOf);
}

function describe(error: ServiceError, failed: FailedCall): string {
  switch (error.code) {
    case status.DEADLINE_EXCEEDED:
      return error.details.startsWith("Deadline exceeded") ? missedDeadline(failed) : error.details;
    case status.CANCELLED:
      return cancelled(error, failed);
    case status.RESOURCE_EXHAUSTED:
      return exhausted(error.details, failed);
    default:
      return error.details;
  }
}

function missedDeadline({ call, problem }: FailedCall): string {
  const step = call.step === undefined ? "the call" : `pipeline step "${call.step.name}"`;
  return problem === undefined
    ? `function did not respond to ${step} before its deadline`
    : `function unreachable for ${step} before its deadline: ${problem}`;
}

function cancelled(error: ServiceError, { call, closed }: FailedCall): string {
  if (call.signal?.aborted) return "the run was cancelled";
  return closed ? "the connection to the function was closed" : error.details;
}

/** Both limits, the function's for requests and ours for responses, show as the same status. */
function exhausted(details: string, { requestBytes, maxResponseBytes }: FailedCall): string {
  const sizes = /\((\d+) vs\.? (\d+)\)/.exec(details);
  if (sizes !== null && Number(sizes[2]) === maxResponseBytes && Number(sizes[1]) !== requestBytes) {
    return `${details}: the function's answer has ${sizes[1]} bytes (limit answerBytes=${maxResponseBytes}): ${limitAdvice}`;
  }
  if (/decompresses to a size larger than/.test(details))
    return `${details} (limit answerBytes=${maxResponseBytes}): ${limitAdvice}`;
  // Every function accepts as much; what is exhausted is something else, or the response was once it was decompressed.
  if (requestBytes < 2 ** 20) return details;
  const mebibytes = Math.ceil(requestBytes / 2 ** 20);
  const advice = `if that is more than the function accepts, start it with --max-recv-message-size=${mebibytes} (MiB) or more`;
  return `${details}: the request has ${requestBytes} bytes; ${advice}`;
}

/** A function that restarts is back by then; one that is not is down. */
export const longOutageMs = 15_000;

/** How long a function has not been reachable, and why. */
export class Outage {
  readonly #clock: Clock;
  readonly #onLong: () => void;
  #problem: string | undefined;
  #cancel: (() => void) | undefined;
  #isLong = false;

  /** `onLong` is called when the outage has lasted so long that calls must not wait for its end. */
  constructor(clock: Clock, onLong: () => void) {
    this.#clock = clock;
    this.#onLong = onLong;
  }

  /** Why no address is reachable now; undefined while one is, or before the first attempt. */
  get problem(): string | undefined {
    return this.#problem;
  }

  set problem(problem: string | undefined) {
    this.#problem = problem;
    if (problem === undefined) this.end();
    else this.#cancel ??= this.#clock.schedule(longOutageMs, () => this.#last());
  }

  get isLong(): boolean {
    return this.#isLong;
  }

  /** Ends the outage: the function is reachable again, or the connection is closed. */
  end(): void {
    this.#cancel?.();
    this.#cancel = undefined;
    this.#isLong = false;
  }

  #last(): void {
    this.#isLong = true;
    this.#onLong();
  }
}

/**
 * The error of a call whose answer breaks the rules of gRPC, in words that say how. gRPC's client reports what it stumbled
 * over: a web page is a message of 1.7 GB to it, half an answer a method that is not implemented.
 */
export function explainOddAnswer(error: ServiceError, headers: Metadata | undefined): ServiceError {
  const type = headers?.get("content-type")[0]?.toString();
  if (type !== undefined && !type.startsWith("application/grpc") && !isHttpStatus(error)) {
    return restate(error, status.UNKNOWN, `the function answers with ${JSON.stringify(type)}, not with gRPC`);
  }
  // gRPC's client throws an error without a status for an unknown compression: it becomes a status without members.
  if (error.code === undefined) {
    return restate(
      error,
      status.INTERNAL,
      "the function's answer is compressed with an encoding that this runner does not support",
    );
  }
  if (error.code === status.UNIMPLEMENTED && error.details === "No message received") {
    return restate(error, status.INTERNAL, "the function says OK and sends no whole answer");
  }
  const ended = endedByGuard.exec(error.details)?.[1];
  if (ended !== undefined) return restate(error, status.INTERNAL, ended);
  return Number.isInteger(error.code) ? error : restate(error, status.UNKNOWN, "the function's status is not a number");
}

/** What gRPC's client makes of the error with which the guard of HTTP/2 frames destroys a connection. */
const endedByGuard = /^Received RST_STREAM with code \d+ triggered by internal client error: (the function sends .*)$/;

const isHttpStatus = ({ details }: ServiceError): boolean => details?.startsWith("Received HTTP status code");

function restate(cause: ServiceError, code: status, details: string): ServiceError {
  return Object.assign(new Error(details, { cause }), { code, details, metadata: cause.metadata });
}
