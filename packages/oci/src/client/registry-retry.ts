// SPDX-License-Identifier: Apache-2.0
import { setTimeout as wait } from "node:timers/promises";
import { isOciError, OciError } from "../content/oci-error.ts";
import type { RegistryRequest, RegistryResponse, RegistrySend } from "./registry-http.ts";

/** Waits, unless the signal says otherwise. */
export type Sleep = (ms: number, signal: AbortSignal | undefined) => Promise<void>;

/** Waits on the machine's clock. */
export const sleep: Sleep = async (ms, signal) => wait(ms, undefined, signal && { signal });

const attempts = 4;
/** No retries after this time: a reconcile has a minute in all and must report what it waited for. */
const tryingMs = 25_000;
const firstPauseMs = 250;
const maxPauseMs = 30_000;
const passing = new Set([408, 425, 429, 500, 502, 503, 504]);

/** Whether a response status is transient, so that a retry may help. */
export function isPassing(status: number): boolean {
  return passing.has(status);
}

/** Retries requests that failed for a transient reason, except uploads: how much of one arrived is unknown. */
export function retrying(send: RegistrySend, pause: Sleep, now: () => number = Date.now): RegistrySend {
  return async (request) => {
    const begun = now();
    for (let attempt = 1; ; attempt++) {
      const outcome = await attemptOnce(send, request);
      const isLast = attempt === attempts || now() - begun >= tryingMs || typeof request.body === "function";
      if (outcome.response !== undefined && (isLast || !isPassing(outcome.response.status))) return outcome.response;
      if (outcome.response === undefined && (isLast || request.signal?.aborted)) throw outcome.error;
      outcome.response?.body.destroy();
      await pause(pauseAfter(attempt, outcome.response), request.signal);
    }
  };
}

interface Outcome {
  readonly response?: RegistryResponse;
  readonly error?: unknown;
}

async function attemptOnce(send: RegistrySend, request: RegistryRequest): Promise<Outcome> {
  try {
    return { response: await send(request) };
  } catch (cause) {
    if (isOciError(cause) || request.signal?.aborted) throw cause;
    return { error: unreachable(request, cause) };
  }
}

/** Errors of requests that were already retried here, so that callers do not retry them. */
const final = new WeakSet<object>();

/** The error of a request without a response: host, cause, request and advice. */
export function unreachable({ method, url, body }: RegistryRequest, cause: unknown): OciError {
  const { code, message } = cause as NodeJS.ErrnoException;
  const why = `${message || code || "unknown error"} (${method} ${url.pathname})`;
  const advice = "check the registry's name, that it is running, and the network";
  const error = new OciError("unreachable", `cannot reach ${url.host}: ${why}; ${advice}`, { cause });
  // An upload is sent once: only its caller can restart it.
  if (typeof body !== "function") final.add(error);
  return error;
}

function pauseAfter(attempt: number, response: RegistryResponse | undefined): number {
  const asked = Number(response?.headers["retry-after"]);
  if (Number.isFinite(asked) && asked > 0) return Math.min(asked * 1000, maxPauseMs);
  return firstPauseMs * 2 ** (attempt - 1) * (0.5 + Math.random());
}

/** How a transfer is retried. */
interface TransferOptions {
  /** Where it comes from or goes to, for the message. */
  readonly registry: string;
  readonly pause: Sleep;
  readonly signal?: AbortSignal | undefined;
  /** The bytes transferred so far: while they grow, the number of retries is not limited. */
  readonly progress?: (() => number) | undefined;
  readonly now?: (() => number) | undefined;
}

/** Retries a transfer whose connection was lost. A connection that is lost repeatedly counts as an unreachable registry. */
export async function retryTransfer<T>(run: () => Promise<T>, options: TransferOptions): Promise<T> {
  const { registry, pause, signal, progress = () => 0, now = Date.now } = options;
  let reached = progress();
  let stuckSince: number | undefined;
  for (let attempt = 1; ; attempt++) {
    if (progress() > reached) {
      attempt = 1;
      stuckSince = undefined;
    }
    reached = progress();
    try {
      return await run();
    } catch (cause) {
      if (signal?.aborted || final.has(cause as object)) throw cause;
      // Not since the start: progress is known only when it continues.
      stuckSince ??= now();
      const error = isBrokenLine(cause)
        ? new OciError("unreachable", `connection to ${registry} lost: ${cause.message}`, { cause })
        : cause;
      const isLast = attempt === attempts || now() - stuckSince >= tryingMs;
      if (!isOciError(error, "unreachable") || isLast) throw error;
      await pause(pauseAfter(attempt, undefined), signal);
    }
  }
}

const brokenLines = new Set([
  "ECONNRESET",
  "EPIPE",
  "ETIMEDOUT",
  "ECONNABORTED",
  "ENOTCONN",
  "ERR_STREAM_PREMATURE_CLOSE",
]);

/** Errors of sockets; errors of files are not retried. */
function isBrokenLine(error: unknown): error is Error {
  const { code } = (error ?? {}) as NodeJS.ErrnoException;
  return error instanceof Error && code !== undefined && brokenLines.has(code);
}
