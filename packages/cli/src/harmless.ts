// SPDX-License-Identifier: Apache-2.0

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this is about.
const colors = /\u001b\[[0-9;:]*m/g;
/**
 * What terminals obey: C0 and C1 controls but tabs and line feeds, marks that reverse or separate what is shown, and separators that
 * some take for ends of lines.
 */
const unsafe =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this is about.
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/**
 * A text that others wrote, as a terminal may show it: colors are left out, and every other character that moves the cursor, sets
 * titles, rings bells or reverses text is written as an escape such as `\x1b`, so that two different names never look the same. Lines and
 * tabs stay.
 */
export function harmless(text: string): string {
  return text.replaceAll(colors, "").replaceAll("\r\n", "\n").replaceAll(unsafe, escaped);
}

/** Bold, dim, and the four colors that {@link createStyle} gives, and what ends one or all of them. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this is about.
const ownColors = /(\u001b\[(?:0|1|2|22|31|32|33|36|39)?m)/;

/**
 * What a command prints on a terminal: as {@link harmless}, but with the colors of this program. A program that it runs may use them, too;
 * what that leaves bold or colored ends with the text, so that it is not continued by what comes next.
 */
export function harmlessOutput(text: string): string {
  const parts = text.split(ownColors);
  const shown = parts.map((part, index) => (index % 2 === 1 ? part : harmless(part))).join("");
  return `${shown}${missingEnds(parts.filter((_, index) => index % 2 === 1))}`;
}

function missingEnds(sequences: readonly string[]): string {
  let [isBold, isColored] = [false, false];
  for (const sequence of sequences) {
    const code = Number(sequence.slice(2, -1));
    // 0 ends both.
    if (code < 30) isBold = code === 1 || code === 2;
    if (code === 0 || code > 30) isColored = code > 30 && code < 39;
  }
  return `${isBold ? "\u001b[22m" : ""}${isColored ? "\u001b[39m" : ""}`;
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
