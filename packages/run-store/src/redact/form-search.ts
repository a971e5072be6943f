// SPDX-License-Identifier: Apache-2.0
// Searches for many texts at once. The time depends on the length of what is searched, not on the number of texts or on how alike they are:
// a function chooses both.

import type { Buffer } from "node:buffer";
import { randomInt } from "node:crypto";
import { isPartDone, sorting, type Work } from "@purlin/base";

/** Shorter texts are not searched for. A window of as many bytes decides whether a text may begin somewhere. */
export const leastBytes = 8;

/** A text that is searched for, in UTF-8. */
interface SearchedForm {
  readonly bytes: Uint8Array;
  readonly mark: string;
}

/** Where a form is. */
interface FormMatch {
  readonly start: number;
  readonly end: number;
  readonly mark: string;
}

/** Bases of the two hashes, odd and unknown to authors of functions. Texts with equal hashes only have more than a secret replaced. */
const [base, otherBase] = [oddBase(), oddBase()];

function oddBase(): number {
  return (2 * randomInt(2 ** 24, 2 ** 30) + 1) | 0;
}

const mostBits = 26;
/** The bases to the power of each power of two. */
const [powers, otherPowers] = [powersOf(base), powersOf(otherBase)];

function powersOf(of: number): Int32Array {
  const found = new Int32Array(mostBits);
  found[0] = of;
  for (let bit = 1; bit < mostBits; bit++) found[bit] = Math.imul(found[bit - 1] as number, found[bit - 1] as number);
  return found;
}

const windowPower = powers[Math.log2(leastBytes)] as number;
const spread = 0x9e3779b1;

/** The hashes of all beginnings of a text: those of its parts follow from them. */
interface Hashes {
  readonly length: number;
  readonly one: Int32Array;
  readonly other: Int32Array;
}

const hashedAtOnce = 2 ** 16;

function* hashesOf(bytes: Uint8Array): Work<Hashes> {
  const [one, other] = [new Int32Array(bytes.length + 1), new Int32Array(bytes.length + 1)];
  let [first, second] = [0, 0];
  for (let at = 0; at < bytes.length; at++) {
    const byte = (bytes[at] as number) + 1;
    first = (Math.imul(first, base) + byte) | 0;
    second = (Math.imul(second, otherBase) + byte) | 0;
    one[at + 1] = first;
    other[at + 1] = second;
    if (at % hashedAtOnce === hashedAtOnce - 1) yield;
  }
  return { length: bytes.length, one, other };
}

/** The hashes of all ends of a text, by their length. */
function* hashesOfEnds(bytes: Uint8Array): Work<Int32Array> {
  const { one, length } = yield* hashesOf(bytes);
  const ends = new Int32Array(length + 1);
  let power = 1;
  for (let size = 1; size <= length; size++) {
    power = Math.imul(power, base);
    ends[size] = ((one[length] as number) - Math.imul(one[length - size] as number, power)) | 0;
  }
  return ends;
}

/** To compare a form with more bytes is a part of the work of its own. */
const longForm = 4096;

const windowAt = ({ one }: Hashes, at: number): number =>
  ((one[at + leastBytes] as number) - Math.imul(one[at] as number, windowPower)) | 0;

const none = -1;
const absent = -2;

/** Numbers by the two hashes and the length of a text, in an open hash table. */
class PrefixTable {
  readonly #shift: number;
  readonly #slots: Int32Array;

  constructor(most: number) {
    const bits = Math.max(4, Math.ceil(Math.log2(2 * most + 1)));
    this.#shift = 32 - bits;
    this.#slots = new Int32Array(3 * 2 ** bits);
  }

  /** The number of a text; {@link absent} if there is none. */
  get(one: number, other: number, length: number): number {
    const slots = this.#slots;
    const at = this.#slotOf(one ^ Math.imul(length, spread), other);
    return slots[at + 2] === 0 ? absent : (slots[at + 2] as number) - 2;
  }

  set(one: number, other: number, { length, value }: { readonly length: number; readonly value: number }): void {
    const key = one ^ Math.imul(length, spread);
    const at = this.#slotOf(key, other);
    this.#slots[at] = key;
    this.#slots[at + 1] = other;
    this.#slots[at + 2] = value + 2;
  }

  /** Where a key is, or would be. */
  #slotOf(key: number, other: number): number {
    const slots = this.#slots;
    let at = 3 * (Math.imul(key ^ other, spread) >>> this.#shift);
    while (slots[at + 2] !== 0 && (slots[at] !== key || slots[at + 1] !== other)) at = (at + 3) % slots.length;
    return at;
  }
}

/** The lengths whose beginnings of a form are in the table: those with fewer of the low bits of its own length, and its own. */
function* markedLengths(length: number): Generator<number> {
  for (let bit = 31 - Math.clz32(length); bit >= 0; bit--) {
    if ((length >>> bit) & 1) yield (length >>> bit) << bit;
  }
}

/**
 * The forms, by the hashes of some of their beginnings. The longest form that begins somewhere is found in one step for each bit of its
 * length: a beginning that is in the table is longer than half of what is still possible, and knows the longest form within itself.
 */
export class FormSearch {
  readonly #forms: readonly SearchedForm[];
  readonly #table: PrefixTable;
  /** Bits of the windows with which forms begin. */
  readonly #windows: Uint8Array;
  readonly #windowShift: number;
  /** The most bytes of a form that begins with a window. */
  readonly #longest = new Map<number, number>();

  private constructor(forms: readonly SearchedForm[]) {
    this.#forms = forms;
    let marked = 0;
    for (const { bytes } of forms) for (const _ of markedLengths(bytes.length)) marked++;
    this.#table = new PrefixTable(marked);
    const bits = Math.min(22, Math.max(14, Math.ceil(Math.log2(32 * (forms.length + 1)))));
    this.#windows = new Uint8Array(2 ** bits);
    this.#windowShift = 32 - bits;
  }

  /** A search for forms of at least {@link leastBytes} bytes. */
  static *of(forms: readonly SearchedForm[]): Work<FormSearch> {
    // What a beginning knows about shorter forms is complete when they are added first.
    const search = new FormSearch(yield* sorting(forms, (a, b) => a.bytes.length - b.bytes.length));
    for (const [index, { bytes }] of search.#forms.entries()) {
      if (isPartDone()) yield;
      search.#add(index, yield* hashesOf(bytes));
    }
    return search;
  }

  #add(index: number, hashes: Hashes): void {
    for (const length of markedLengths(hashes.length)) {
      const [one, other] = [hashes.one[length] as number, hashes.other[length] as number];
      const isWhole = length === hashes.length;
      if (!isWhole && this.#table.get(one, other, length) !== absent) continue;
      this.#table.set(one, other, { length, value: isWhole ? index : this.#longestAt(hashes, 0, length) });
    }
    const window = windowAt(hashes, 0);
    this.#windows[Math.imul(window, spread) >>> this.#windowShift] = 1;
    this.#longest.set(window, hashes.length);
  }

  /** The index of the longest form that begins there, with at most this many bytes. */
  #longestAt({ one, other }: Hashes, at: number, most: number): number {
    const [before, otherBefore] = [one[at] as number, other[at] as number];
    let [length, power, otherPower, found] = [0, 1, 1, none];
    for (let bit = 31 - Math.clz32(most); bit >= 0; bit--) {
      const longer = length + 2 ** bit;
      if (longer > most) continue;
      const [next, otherNext] = [
        Math.imul(power, powers[bit] as number),
        Math.imul(otherPower, otherPowers[bit] as number),
      ];
      const hash = ((one[at + longer] as number) - Math.imul(before, next)) | 0;
      const otherHash = ((other[at + longer] as number) - Math.imul(otherBefore, otherNext)) | 0;
      const value = this.#table.get(hash, otherHash, longer);
      if (value === absent) continue;
      [length, power, otherPower, found] = [longer, next, otherNext, value];
    }
    return found;
  }

  /** Whether a form may be in the bytes. Most bytes have none, and this is all that is done for them. */
  *mayBeIn(bytes: Uint8Array): Work<boolean> {
    for (let start = 0; start < bytes.length; start += hashedAtOnce) {
      if (start > 0) yield;
      if (this.#mayBeInPart(bytes.subarray(start, start + hashedAtOnce + leastBytes))) return true;
    }
    return false;
  }

  #mayBeInPart(bytes: Uint8Array): boolean {
    const [windows, shift, longest] = [this.#windows, this.#windowShift, this.#longest];
    let hash = 0;
    for (let at = 0; at < bytes.length; at++) {
      hash = (Math.imul(hash, base) + (bytes[at] as number) + 1) | 0;
      if (at >= leastBytes) hash = (hash - Math.imul((bytes[at - leastBytes] as number) + 1, windowPower)) | 0;
      if (at < leastBytes - 1 || windows[Math.imul(hash, spread) >>> shift] === 0) continue;
      if (longest.has(hash)) return true;
    }
    return false;
  }

  /** Whether a form is in the bytes. */
  *isIn(bytes: Uint8Array): Work<boolean> {
    if (!(yield* this.mayBeIn(bytes))) return false;
    const matches = this.#matches(yield* hashesOf(bytes));
    for (const match of matches) {
      if (match !== undefined) return true;
      yield;
    }
    return false;
  }

  /**
   * Where forms are, apart from those within one of the given places. Forms that overlap are one match with the mark of the longest: what
   * is left beside one of them would be a part of another.
   */
  *find(bytes: Uint8Array, except: readonly Pick<FormMatch, "start" | "end">[]): Work<readonly FormMatch[]> {
    const found: (FormMatch & { readonly longest: number })[] = [];
    let place = 0;
    for (const match of this.#matches(yield* hashesOf(bytes))) {
      if (match === undefined) {
        yield;
        continue;
      }
      const { start, end, mark } = match;
      while ((except[place]?.end ?? start + 1) <= start) place++;
      const around = except[place];
      if (around !== undefined && around.start <= start && end <= around.end) continue;
      const last = found.at(-1);
      const longest = end - start;
      if (last === undefined || last.end <= start) found.push({ start, end, mark, longest });
      else if (end > last.end || longest > last.longest) found[found.length - 1] = joined(last, { end, mark, longest });
    }
    return found;
  }

  /** Matches in a text that was cut at the end of these bytes, with the beginning of a form there: no whole form is left of it. */
  *withCut(matches: readonly FormMatch[], bytes: Uint8Array): Work<readonly FormMatch[]> {
    const length = yield* this.#beginningAtEnd(bytes);
    if (length === 0) return matches;
    const [start, end] = [bytes.length - length, bytes.length];
    const before = matches.filter((match) => match.start <= start);
    const last = before.at(-1);
    if (last === undefined || last.end <= start) return [...before, { start, end, mark: "" }];
    return [...before.slice(0, -1), { ...last, end: Math.max(last.end, end) }];
  }

  /** How long the longest beginning of a form is with which the bytes end. */
  *#beginningAtEnd(bytes: Uint8Array): Work<number> {
    const ends = yield* hashesOfEnds(bytes);
    let longest = 0;
    for (const form of this.#forms) {
      let hash = 0;
      for (let at = 0; at < Math.min(form.bytes.length, bytes.length); at++) {
        hash = (Math.imul(hash, base) + (form.bytes[at] as number) + 1) | 0;
        if (hash === ends[at + 1] && at >= longest) longest = at + 1;
      }
      if (isPartDone() || form.bytes.length > longForm) yield;
    }
    return longest;
  }

  /** The longest form at each place, and nothing for every part of the work. */
  *#matches(hashes: Hashes): Generator<FormMatch | undefined, void, void> {
    const [windows, shift] = [this.#windows, this.#windowShift];
    for (let at = 0; at + leastBytes <= hashes.length; at++) {
      if (at % 4096 === 4095) yield undefined;
      const window = windowAt(hashes, at);
      if (windows[Math.imul(window, spread) >>> shift] === 0) continue;
      const most = this.#longest.get(window);
      if (most === undefined) continue;
      const form = this.#forms[this.#longestAt(hashes, at, Math.min(most, hashes.length - at))];
      if (form !== undefined) yield { start: at, end: at + form.bytes.length, mark: form.mark };
    }
  }
}

function joined(
  last: FormMatch & { readonly longest: number },
  { end, mark, longest }: { readonly end: number; readonly mark: string; readonly longest: number },
): FormMatch & { readonly longest: number } {
  const isLonger = longest > last.longest;
  return {
    start: last.start,
    end: Math.max(last.end, end),
    mark: isLonger ? mark : last.mark,
    longest: isLonger ? longest : last.longest,
  };
}

/** A text with marks in the place of matches. */
export function* withMarks(bytes: Buffer, matches: readonly FormMatch[]): Work<string> {
  const parts: string[] = [];
  let end = 0;
  for (const match of matches) {
    if (isPartDone()) yield;
    parts.push(bytes.toString("utf8", end, match.start), match.mark);
    end = match.end;
  }
  parts.push(bytes.toString("utf8", end));
  return parts.join("");
}
