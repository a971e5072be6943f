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

/** Sends again what failed for a reason that passes. What cannot be sent twice, an opened upload, is not. */
export function retrying(send: RegistrySend, pause: Sleep): RegistrySend {
  return async (request) => {
    for (let attempt = 1; ; attempt++) {
      const outcome = await attemptOnce(send, request);
      const isLast = attempt === attempts || request.method === "PATCH";
      if (outcome.response !== undefined && (isLast || !passing.has(outcome.response.status))) return outcome.response;
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

/** Runs a transfer again that broke half-way; each attempt continues where the last one got to. */
export async function retryTransfer(run: () => Promise<void>, pause: Sleep, signal?: AbortSignal): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await run();
    } catch (error) {
      const isFinal = isOciError(error) && error.code !== "unreachable";
      if (isFinal || attempt === attempts || signal?.aborted) throw error;
      await pause(pauseAfter(attempt, undefined), signal);
    }
  }
}
