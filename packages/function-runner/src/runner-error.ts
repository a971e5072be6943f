// SPDX-License-Identifier: Apache-2.0

/** Why a function could not be run, in a word callers can switch on. */
export type RunnerErrorCode =
  | "RPC" // the call failed; `status` is the gRPC status
  | "BAD_TARGET" // the revision's endpoint cannot be understood
  | "TLS" // certificates are missing or unusable
  | "CLOSED" // the runner has been shut down
  | "BAD_STEP" // the pipeline step cannot be turned into a request
  | "FETCH" // something the step or the function asked for could not be read
  | "UNKNOWN_LINE" // no such Crossplane release line
  | "REVISION_NOT_FOUND"
  | "REVISION_FOREIGN"
  | "REVISION_INACTIVE"
  | "NO_ACTIVE_REVISION"
  | "NO_ENDPOINT"
  | "FEATURE_DISABLED";

const brand = Symbol.for("purlin.dev/function-runner/RunnerError");

/** What else an error carries. */
interface RunnerErrorOptions extends ErrorOptions {
  /** The canonical name of the gRPC status, such as `DeadlineExceeded`, when a call failed. */
  readonly status?: string;
}

/** Why a function could not be run, in one line. Recognize it with {@link isRunnerError}. */
export class RunnerError extends Error {
  readonly code: RunnerErrorCode;
  /** The canonical name of the gRPC status when a call failed. */
  readonly status: string | undefined;

  constructor(code: RunnerErrorCode, message: string, options?: RunnerErrorOptions) {
    super(message, options);
    this.name = "RunnerError";
    this.code = code;
    this.status = options?.status;
    Object.defineProperty(this, brand, { value: true });
  }
}

/** Whether the value is a RunnerError, of this or another copy of the package. */
export function isRunnerError(value: unknown): value is RunnerError {
  return typeof value === "object" && value !== null && brand in value;
}

/** The text of anything that was thrown. */
export function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** An error that says where another one happened: `outer: inner`. Code and status of the inner one stay. */
export function wrapError(code: RunnerErrorCode, outer: string, cause: unknown): RunnerError {
  const inner = isRunnerError(cause) ? cause : undefined;
  const status = inner?.status === undefined ? {} : { status: inner.status };
  return new RunnerError(inner?.code ?? code, `${outer}: ${textOf(cause)}`, { cause, ...status });
}
