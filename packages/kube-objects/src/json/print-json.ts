// SPDX-License-Identifier: Apache-2.0
import type { JsonValue } from "./json-value.ts";

/** Options of {@link printJson}. */
interface PrintJsonOptions {
  /** Spaces per level; none by default, all on one line. */
  readonly indent?: number;
  /** Writes `<`, `>`, `&` and the line separators of Unicode as escapes, as Go does, so that no page can be broken by a text. */
  readonly htmlSafe?: boolean;
}

/** Prints a value as JSON text; bigint comes out as the integer it is. Keys keep their order. */
export function printJson(value: JsonValue, options: PrintJsonOptions = {}): string {
  const text = print(value, options.indent);
  return options.htmlSafe === true && dangerous.test(text) ? text.replaceAll(allDangerous, escaped) : text;
}

function print(value: JsonValue, indent: number | undefined): string {
  try {
    return JSON.stringify(value, undefined, indent);
  } catch (error) {
    // JSON.stringify refuses bigint. Asking every value first would slow every object down for a rare integer.
    if (!(error instanceof TypeError)) throw error;
    return JSON.stringify(value, integerAsIs, indent);
  }
}

// Outside of strings JSON has none of these, so they can be replaced in the text.
const dangerous = /[<>&\u2028\u2029]/;
const allDangerous = /[<>&\u2028\u2029]/g;

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

// Part of the language since 2025 and in Node, yet not in the compiler's library.
const { rawJSON } = JSON as unknown as { rawJSON(text: string): unknown };

function integerAsIs(_key: string, value: unknown): unknown {
  return typeof value === "bigint" ? rawJSON(value.toString()) : value;
}
