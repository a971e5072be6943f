// SPDX-License-Identifier: Apache-2.0

import { Buffer } from "node:buffer";
import { isJsonObject, type JsonObject, type JsonValue, setOwn } from "@purlin/function-protocol";
import { isMark, type Mark, markPattern } from "./sensitive-fields.ts";

/** Shorter values occur by chance: they are marked where they are, and not searched for elsewhere. */
const leastBytes = 8;

/** Above this number of forms, bytes are searched in one pass over an index instead of once for each form. */
const fewForms = 24;

/** A text under which a value may occur. */
interface Form {
  readonly form: string;
  readonly bytes: Buffer;
  readonly mark: string;
}

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
  readonly forms: readonly string[];
}

const rememberedValues = 2000;

/** Remembers marks and forms of values that occur in many runs. */
export class KnownValues {
  readonly #mark: Mark;
  readonly #known = new Map<string, KnownValue>();

  constructor(mark: Mark) {
    this.#mark = mark;
  }

  mark(value: Uint8Array): string {
    return this.#mark(value);
  }

  get(id: string, value: Uint8Array): KnownValue {
    const known = this.#known.get(id);
    if (known !== undefined) return known;
    const found = { mark: this.#mark(value), forms: secretForms(value) };
    if (this.#known.size >= rememberedValues) this.#known.clear();
    this.#known.set(id, found);
    return found;
  }
}

/** Replaces the secret values of one run wherever their text, base64 or URL form occurs. */
export class Scrubber implements SecretCollector {
  readonly #values: KnownValues;
  readonly #seen = new Set<string>();
  readonly #forms = new Map<string, string>();
  /** Whether the run has any secret value, long enough to be searched for or not. */
  hasValues = false;
  #ordered: readonly Form[] | undefined;
  #index: Map<number, Buffer[]> | undefined;

  constructor(values: KnownValues) {
    this.#values = values;
  }

  mark(value: Uint8Array): string {
    this.hasValues = true;
    return this.#values.mark(value);
  }

  add(value: Uint8Array): string {
    const id = Buffer.from(value).toString("latin1");
    if (isMark(id)) return id;
    this.hasValues = true;
    const { mark, forms } = this.#values.get(id, value);
    if (this.#seen.has(id)) return mark;
    this.#seen.add(id);
    for (const form of forms) if (!this.#forms.has(form)) this.#forms.set(form, mark);
    this.#ordered = undefined;
    this.#index = undefined;
    return mark;
  }

  get hasForms(): boolean {
    return this.#forms.size > 0;
  }

  /** Whether encoded bytes contain any of the values. */
  isIn(bytes: Uint8Array): boolean {
    if (!this.hasForms) return false;
    const forms = this.#list();
    const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    return forms.length <= fewForms ? forms.some((one) => buffer.includes(one.bytes)) : this.#scan(buffer);
  }

  text(text: string): string {
    if (!this.hasForms) return text;
    let clean = text;
    for (const { form, mark } of this.#list()) if (clean.includes(form)) clean = replaced(clean, form, mark);
    return clean;
  }

  /** A copy with clean strings and keys; the value itself when nothing had to be replaced. */
  value(value: JsonValue): JsonValue {
    if (typeof value === "string") return this.text(value);
    if (Array.isArray(value)) {
      const items = value.map((item) => this.value(item));
      return items.some((item, index) => item !== value[index]) ? items : value;
    }
    if (!isJsonObject(value)) return value;
    return this.#members(value);
  }

  #members(object: JsonObject): JsonObject {
    const clean: JsonObject = {};
    let isChanged = false;
    for (const [key, member] of Object.entries(object)) {
      const [name, inner] = [this.text(key), this.value(member)];
      isChanged ||= name !== key || inner !== member;
      setOwn(clean, name, inner);
    }
    return isChanged ? clean : object;
  }

  /** Longest first: a value that contains another is replaced as a whole. */
  #list(): readonly Form[] {
    this.#ordered ??= [...this.#forms]
      .map(([form, mark]) => ({ form, mark, bytes: Buffer.from(form) }))
      .sort((a, b) => b.form.length - a.form.length);
    return this.#ordered;
  }

  /** Looks every four bytes up in an index of how forms begin. */
  #scan(buffer: Buffer): boolean {
    this.#index ??= indexOf(this.#list().map(({ bytes }) => bytes));
    let window = 0;
    for (let at = 0; at < buffer.length; at++) {
      window = ((window << 8) | (buffer[at] ?? 0)) >>> 0;
      if (at < 3) continue;
      for (const form of this.#index.get(window) ?? []) {
        if (buffer.subarray(at - 3, at - 3 + form.length).equals(form)) return true;
      }
    }
    return false;
  }
}

/** Replaces a form everywhere but within the marks of other values: a value may be `REDACTED`. */
function replaced(text: string, form: string, mark: string): string {
  const marks = text.match(markPattern) ?? [];
  if (!marks.some((one) => one.includes(form))) return text.replaceAll(form, mark);
  const parts = text.split(markPattern).map((part) => part.replaceAll(form, mark));
  return parts.map((part, index) => `${part}${marks[index] ?? ""}`).join("");
}

function indexOf(forms: readonly Buffer[]): Map<number, Buffer[]> {
  const index = new Map<number, Buffer[]>();
  for (const form of forms) {
    const start = form.readUInt32BE(0);
    const known = index.get(start);
    if (known === undefined) index.set(start, [form]);
    else known.push(form);
  }
  return index;
}

/** The texts under which a secret value may occur elsewhere: plain, escaped, in a URL, in base64, and line by line. */
function secretForms(value: Uint8Array): readonly string[] {
  if (value.length < leastBytes) return [];
  const forms = new Set<string>(base64Forms(value));
  const text = textOf(value);
  if (text !== undefined) for (const form of textForms(text)) forms.add(form);
  return [...forms].filter(isLong);
}

const isLong = (text: string): boolean => Buffer.byteLength(text) >= leastBytes;

function textForms(text: string): readonly string[] {
  // A private key in a manifest is indented, so that only its lines are the same. Armor lines are not secret.
  const lines = text.includes("\n") ? text.split(/\r?\n/).map((line) => line.trim()) : [];
  const secret = lines.filter((line) => isLong(line) && !line.startsWith("-----"));
  const whole = [text, text.trim()].filter(isLong);
  return [...whole, ...secret].flatMap((one) => [one, JSON.stringify(one).slice(1, -1), ...urlForms(one)]);
}

function urlForms(text: string): readonly string[] {
  try {
    const encoded = encodeURIComponent(text);
    return [encoded, encoded.replaceAll("%20", "+"), encodeURI(text)];
  } catch {
    // A lone surrogate has no URL form.
    return [];
  }
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
