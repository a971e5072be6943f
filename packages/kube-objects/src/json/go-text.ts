// SPDX-License-Identifier: Apache-2.0
// Messages of the reference server carry values as Go prints them. These printers give the same text.
import { isJsonObject, type JsonValue, ownValue, sortedKeys } from "./json-value.ts";

const printable = /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]$/u;
const unprintable = /[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/gu;
const plainText = /^[ !#-[\]-~]*$/;
/** The characters that Go writes with a short escape in a quoted string. */
export const goShortEscapes: Readonly<Record<string, string>> = {
  "\u0007": "\\a",
  "\b": "\\b",
  "\f": "\\f",
  "\n": "\\n",
  "\r": "\\r",
  "\t": "\\t",
  "\v": "\\v",
  "\\": "\\\\",
  '"': '\\"',
};

/** Whether Go's unicode.IsPrint holds for a character. */
export function isGoPrintable(char: string): boolean {
  return printable.test(char);
}

/** A string quoted as Go's `%q` does. */
export function goQuote(text: string): string {
  if (plainText.test(text)) return `"${text}"`;
  // Patterns of one character and fixed texts: messages carry texts of a megabyte, and a call for each character takes long.
  const common = text
    .toWellFormed()
    .replace(/\\/g, "\\\\")
    .replace(/"/g, '\\"')
    .replace(/\n/g, "\\n")
    .replace(/\t/g, "\\t");
  return `"${common.replace(unprintable, quoteChar)}"`;
}

function quoteChar(char: string): string {
  const short = goShortEscapes[char];
  if (short !== undefined) return short;
  const code = char.codePointAt(0) ?? 0;
  if (code < 0x20 || code === 0x7f) return `\\x${hex(code, 2)}`;
  return code < 0x10000 ? `\\u${hex(code, 4)}` : `\\U${hex(code, 8)}`;
}

const hex = (code: number, width: number): string => code.toString(16).padStart(width, "0");

/** A number as Go's `%v` prints it: integers plainly, other numbers with an exponent from 1e6 up and below 1e-4. */
export function goNumber(value: number | bigint): string {
  if (typeof value === "bigint" || Number.isSafeInteger(value)) return value.toString();
  return goFloat(value);
}

/** A floating-point number as Go's `%v` prints it: unlike an integer, 1000000 becomes `1e+06`. */
export function goFloat(value: number): string {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "NaN" : value > 0 ? "+Inf" : "-Inf";
  const [mantissa = "", exponentText = "0"] = value.toExponential().split("e");
  const exponent = Number(exponentText);
  if (exponent >= -4 && exponent < 6) return value.toString();
  return `${mantissa}e${exponent < 0 ? "-" : "+"}${Math.abs(exponent).toString().padStart(2, "0")}`;
}

/** A list of strings as `%q` prints it: `["a" "b"]`. */
export function goQuotedList(texts: readonly string[]): string {
  return `[${texts.map(goQuote).join(" ")}]`;
}

/** A map of strings as `%q` prints it: `map["a":"1" "b":"2"]`. */
export function goQuotedMap(map: Readonly<Record<string, string>>): string {
  return `map[${sortedKeys(map)
    .map((key) => `${goQuote(key)}:${goQuote(map[key] ?? "")}`)
    .join(" ")}]`;
}

const safeInJson = /^[ !#-%'-;=?-[\]-\u2027\u202a-\ud7ff\ue000-\uffff]*$/;

/** A value as Go's json.Marshal prints it: compact, keys sorted, `<`, `>` and `&` escaped. */
export function goJson(value: JsonValue): string {
  if (typeof value === "string") return goJsonString(value);
  if (typeof value === "bigint") return value.toString();
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  if (!isJsonObject(value)) return `[${value.map(goJson).join(",")}]`;
  let text = "";
  for (const key of sortedKeys(value))
    text += `${text === "" ? "" : ","}${goJsonString(key)}:${goJson(value[key] ?? null)}`;
  return `{${text}}`;
}

/** A JSON string literal as Go's json.Marshal prints it. */
export function goJsonString(text: string): string {
  if (safeInJson.test(text)) return `"${text}"`;
  return JSON.stringify(text.toWellFormed()).replace(
    /[<>&\u2028\u2029]/g,
    (char) => `\\u${hex(char.charCodeAt(0), 4)}`,
  );
}

/** A value as `%v` prints it: `map[a:1 b:[x y]]`. */
export function goPlain(value: JsonValue): string {
  if (typeof value === "string") return value;
  if (typeof value === "number" || typeof value === "bigint") return goNumber(value);
  if (Array.isArray(value)) return `[${value.map(goPlain).join(" ")}]`;
  if (!isJsonObject(value)) return value === null ? "<nil>" : String(value);
  return `map[${sortedKeys(value)
    .map((key) => `${key}:${goPlain(ownValue(value, key) ?? null)}`)
    .join(" ")}]`;
}

/** A value as `%#v` prints it: `map[string]interface {}{"a":1}`. */
export function goSyntax(value: JsonValue): string {
  if (typeof value === "string") return goQuote(value);
  if (typeof value === "number" || typeof value === "bigint") return goNumber(value);
  if (Array.isArray(value)) return `[]interface {}{${value.map(goSyntax).join(", ")}}`;
  if (!isJsonObject(value)) return value === null ? "interface {}(nil)" : String(value);
  return `map[string]interface {}{${sortedKeys(value)
    .map((key) => `${goQuote(key)}:${goSyntax(ownValue(value, key) ?? null)}`)
    .join(", ")}}`;
}

/** The Go type a value is decoded to. */
export function goTypeName(value: JsonValue): string {
  switch (typeof value) {
    case "string":
      return "string";
    case "boolean":
      return "bool";
    case "bigint":
      return "int64";
    case "number":
      return Number.isInteger(value) ? "int64" : "float64";
    default:
      return value === null ? "<nil>" : Array.isArray(value) ? "[]interface {}" : "map[string]interface {}";
  }
}

/** A time up to its seconds as Go writes it: `2006-01-02T15:04:05`, with a sign or a fifth digit of the year where it has one. */
export function goSeconds(date: Date): string {
  const year = date.getUTCFullYear();
  const [, rest = ""] = /(-\d\d-\d\dT\d\d:\d\d:\d\d)\.\d{3}Z$/.exec(date.toISOString()) ?? [];
  return `${year < 0 ? "-" : ""}${String(Math.abs(year)).padStart(4, "0")}${rest}`;
}
