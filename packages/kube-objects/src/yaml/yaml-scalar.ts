// SPDX-License-Identifier: Apache-2.0
// Texts and numbers as the reference's YAML writer puts them.

/** How a text is written: as it is, in quotes, or as a block of lines. */
type ScalarStyle = "plain" | "single" | "double" | "literal";

/** Words that would be read as something else than text. */
const words: ReadonlySet<string> = new Set([
  ...["", "~", "null", "Null", "NULL", "y", "Y", "yes", "Yes", "YES", "n", "N", "no", "No", "NO"],
  ...["true", "True", "TRUE", "false", "False", "FALSE", "on", "On", "ON", "off", "Off", "OFF"],
  ...[".nan", ".NaN", ".NAN"],
]);
const numbers: readonly RegExp[] = [
  /^[-+]?(0b[01]+|0o[0-7]+|0x[0-9a-fA-F]+)$/,
  /^[-+]?(\.\d+|\d+(\.\d*)?)([eE][-+]?\d+)?$/,
  /^[-+]?\.(inf|Inf|INF)$/,
  /^[-+]?\d+(:[0-5]?\d)+(\.\d*)?$/,
  /^\d{4}-\d\d?-\d\d?([Tt]\d\d?:\d\d?:\d\d?(\.\d+)?(Z|[-+]\d\d:\d\d)| \d\d?:\d\d?:\d\d?(\.\d+)?)?$/,
];

function isNumber(text: string): boolean {
  const digits = /^[-+.\d]/.test(text) ? text.replaceAll("_", "") : "";
  return digits !== "" && numbers.some((pattern) => pattern.test(digits));
}

/** What the writer does not show as it is: control characters and everything beyond U+FFFF. */
const unprintable = /[^\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd]/u;
/** Line breaks of YAML 1.1, and not of 1.2: as they are, a reader may fold them, and what follows them would be another line. */
const otherBreaks = /[\x85\u2028\u2029]/;
/** What stands for something else inside double quotes. */
const escaped = new RegExp(`${unprintable.source}|[\\n\\r"\\\\\\x85\\u2028\\u2029]`, "gu");
/** What would mean something at the beginning of a text, or in the middle of it. */
const indicator = /^(?:[#,[\]{}&*!|>'"%@`]|[-?:](?=\s|$)|---|\.\.\.)|:(?=\s|$)|\s#/;

/** The style of a text. */
export function scalarStyle(text: string): ScalarStyle {
  const hasLines = text.includes("\n");
  if (unprintable.test(text) || otherBreaks.test(text)) return "double";
  if (text.includes("\r") || text.includes(" \n")) return "double";
  if (hasLines) return text.endsWith(" ") ? "double" : "literal";
  if (words.has(text) || isNumber(text)) return "double";
  return indicator.test(text) || text.startsWith(" ") || text.endsWith(" ") ? "single" : "plain";
}

const escapes: ReadonlyMap<string, string> = new Map([
  ...Object.entries({ "\0": "0", "\x07": "a", "\b": "b", "\t": "t", "\n": "n", "\v": "v", "\f": "f", "\r": "r" }),
  ...Object.entries({ "\x1b": "e", '"': '"', "\\": "\\", "\x85": "N", "\u2028": "L", "\u2029": "P" }),
]);

/** A text inside double quotes. */
export function escapedText(text: string): string {
  return text.replace(escaped, escapedCharacter);
}

function escapedCharacter(character: string): string {
  const known = escapes.get(character);
  if (known !== undefined) return `\\${known}`;
  const hex = (character.codePointAt(0) ?? 0).toString(16).toUpperCase();
  const [letter, width] = hex.length <= 2 ? ["x", 2] : hex.length <= 4 ? ["u", 4] : ["U", 8];
  return `\\${letter}${hex.padStart(width, "0")}`;
}

/** A number as Go writes it: whole ones in full, others in the shorter form. */
export function yamlNumber(value: number | bigint): string {
  if (typeof value === "bigint" || (Number.isInteger(value) && Math.abs(value) < 2 ** 63)) {
    return BigInt(value).toString();
  }
  const [mantissa = "", exponent = "0"] = value.toExponential().split("e");
  const power = Number(exponent);
  if (power >= -4 && power < 21 && !/e/.test(String(value)) && power < 6) return String(value);
  const sign = power < 0 ? "-" : "+";
  return `${mantissa}e${sign}${String(Math.abs(power)).padStart(2, "0")}`;
}
