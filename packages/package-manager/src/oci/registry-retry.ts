// SPDX-License-Identifier: Apache-2.0
import { setTimeout as wait } from "node:timers/promises";
import { isOciError, OciError } from "./oci-error.ts";
import type { RegistryRequest, RegistryResponse, RegistrySend } from "./registry-http.ts";

/** Waits, unless the signal says otherwise. */
export type Sleep = (ms: number, signal: AbortSignal | undefined) => Promise<void>;

/** Waits on the machine's clock. */
export const sleep: Sleep = async (ms, signal) => wait(ms, undefined, signal && { signal });

const attempts = 4;
const firstPauseMs = 250;
const maxPauseMs = 30_000;
const passing = new Set([408, 425, 429, 500, 502, 503, 504]);

/** Whether an answer says that asking again may help. */
export function isPassing(status: number): boolean {
  return passing.has(status);
}

/** Sends again what failed for a reason that passes. The bytes of an upload are not: where they got to, nobody knows. */
export function retrying(send: RegistrySend, pause: Sleep): RegistrySend {
  return async (request) => {
    for (let attempt = 1; ; attempt++) {
      const outcome = await attemptOnce(send, request);
      const isLast = attempt === attempts || typeof request.body === "function";
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
    const { code, message } = cause as NodeJS.ErrnoException;
    const why = message || code || "unknown error";
    return { error: new OciError("unreachable", `cannot reach ${request.url.host}: ${why}`, { cause }) };
  }
}

function pauseAfter(attempt: number, response: RegistryResponse | undefined): number {
  const asked = Number(response?.headers["retry-after"]);
  if (Number.isFinite(asked) && asked > 0) return Math.min(asked * 1000, maxPauseMs);
  return firstPauseMs * 2 ** (attempt - 1) * (0.5 + Math.random());
}

/** How a transfer is run again. */
export interface TransferOptions {
  /** Where it comes from or goes to, for the message. */
  readonly registry: string;
  readonly pause: Sleep;
  readonly signal?: AbortSignal | undefined;
  /** How far it has got: while that grows, a line may break as often as it likes. */
  readonly progress?: (() => number) | undefined;
}

/** Runs a transfer again that broke half-way. A line that keeps breaking is a registry that cannot be reached. */
export async function retryTransfer<T>(run: () => Promise<T>, options: TransferOptions): Promise<T> {
  const { registry, pause, signal, progress = () => 0 } = options;
  let reached = progress();
  for (let attempt = 1; ; attempt++) {
    if (progress() > reached) attempt = 1;
    reached = progress();
    try {
      return await run();
    } catch (cause) {
      if (signal?.aborted) throw cause;
      const error = isBrokenLine(cause)
        ? new OciError("unreachable", `the connection to ${registry} broke: ${cause.message}`, { cause })
        : cause;
      if (!isOciError(error, "unreachable") || attempt === attempts) throw error;
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

/** Sockets fail in many ways; files fail in others, which no second try puts right. */
function isBrokenLine(error: unknown): error is Error {
  const { code } = (error ?? {}) as NodeJS.ErrnoException;
  return error instanceof Error && code !== undefined && brokenLines.has(code);
}
