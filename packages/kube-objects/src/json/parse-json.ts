// SPDX-License-Identifier: Apache-2.0
import { finish, type Work } from "@purlin/base";
import { type JsonReading, readJson } from "./json-reader.ts";
import { countKeys, scanJson } from "./json-scan.ts";
import type { JsonValue } from "./json-value.ts";

/** Deeper documents are refused: code that walks objects here is recursive, and no real object comes near it. */
export const maxJsonDepth = 1000;

/**
 * Parses JSON text the way the reference server does: int64 stays exact (bigint beyond ±2^53), a key that comes twice
 * keeps its last value. Throws JsonSyntaxError with the reference's message.
 */
export function parseJson(text: string): JsonValue {
  const scan = scanJson(text);
  if (scan.needsReader || scan.depth > maxJsonDepth) return readJson(text, maxJsonDepth).value;
  return parsePlain(text) ?? readJson(text, maxJsonDepth).value;
}

/**
 * Like {@link parseJson}, and also tells the field path of every key that comes more than once (at most 100), and the numbers that are
 * not written as integers.
 */
export function parseJsonStrict(text: string): JsonReading {
  return finish(parsingJsonStrict(text));
}

/** The same in parts. `onScan` is called with the number of values there are about, before any is made. */
export function* parsingJsonStrict(text: string, onScan?: (values: number) => void): Work<JsonReading> {
  const scan = scanJson(text);
  onScan?.(scan.values);
  yield;
  if (scan.needsReader || scan.hasFractions || scan.depth > maxJsonDepth) return readJson(text, maxJsonDepth);
  const value = parsePlain(text);
  yield;
  if (value === undefined || countKeys(value) !== scan.pairs) return readJson(text, maxJsonDepth);
  return { value, duplicates: [] };
}

// Text JSON.parse refuses is read again for the message; both accept exactly the same texts.
function parsePlain(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return undefined;
  }
}
