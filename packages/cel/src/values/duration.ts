// SPDX-License-Identifier: Apache-2.0
import { CelError } from "./cel-error.ts";
import { maxInt, minInt } from "./integers.ts";

/** A span of time in nanoseconds, within 64 bits. */
export class Duration {
  readonly nanos: bigint;

  constructor(nanos: bigint) {
    this.nanos = nanos;
  }
}

const overflow = new CelError("integer overflow");

/** A duration of that many nanoseconds, or an error when it is too long. */
export function durationOf(nanos: bigint): Duration | CelError {
  return nanos < minInt || nanos > maxInt ? overflow : new Duration(nanos);
}

const unitNanos: ReadonlyMap<string, bigint> = new Map([
  ["ns", 1n],
  ["us", 1000n],
  ["\u00b5s", 1000n],
  ["\u03bcs", 1000n],
  ["ms", 1_000_000n],
  ["s", 1_000_000_000n],
  ["m", 60_000_000_000n],
  ["h", 3_600_000_000_000n],
]);

/** Reads a duration such as `1h30m` or `-1.5s`, or gives undefined. */
export function parseDuration(text: string): Duration | undefined {
  const [, sign = "", body = ""] = /^([+-]?)(.*)$/s.exec(text) ?? [];
  if (body === "0") return new Duration(0n);
  if (body === "") return undefined;
  let total = 0n;
  let at = 0;
  const part = /(\d*)(?:\.(\d*))?([^\d.]+)/y;
  while (at < body.length) {
    part.lastIndex = at;
    const match = part.exec(body);
    const nanos = match ? partNanos(match) : undefined;
    if (nanos === undefined) return undefined;
    total += nanos;
    if (total > maxInt + 1n) return undefined;
    at = part.lastIndex;
  }
  if (sign === "-") return new Duration(-total);
  return total > maxInt ? undefined : new Duration(total);
}

function partNanos([, whole = "", fraction = "", unit = ""]: RegExpExecArray): bigint | undefined {
  const scale = unitNanos.get(unit);
  if (scale === undefined || (whole === "" && fraction === "")) return undefined;
  const significant = whole.replace(/^0+/, "");
  if (significant.length > 19) return undefined;
  const amount = BigInt(significant || "0");
  if (amount > maxInt + 1n) return undefined;
  // What is below a nanosecond is cut off. More than 18 digits cannot matter.
  const digits = fraction.slice(0, 18);
  const part = digits === "" ? 0n : (BigInt(digits) * scale) / 10n ** BigInt(digits.length);
  return amount * scale + part;
}
