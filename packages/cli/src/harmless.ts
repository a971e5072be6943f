// SPDX-License-Identifier: Apache-2.0

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this is about.
const colours = /\u001b\[[0-9;:]*m/g;
/**
 * What terminals obey: C0 and C1 controls but tabs and line feeds, marks that reverse or separate what is shown, and separators that
 * some take for ends of lines.
 */
const unsafe =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this is about.
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/**
 * A text that others wrote, as a terminal may show it: colours are left out, and every other character that moves the cursor, sets
 * titles, rings bells or reverses text is written as an escape such as `\x1b`, so that two different names never look the same. Lines and
 * tabs stay.
 */
export function harmless(text: string): string {
  return text.replaceAll(colours, "").replaceAll("\r\n", "\n").replaceAll(unsafe, escaped);
}

/** The same in one line, for tables and trees. */
export function harmlessLine(text: string): string {
  const lines = text.split(/[\r\n]/).map((line) => line.trim());
  return harmless(lines.filter((line) => line !== "").join(" "));
}

/** JSON with the same value, in which the characters that terminals obey are escapes. */
export function harmlessJson(json: string): string {
  return json.replaceAll(unsafe, (character) => `\\u${hex(character, 4)}`);
}

function escaped(character: string): string {
  return character < "\u0100" ? `\\x${hex(character, 2)}` : `\\u${hex(character, 4)}`;
}

function hex(character: string, digits: number): string {
  return character.charCodeAt(0).toString(16).padStart(digits, "0");
}
