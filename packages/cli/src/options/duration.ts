// SPDX-License-Identifier: Apache-2.0
import { UserError } from "../user-error.ts";

const units: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };

/** Milliseconds of a duration such as `30s`, `1.5m` or `1m30s`; undefined for any other text. */
export function parseDuration(text: string): number | undefined {
  if (!/^(\d+(\.\d+)?(ms|s|m|h))+$/.test(text)) return undefined;
  let total = 0;
  for (const [, number, unit] of text.matchAll(/([\d.]+)(ms|s|m|h)/g))
    total += Number(number) * (units[unit ?? ""] ?? 0);
  return total;
}

/** Milliseconds of the value of --timeout. */
export function readTimeout(text: string): number {
  const ms = parseDuration(text);
  if (ms !== undefined && ms > 0) return ms;
  throw new UserError(`--timeout: expected a duration such as 30s or 1m30s, not "${text}"`, { exitCode: 2 });
}
