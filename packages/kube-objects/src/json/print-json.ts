// SPDX-License-Identifier: Apache-2.0
import type { JsonValue } from "./json-value.ts";

/** Options of {@link printJson}. */
export interface PrintJsonOptions {
  /** Spaces per level; none by default, all on one line. */
  readonly indent?: number;
}

/** Prints a value as JSON text; bigint comes out as the integer it is. Keys keep their order. */
export function printJson(value: JsonValue, options: PrintJsonOptions = {}): string {
  try {
    return JSON.stringify(value, undefined, options.indent);
  } catch (error) {
    // JSON.stringify refuses bigint. Asking every value first would slow every object down for a rare integer.
    if (!(error instanceof TypeError)) throw error;
    return JSON.stringify(value, integerAsIs, options.indent);
  }
}

// Part of the language since 2025 and in Node, yet not in the compiler's library.
const { rawJSON } = JSON as unknown as { rawJSON(text: string): unknown };

function integerAsIs(_key: string, value: unknown): unknown {
  return typeof value === "bigint" ? rawJSON(value.toString()) : value;
}
