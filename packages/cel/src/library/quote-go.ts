// SPDX-License-Identifier: Apache-2.0

/** Characters that a quoted text has a short escape for. */
export const shortEscapes: ReadonlyMap<string, string> = new Map([
  ["\u0007", "\\a"],
  ["\b", "\\b"],
  ["\f", "\\f"],
  ["\n", "\\n"],
  ["\r", "\\r"],
  ["\t", "\\t"],
  ["\v", "\\v"],
  ["\\", "\\\\"],
  ['"', '\\"'],
]);

/** A string in double quotes with everything that cannot be printed escaped, as Go's `%q` does it. */
export function quoteGo(text: string): string {
  return `"${text.replace(/[^ \p{L}\p{M}\p{N}\p{P}\p{S}]|["\\]/gu, (char) => shortEscapes.get(char) ?? escapeCode(char))}"`;
}

function escapeCode(char: string): string {
  const code = char.codePointAt(0) ?? 0;
  if (code < 0x80) return `\\x${code.toString(16).padStart(2, "0")}`;
  return code <= 0xffff ? `\\u${code.toString(16).padStart(4, "0")}` : `\\U${code.toString(16).padStart(8, "0")}`;
}
