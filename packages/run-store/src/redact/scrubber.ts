// SPDX-License-Identifier: Apache-2.0

import { Buffer } from "node:buffer";
import { isPartDone, type Work } from "@purlin/base";
import { isJsonObject, type JsonObject, type JsonValue, setOwn } from "@purlin/function-protocol";
import { cutBytes, isCutText, mayHoldCutText } from "./cut-text.ts";
import { FormSearch, leastBytes, withMarks } from "./form-search.ts";
import { isMark, type Mark, markPattern, plainMark } from "./sensitive-fields.ts";

/** Takes secret values, and returns their marks. */
export interface SecretCollector {
  /** The mark of a value that is not searched for elsewhere. */
  mark(value: Uint8Array): string;
  /** Adds a value, and returns its mark. A value that is a mark already stays. */
  add(value: Uint8Array): string;
}

/** What is known of a value. */
interface KnownValue {
  readonly mark: string;
  /** Made when they are needed first. */
  forms?: readonly Buffer[];
}

/** Values that are remembered, the bytes of each, and those of all: their forms take ten times as much and more. */
const rememberedValues = 2000;
const rememberedBytes = 8192;
const allRememberedBytes: number = 2 * 2 ** 20;

/** Remembers marks and forms of values that occur in many runs. */
export class KnownValues {
  readonly #mark: Mark;
  readonly #known = new Map<string, KnownValue>();
  #bytes = 0;

  constructor(mark: Mark) {
    this.#mark = mark;
  }

  mark(value: Uint8Array): string {
    return this.#mark(value);
  }

  get(id: string, value: Uint8Array): KnownValue {
    const known = this.#known.get(id);
    if (known !== undefined) return known;
    const found = { mark: this.#mark(value) };
    if (value.length > rememberedBytes) return found;
    if (this.#known.size >= rememberedValues || this.#bytes + value.length > allRememberedBytes) {
      this.#known.clear();
      this.#bytes = 0;
    }
    this.#known.set(id, found);
    this.#bytes += value.length;
    return found;
  }
}

/**
 * Bytes of the values of one run that are searched for, and their forms. A run with more has neither objects nor texts in its record: to
 * search for all of them would take long, and to search for some would leave the others.
 */
const maxSearched = { bytes: 2 ** 20, forms: 100_000 };

/** Replaces the secret values of one run wherever their text, base64 or URL form occurs. */
export class Scrubber implements SecretCollector {
  readonly #values: KnownValues;
  /** The values that are searched for. */
  readonly #searched = new Map<string, KnownValue>();
  #bytes = 0;
  /** Whether the run has any secret value, long enough to be searched for or not. */
  hasValues = false;
  #isOpaque = false;
  #search: FormSearch | undefined;

  constructor(values: KnownValues) {
    this.#values = values;
  }

  mark(value: Uint8Array): string {
    this.hasValues = true;
    return this.#values.mark(value);
  }

  add(value: Uint8Array): string {
    if (value.length > maxSearched.bytes) return this.#addUnsearched(value);
    const id = Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString("latin1");
    if (isMark(id)) return id;
    const before = this.#searched.get(id);
    if (before !== undefined) return before.mark;
    if (value.length >= leastBytes && this.#bytes + value.length > maxSearched.bytes) return this.#addUnsearched(value);
    this.hasValues = true;
    const known = this.#values.get(id, value);
    if (value.length < leastBytes) return known.mark;
    this.#bytes += value.length;
    this.#searched.set(id, known);
    this.#search = undefined;
    return known.mark;
  }

  #addUnsearched(value: Uint8Array): string {
    this.setOpaque();
    return this.mark(value);
  }

  /** There are values which are not known: nothing is known to have none of them. */
  setOpaque(): void {
    this.hasValues = true;
    this.#isOpaque = true;
  }

  /** Whether there are values to search for. */
  get hasForms(): boolean {
    return this.#isOpaque || this.#searched.size > 0;
  }

  /** Whether there are too many values to search for, so that nothing is known to have none of them. */
  *isOpaque(): Work<boolean> {
    if (!this.#isOpaque && this.#searched.size > 0) yield* this.#prepared();
    return this.#isOpaque;
  }

  /** Whether encoded bytes may contain any of the values, or the beginning of one at the end of a text that was cut. */
  *isIn(bytes: Uint8Array): Work<boolean> {
    if (!this.hasForms) return false;
    const search = yield* this.#prepared();
    return search === undefined || mayHoldCutText(bytes) || (yield* search.isIn(bytes));
  }

  *text(text: string): Work<string> {
    if (!this.hasForms || text === "") return text;
    const search = yield* this.#prepared();
    if (search === undefined) return isMark(text) ? text : plainMark(new Uint8Array());
    return yield* cleanText(text, search);
  }

  /** A copy with clean strings and keys; the value itself when nothing had to be replaced. */
  *value(value: JsonValue): Work<JsonValue> {
    if (!this.hasForms) return value;
    const search = yield* this.#prepared();
    return search === undefined ? plainMark(new Uint8Array()) : yield* cleanValue(value, search);
  }

  /** The search for all values; undefined if they have too many forms. */
  *#prepared(): Work<FormSearch | undefined> {
    if (this.#isOpaque) return undefined;
    if (this.#search !== undefined) return this.#search;
    const size = this.#searched.size;
    const forms = new Map<string, { readonly bytes: Buffer; readonly mark: string }>();
    for (const [id, known] of this.#searched) {
      known.forms ??= yield* secretForms(Buffer.from(id, "latin1"));
      for (const bytes of known.forms) {
        if (isPartDone()) yield;
        const form = bytes.toString("latin1");
        if (!forms.has(form)) forms.set(form, { bytes, mark: known.mark });
      }
      if (forms.size > maxSearched.forms) {
        this.#isOpaque = true;
        return undefined;
      }
    }
    const search = yield* FormSearch.of([...forms.values()]);
    if (size === this.#searched.size) this.#search = search;
    return search;
  }
}

function* cleanValue(value: JsonValue, search: FormSearch): Work<JsonValue> {
  if (typeof value === "string") return yield* cleanText(value, search);
  if (Array.isArray(value)) {
    const items: JsonValue[] = [];
    for (const item of value) {
      if (isPartDone()) yield;
      items.push(isPlain(item) ? item : yield* cleanValue(item, search));
    }
    return items.some((item, index) => item !== value[index]) ? items : value;
  }
  return isJsonObject(value) ? yield* cleanMembers(value, search) : value;
}

/** Whether a value has no text. */
const isPlain = (value: JsonValue): boolean =>
  typeof value !== "string" && (typeof value !== "object" || value === null);

function* cleanMembers(object: JsonObject, search: FormSearch): Work<JsonObject> {
  const clean: JsonObject = {};
  let isChanged = false;
  for (const [key, member] of Object.entries(object)) {
    if (isPartDone()) yield;
    const name = yield* cleanText(key, search);
    const inner = isPlain(member) ? member : yield* cleanValue(member, search);
    isChanged ||= name !== key || inner !== member;
    setOwn(clean, name, inner);
  }
  return isChanged ? clean : object;
}

/** Replaces values everywhere but within the marks of other values: a value may be `REDACTED`. */
function* cleanText(text: string, search: FormSearch): Work<string> {
  const bytes = Buffer.from(text);
  const isCut = isCutText(text);
  if (!isCut && !(yield* search.mayBeIn(bytes))) return text;
  const found = yield* search.find(bytes, marksIn(bytes));
  const matches = isCut ? yield* search.withCut(found, bytes.subarray(0, -cutBytes)) : found;
  return matches.length === 0 ? text : yield* withMarks(bytes, matches);
}

function marksIn(bytes: Buffer): readonly { readonly start: number; readonly end: number }[] {
  if (!bytes.includes("**REDACTED")) return [];
  const found = bytes.toString("latin1").matchAll(markPattern);
  return Array.from(found, ({ index, 0: mark }) => ({ start: index, end: index + mark.length }));
}

/** The texts under which a secret value may occur elsewhere: plain, in JSON, in a URL, in base64, and line by line. */
function* secretForms(value: Buffer): Work<readonly Buffer[]> {
  const forms = new Set<string>();
  for (const bytes of [value, ...trimmedForms(value)]) {
    for (const form of base64Forms(bytes)) forms.add(form);
    yield;
  }
  for (const text of yield* secretTexts(value)) {
    if (isPartDone() || text.length > longText) yield;
    for (const form of [text, ...(yield* jsonForms(text)), ...(yield* urlForms(text))]) forms.add(form);
  }
  const found: Buffer[] = [];
  for (const form of forms) {
    if (isPartDone()) yield;
    const bytes = Buffer.from(form);
    if (bytes.length >= leastBytes) found.push(bytes);
  }
  return found;
}

const longText = 4096;
const isLong = (text: string): boolean => Buffer.byteLength(text) >= leastBytes;

function* secretTexts(value: Buffer): Work<readonly string[]> {
  const text = textOf(value);
  if (text === undefined) return [];
  const secret = [text, text.trim()].filter(isLong);
  if (!text.includes("\n")) return secret;
  // A private key in a manifest is indented, so that only its lines are the same. Armor lines are not secret.
  for (let start = 0; start <= text.length; ) {
    if (isPartDone()) yield;
    const end = text.indexOf("\n", start);
    const line = text.slice(start, end < 0 ? text.length : end).trim();
    if (isLong(line) && !line.startsWith("-----")) secret.push(line);
    start = (end < 0 ? text.length : end) + 1;
  }
  return secret;
}

/** The value without space around it, where it has some: a file often ends with a line break, which its readers leave out. */
function trimmedForms(value: Buffer): readonly Buffer[] {
  const text = textOf(value);
  const trimmed = text?.trim();
  return trimmed === undefined || trimmed === text || !isLong(trimmed) ? [] : [Buffer.from(trimmed)];
}

/** As JavaScript, Go and Python write a text in JSON. */
function* jsonForms(text: string): Work<readonly string[]> {
  const json = JSON.stringify(text).slice(1, -1);
  const escaped = (characters: RegExp): Work<string> =>
    inParts(json, (part) => part.replaceAll(characters, unicodeEscape));
  return [json, yield* escaped(/[<>&\u2028\u2029]/g), yield* escaped(/[\u007f-\uffff]/g)];
}

function unicodeEscape(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

function* urlForms(text: string): Work<readonly string[]> {
  // A lone surrogate has no URL form.
  if (!text.isWellFormed()) return [];
  const inForm = (part: string): string => encodeURIComponent(part).replaceAll("%20", "+");
  return [yield* inParts(text, encodeURIComponent), yield* inParts(text, inForm), yield* inParts(text, encodeURI)];
}

const partLength = 16 * 1024;

/** A text that is changed in parts: a value may have a megabyte, and each of its characters may need an escape. */
function* inParts(text: string, change: (part: string) => string): Work<string> {
  if (text.length <= partLength) return change(text);
  const parts: string[] = [];
  for (let start = 0; start < text.length; ) {
    const end = boundaryAt(text, start + partLength);
    parts.push(change(text.slice(start, end)));
    start = end;
    yield;
  }
  return parts.join("");
}

/** A place nearby that is not within a character of two units. */
function boundaryAt(text: string, near: number): number {
  return (text.charCodeAt(near) & 0xfc00) === 0xdc00 ? near + 1 : near;
}

/** Base64 at each of the three offsets at which a value can begin within a longer one, such as `user:password`. */
function base64Forms(value: Uint8Array): readonly string[] {
  return [0, 1, 2].flatMap((offset) => {
    const shifted = Buffer.concat([Buffer.alloc(offset), value]);
    const encoded = shifted.toString("base64").replaceAll("=", "");
    // Characters at either end that hold bits of the neighbours differ from case to case.
    const core = encoded.slice(Math.ceil((offset * 8) / 6), Math.floor((shifted.length * 8) / 6));
    return [core, core.replaceAll("+", "-").replaceAll("/", "_")];
  });
}

const utf8 = new TextDecoder("utf-8", { fatal: true });

function textOf(value: Uint8Array): string | undefined {
  try {
    return utf8.decode(value);
  } catch {
    return undefined;
  }
}
