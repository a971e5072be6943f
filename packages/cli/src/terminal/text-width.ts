// SPDX-License-Identifier: Apache-2.0
import { stripVTControlCharacters } from "node:util";

const graphemes = new Intl.Segmenter(undefined, { granularity: "grapheme" });
const plainText = /^[\x20-\x7e\u00a1-\u02ff\u2010-\u2027\u2500-\u259f\u2713-\u2717]*$/;
/** East Asian wide and fullwidth characters, and emoji. */
const wide =
  /^(?:[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|[\u{1f300}-\u{1faff}]|[\u{20000}-\u{3fffd}]|\p{Emoji_Presentation})/u;
const invisible = /^\p{Mark}+$|^[\u200b-\u200f\u2060\ufeff]+$/u;

/** How many columns of a terminal a text takes, without its colors. */
export function textWidth(text: string): number {
  const plain = stripVTControlCharacters(text);
  if (plainText.test(plain)) return plain.length;
  let width = 0;
  for (const { segment } of graphemes.segment(plain)) width += graphemeWidth(segment);
  return width;
}

function graphemeWidth(grapheme: string): number {
  if (invisible.test(grapheme)) return 0;
  return wide.test(grapheme) ? 2 : 1;
}

/** The longest beginning of a text that fits into so many columns, as a count of its characters; at least one. */
export function fittingLength(text: string, columns: number): number {
  let width = 0;
  let length = 0;
  for (const { segment } of graphemes.segment(text)) {
    width += graphemeWidth(segment);
    if (width > columns && length > 0) return length;
    length += segment.length;
  }
  return length;
}
