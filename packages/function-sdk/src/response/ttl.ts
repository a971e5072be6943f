// SPDX-License-Identifier: Apache-2.0
import type { Duration } from "@purlin/function-protocol";
import { FunctionError } from "../errors/function-error.ts";

/** How long a response may be reused: milliseconds, a duration, or null for no statement at all. */
export type Ttl = number | { readonly seconds: number; readonly nanos?: number | undefined } | null;

/** One minute, in milliseconds. */
export const DEFAULT_TTL = 60_000;

const longestSeconds = 315_576_000_000;
const largestNanos = 999_999_999;

/** The TTL as it travels. Throws INVALID_TTL on what is not a length of time. */
export function toDuration(ttl: Ttl): Duration | undefined {
  if (ttl === null) return undefined;
  return typeof ttl === "number" ? fromMilliseconds(ttl) : fromParts(ttl.seconds, ttl.nanos ?? 0);
}

function fromMilliseconds(ms: number): Duration {
  if (!Number.isFinite(ms) || ms < 0) throw invalid(ms);
  const seconds = Math.floor(ms / 1000);
  return fromParts(seconds, Math.min(Math.round((ms - seconds * 1000) * 1e6), largestNanos));
}

function fromParts(seconds: number, nanos: number): Duration {
  const valid = Number.isInteger(seconds) && seconds >= 0 && seconds <= longestSeconds;
  if (!valid || !Number.isInteger(nanos) || nanos < 0 || nanos > largestNanos) throw invalid({ seconds, nanos });
  return { seconds: BigInt(seconds), nanos, $unknown: undefined };
}

function invalid(ttl: unknown): FunctionError {
  const expected = "milliseconds, {seconds, nanos} or null, none of them negative";
  return new FunctionError("INVALID_TTL", `cannot use ${JSON.stringify(ttl)} as a TTL: expected ${expected}`);
}
