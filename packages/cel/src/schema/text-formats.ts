// SPDX-License-Identifier: Apache-2.0
import { CelError } from "../values/cel-error.ts";
import { Duration, parseDuration } from "../values/duration.ts";
import { epochSeconds, parseTimestamp, Timestamp } from "../values/timestamp.ts";
import type { Value } from "../values/value.ts";

/** A string of the data as the value its format stands for. */
export function readText(text: string, format: string | undefined): Value {
  switch (format) {
    case "duration":
      return parseDuration(text) ?? parseWordyDuration(text);
    case "date":
      return parseDate(text);
    case "date-time":
      return parseDateTime(text);
    case "byte":
      return parseBytes(text);
    default:
      return text;
  }
}

const units: readonly (readonly [names: readonly string[], prefix: string, nanos: bigint])[] = [
  [["ns"], "nano", 1n],
  [["us", "\u00b5s"], "micro", 1000n],
  [["ms"], "milli", 1_000_000n],
  [["s"], "sec", 1_000_000_000n],
  [["m"], "min", 60_000_000_000n],
  [["h", "hr"], "hour", 3_600_000_000_000n],
  [["d"], "day", 86_400_000_000_000n],
  [["w", "wk"], "week", 604_800_000_000_000n],
];

/** Durations such as `3 days 4 hours`, which OpenAPI's format takes too. */
function parseWordyDuration(text: string): Duration | CelError {
  let nanos = 0n;
  let isFound = false;
  for (const [, digits = "", word = ""] of text.matchAll(/(?<!\d)(\d+)\s*([A-Za-z\u00b5]+)/g)) {
    if (digits.length > 18) {
      return new CelError(`Invalid duration ${text}: strconv.Atoi: parsing "${digits}": value out of range`);
    }
    const unit = word.toLowerCase();
    for (const [names, prefix, scale] of units) {
      if (!names.includes(unit) && !unit.startsWith(prefix)) continue;
      isFound = true;
      nanos += BigInt(digits) * scale;
    }
  }
  if (!isFound) return new CelError(`Invalid duration ${text}: unable to parse ${text} as duration`);
  return new Duration(BigInt.asIntN(64, nanos));
}

function parseDate(text: string): Timestamp | CelError {
  const [, ...parts] = /^(\d{4})-(\d\d)-(\d\d)$/.exec(text) ?? [];
  const seconds = parts.length === 3 ? epochSeconds(parts.map(Number)) : undefined;
  if (seconds !== undefined) return new Timestamp(seconds, 0);
  return new CelError(`Invalid date formatted string ${text}: parsing time "${text}" as "2006-01-02": cannot parse`);
}

/** RFC 3339, also without a zone, and an empty string for the epoch. */
function parseDateTime(text: string): Timestamp | CelError {
  if (text === "") return new Timestamp(0, 0);
  const parsed = parseTimestamp(text) ?? parseTimestamp(`${text}Z`);
  if (parsed) return parsed;
  const layout = "2006-01-02T15:04:05";
  return new CelError(
    `Invalid date-time formatted string ${text}: parsing time "${text}" as "${layout}": cannot parse`,
  );
}

/** Base64 in its URL alphabet, which is what Kubernetes decodes here, line breaks left out. */
function parseBytes(text: string): Uint8Array | CelError {
  const encoded = text.replace(/[\r\n]/g, "");
  const problem = (at: number): CelError =>
    new CelError(`Invalid byte formatted string ${text}: illegal base64 data at input byte ${at}`);
  const [valid = ""] = /^[A-Za-z0-9_-]*/.exec(encoded) ?? [];
  const padding = encoded.slice(valid.length);
  const wanted = ["", undefined, "==", "="][valid.length % 4];
  if (padding === wanted) return Buffer.from(encoded, "base64url");
  return problem(padding === "" || wanted === undefined ? encoded.length : valid.length);
}
