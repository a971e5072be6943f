// SPDX-License-Identifier: Apache-2.0
// Reads DER one element after the other, as far as the caller wants to; and PEM, in which DER is sent.
import { bitsOf, hasValidPadding, isMinimal, readOid } from "./der-shapes.ts";

/** What {@link DerCursor} reads next. Each method leaves the cursor where it is when there is something else. */
export class DerCursor {
  readonly #bytes: Uint8Array;
  readonly #end: number;
  #at: number;

  constructor(bytes: Uint8Array, start = 0, end: number = bytes.length) {
    this.#bytes = bytes;
    this.#at = start;
    this.#end = end;
  }

  get isEmpty(): boolean {
    return this.#at >= this.#end;
  }

  /** Whether an element with the tag follows; it can still be truncated. */
  isNext(tag: number): boolean {
    return !this.isEmpty && this.#bytes[this.#at] === tag;
  }

  /** Moves behind an element with a short tag. Says where its content begins; -1 when there is no such element. */
  #skip(): number {
    const start = this.#at;
    const left = this.#end - start;
    const [tag, first] = [this.#bytes[start] ?? 0, this.#bytes[start + 1] ?? 0];
    if (left < 2 || (tag & 0x1f) === 0x1f) return -1;
    const count = first < 0x80 ? 0 : first & 0x7f;
    if ((first >= 0x80 && count === 0) || count > 4 || left < 2 + count) return -1;
    const content = start + 2 + count;
    let length = count === 0 ? first : 0;
    for (let at = start + 2; at < content; at += 1) length = length * 256 + (this.#bytes[at] ?? 0);
    if (count > 0 && (length < 0x80 || this.#bytes[start + 2] === 0)) return -1;
    if (content + length > this.#end) return -1;
    this.#at = content + length;
    return content;
  }

  /** Any element with a short tag. */
  any(): { readonly tag: number; readonly whole: Uint8Array; readonly content: Uint8Array } | undefined {
    const start = this.#at;
    const content = this.#skip();
    if (content < 0) return undefined;
    return {
      tag: this.#bytes[start] ?? 0,
      whole: this.#bytes.subarray(start, this.#at),
      content: this.#bytes.subarray(content, this.#at),
    };
  }

  /** The whole element with this tag. */
  element(tag: number): Uint8Array | undefined {
    const start = this.#at;
    return this.isNext(tag) && this.#skip() >= 0 ? this.#bytes.subarray(start, this.#at) : undefined;
  }

  /** The content of an element with this tag. */
  read(tag: number): Uint8Array | undefined {
    const content = this.isNext(tag) ? this.#skip() : -1;
    return content < 0 ? undefined : this.#bytes.subarray(content, this.#at);
  }

  /** A cursor over the content of an element with this tag. */
  open(tag: number): DerCursor | undefined {
    const content = this.isNext(tag) ? this.#skip() : -1;
    return content < 0 ? undefined : new DerCursor(this.#bytes, content, this.#at);
  }

  oid(): string | undefined {
    const content = this.read(0x06);
    try {
      return content && readOid(content);
    } catch {
      return undefined;
    }
  }

  /** The bytes of an INTEGER. */
  integer(tag = 0x02): Uint8Array | undefined {
    const content = this.read(tag);
    return content === undefined || content.length === 0 || !isMinimal(content) ? undefined : content;
  }

  /** The bytes of a BIT STRING, with its padding in front. */
  bits(): Uint8Array | undefined {
    const content = this.read(0x03);
    return content === undefined || content.length === 0 || !hasValidPadding(content) ? undefined : bitsOf(content);
  }

  boolean(): boolean | undefined {
    const content = this.read(0x01);
    const [value] = content ?? [];
    return content?.length === 1 && (value === 0 || value === 0xff) ? value === 0xff : undefined;
  }
}

/** A block of a PEM file. */
export interface PemBlock {
  readonly type: string;
  readonly hasHeaders: boolean;
  readonly bytes: Uint8Array;
  /** What follows the block. */
  readonly rest: string;
}

const begin = "-----BEGIN ";
const end = "\n-----END ";
const dashes = "-----";

/** The first line without the white space at its end, and where the next one begins. */
function firstLine(text: string): { readonly line: string; readonly next: number } {
  const at = text.indexOf("\n");
  let stop = at < 0 ? text.length : text[at - 1] === "\r" ? at - 1 : at;
  while (text[stop - 1] === " " || text[stop - 1] === "\t") stop -= 1;
  return { line: text.slice(0, stop), next: at < 0 ? text.length : at + 1 };
}

/** The first whole block of a PEM file, as Go finds it: between an end and the last beginning before it. `pem` has a character for each byte. */
export function decodePem(pem: string): PemBlock | undefined {
  let rest = pem;
  for (let skip = 0; skip >= 0 && skip <= rest.length; ) {
    rest = rest.slice(skip);
    const endAt = rest.indexOf(end);
    if (endAt < 0) return undefined;
    skip = endAt + end.length;
    const start = rest.slice(0, endAt).lastIndexOf(begin);
    if (start < 0 || (start > 0 && rest[start - 1] !== "\n")) continue;
    const found = readBlock(rest.slice(start + begin.length), endAt - start - begin.length);
    if (found === undefined || "bytes" in found) return found;
    ({ rest, skip } = found);
  }
  return undefined;
}

interface Skipped {
  readonly rest: string;
  readonly skip: number;
}

/** A block from behind its BEGIN. Undefined when nothing follows that can be one. */
function readBlock(text: string, endAt: number): PemBlock | Skipped | undefined {
  const { line: first, next } = firstLine(text);
  const type = first.slice(0, -dashes.length);
  let [rest, last, hasHeaders] = [text.slice(next), endAt - next, false];
  const skipped = (): Skipped => ({ rest, skip: last + end.length });
  if (!first.endsWith(dashes)) return skipped();
  for (;;) {
    if (rest === "") return undefined;
    const { line, next: after } = firstLine(rest);
    if (!line.includes(":")) break;
    [rest, last, hasHeaders] = [rest.slice(after), last - after, true];
  }
  if (hasHeaders && last < 0) return skipped();
  const trailer = rest.slice(last + end.length);
  const isClosed =
    trailer.startsWith(type + dashes) && firstLine(trailer.slice(type.length + dashes.length)).line === "";
  const bytes = isClosed ? decodeBase64(rest.slice(0, Math.max(last, 0))) : undefined;
  if (bytes === undefined) return skipped();
  const line = rest.slice(last + end.length - 1);
  return { type, hasHeaders, bytes, rest: line.slice(firstLine(line).next) };
}

function decodeBase64(text: string): Uint8Array | undefined {
  const digits = text.replaceAll(/[ \t\r\n]/g, "");
  const isBase64 = digits.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(digits);
  return isBase64 ? Buffer.from(digits, "base64") : undefined;
}
