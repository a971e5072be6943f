// SPDX-License-Identifier: Apache-2.0
import { stripVTControlCharacters } from "node:util";

/**
 * A text that others wrote, without what could do something to a terminal: everything that moves the cursor, sets titles or
 * rings bells goes, lines and tabs stay.
 */
export function harmless(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this is about.
  return stripVTControlCharacters(text).replaceAll(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, "");
}

/** The same in one line, for tables and trees. */
export function harmlessLine(text: string): string {
  return harmless(text.trim().replaceAll(/\s*[\r\n]+\s*/g, " "));
}
