// SPDX-License-Identifier: Apache-2.0

import { goQuote, goSeconds } from "../json/go-text.ts";
import { isJsonArray, type JsonValue } from "../json/json-value.ts";
import { canonicalQuantity } from "./quantity.ts";

/** JSON that does not fit the type it was sent as. The message is the one Go's decoder gives. */
export class TypedFormError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "TypedFormError";
  }
}

// Times as Go's parser reads them, which takes more than RFC 3339 has and says exactly what it could not take.

/** A time of the past or the future, in UTC. */
interface GoTime {
  /** Up to the seconds: `2006-01-02T15:04:05`. */
  readonly seconds: string;
  /** The first six digits of the fraction; none for a layout without one. */
  readonly micros: string;
}

const layouts = { seconds: "2006-01-02T15:04:05Z07:00", micros: "2006-01-02T15:04:05.000000Z07:00" } as const;

/** Reads a time in one of the layouts of the reference. Throws a TypedFormError in the words of Go. */
export function parseGoTime(text: string, precision: keyof typeof layouts): GoTime {
  return new Parser(text, precision).time();
}

class Parser {
  readonly #text: string;
  readonly #precision: keyof typeof layouts;
  #rest: string;

  constructor(text: string, precision: keyof typeof layouts) {
    this.#text = text;
    this.#rest = text;
    this.#precision = precision;
  }

  time(): GoTime {
    const year = this.#take(/^\d{4}/, "2006");
    this.#literal("-");
    const month = this.#inRange(this.#take(/^\d\d/, "01"), "month", { least: 1, most: 12 });
    this.#literal("-");
    const day = this.#take(/^\d\d/, "02");
    this.#literal("T");
    const hour = this.#inRange(this.#take(/^\d\d?/, "15"), "hour", { most: 23 });
    this.#literal(":");
    const minute = this.#inRange(this.#take(/^\d\d/, "04"), "minute", { most: 59 });
    this.#literal(":");
    const second = this.#inRange(this.#take(/^\d\d/, "05"), "second", { most: 59 });
    const micros = this.#fraction();
    const offset = this.#offset();
    if (this.#rest !== "") throw this.#failed(`extra text: ${goQuote(this.#rest)}`);
    if (Number(day) < 1 || Number(day) > daysIn(Number(year), month)) throw this.#failed("day out of range");
    const date = new Date(0);
    date.setUTCFullYear(Number(year), month - 1, Number(day));
    date.setUTCHours(hour, minute - offset, second);
    return { seconds: goSeconds(date), micros };
  }

  /** A fraction is read past where the layout has none. */
  #fraction(): string {
    if (this.#precision === "micros") return this.#take(/^[.,]\d{6}/, ".000000").slice(1);
    this.#rest = this.#rest.replace(/^[.,]\d+/, "");
    return "";
  }

  /** Minutes east of Greenwich. */
  #offset(): number {
    const zone = this.#take(/^(Z|[-+]\d\d:\d\d)/, "Z07:00");
    if (zone === "Z") return 0;
    const hours = this.#inRange(zone.slice(1, 3), "time zone offset hour", { most: 24 });
    const minutes = this.#inRange(zone.slice(4), "time zone offset minute", { most: 60 });
    return (zone.startsWith("-") ? -1 : 1) * (hours * 60 + minutes);
  }

  #literal(text: string): void {
    if (!this.#rest.startsWith(text)) throw this.#unparsed(text);
    this.#rest = this.#rest.slice(text.length);
  }

  #take(pattern: RegExp, element: string): string {
    const found = pattern.exec(this.#rest)?.[0];
    if (found === undefined) throw this.#unparsed(element);
    this.#rest = this.#rest.slice(found.length);
    return found;
  }

  #inRange(
    digits: string,
    name: string,
    { least = 0, most }: { readonly least?: number; readonly most: number },
  ): number {
    const value = Number(digits);
    if (value < least || value > most) throw this.#failed(`${name} out of range`);
    return value;
  }

  #unparsed(element: string): TypedFormError {
    const layout = goQuote(layouts[this.#precision]);
    const why = `cannot parse ${goQuote(this.#rest)} as ${goQuote(element)}`;
    return new TypedFormError(`parsing time ${goQuote(this.#text)} as ${layout}: ${why}`);
  }

  #failed(why: string): TypedFormError {
    return new TypedFormError(`parsing time ${goQuote(this.#text)}: ${why}`);
  }
}

function daysIn(year: number, month: number): number {
  const date = new Date(0);
  date.setUTCFullYear(year, month, 0);
  return date.getUTCDate();
}

/** Types that are not objects of their fields in JSON: how a value of theirs is written. Null stays null. */
export const specialForms: Readonly<Record<string, (value: JsonValue) => JsonValue>> = {
  "resource.Quantity": quantity,
  "intstr.IntOrString": intOrString,
  "meta.v1.Time": (value) => time(value, "seconds"),
  "meta.v1.MicroTime": (value) => time(value, "micros"),
  "meta.v1.FieldsV1": (value) => value,
  "runtime.RawExtension": (value) => value,
  "apiextensions.v1.JSON": (value) => value,
  "=list": listOfTexts,
};

/** A list as the value of a map, such as the extra information about a user. A null in it is read as an empty text. */
function listOfTexts(value: JsonValue): JsonValue {
  if (value === null) return value;
  const items = isJsonArray(value) ? value.map((item) => item ?? "") : [0];
  if (items.every((item) => typeof item === "string")) return items;
  throw new TypedFormError("not a list of strings");
}

const quantityRule = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";

function quantity(value: JsonValue): JsonValue {
  if (value === null) return "0";
  // The text of a list of one number would be that number.
  if (typeof value === "object") throw new TypedFormError(quantityRule);
  const text = typeof value === "string" ? value : String(value);
  const canonical = canonicalQuantity(text.trim());
  if (canonical === undefined) throw new TypedFormError(quantityRule);
  return canonical;
}

/** A time in UTC: whole seconds, or six decimals where the type keeps microseconds. */
function time(value: JsonValue, precision: "seconds" | "micros"): JsonValue {
  if (value === null) return null;
  if (typeof value !== "string") throw new TypedFormError("a time is written as a string");
  const { seconds, micros } = parseGoTime(value, precision);
  return precision === "micros" ? `${seconds}.${micros}Z` : `${seconds}Z`;
}

function intOrString(value: JsonValue): JsonValue {
  if (value === null) return 0;
  const isNumber = typeof value === "number" && Number.isInteger(value) && value >= -(2 ** 31) && value < 2 ** 31;
  if (typeof value !== "string" && !isNumber) throw new TypedFormError("neither a number nor a string");
  return value;
}

/** Whether a value is a number that fits into a byte. */
export function isByte(value: JsonValue): value is number {
  return typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= 255;
}

/** Bytes in base64, in the form that Go writes. Throws a TypedFormError with Go's message when the text is not base64. */
export function canonicalBase64(text: string): string {
  const canonical = Buffer.from(text, "base64").toString("base64");
  // Node takes whatever it can; only what comes out as it went in is certain.
  if (canonical === text) return text;
  const at = illegalByte(Buffer.from(text));
  if (at !== undefined) throw new TypedFormError(`illegal base64 data at input byte ${at}`);
  return canonical;
}

const alphabet = new Set(Buffer.from("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"));
const padding = 0x3d;

/** Where Go's decoder would stop: at a byte it does not know, or at the group that is not complete. */
function illegalByte(bytes: Uint8Array): number | undefined {
  let digits = 0;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at] ?? 0;
    if (isLineBreak(byte)) continue;
    if (alphabet.has(byte)) {
      digits = (digits + 1) % 4;
      continue;
    }
    return byte === padding && digits >= 2 ? illegalAfterPadding(bytes, at + 1, digits === 2) : at;
  }
  return digits === 0 ? undefined : bytes.length - digits;
}

/** What may follow the first sign of padding: the second where one is due, and nothing else but line breaks. */
function illegalAfterPadding(bytes: Uint8Array, from: number, needsAnother: boolean): number | undefined {
  let at = afterLineBreaks(bytes, from);
  if (needsAnother) {
    if (at === bytes.length) return bytes.length;
    if (bytes[at] !== padding) return at - 1;
    at = afterLineBreaks(bytes, at + 1);
  }
  return at < bytes.length ? at : undefined;
}

function afterLineBreaks(bytes: Uint8Array, from: number): number {
  let at = from;
  while (at < bytes.length && isLineBreak(bytes[at] ?? 0)) at++;
  return at;
}

function isLineBreak(byte: number): boolean {
  return byte === 0x0a || byte === 0x0d;
}
