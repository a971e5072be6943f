// SPDX-License-Identifier: Apache-2.0
// Wording shared by the rules for names, labels and annotations.

/** `must be no more than <n> bytes`. Names say characters, labels say bytes; both count bytes. */
export function tooLongText(max: number, unit: "bytes" | "characters"): string {
  return `must be no more than ${max} ${unit}`;
}

/** What a value must look like, with examples and the pattern itself. */
export function patternText(text: string, pattern: string, examples: readonly string[]): string {
  const shown = examples.map((example) => `'${example}', `).join(" or ");
  return examples.length === 0
    ? `${text} (regex used for validation is '${pattern}')`
    : `${text} (e.g. ${shown}regex used for validation is '${pattern}')`;
}
