// SPDX-License-Identifier: Apache-2.0
import { Buffer, isUtf8 } from "node:buffer";

// Tags of google.protobuf.Value, ListValue and the map entries of Struct.
const tagNull = 0x08;
const tagNumber = 0x11;
const tagString = 0x1a;
const tagBool = 0x20;
const tagStruct = 0x2a;
const tagList = 0x32;
const tagField = 0x0a;
const tagKey = 0x0a;
const tagValue = 0x12;

/** Deeper objects are rare, and decoding knows how to refuse those that are too deep. */
const maxLevels = 100;
/** Strings up to this length are looked through by a loop; longer ones are worth a native call. */
const shortString = 32;
/** The same for what is copied. */
const shortRun = 64;

/**
 * The bytes of a Struct with the members of every object sorted, without decoding them: sorting changes no length, so the
 * members only change places. Undefined when the bytes are not exactly what an encoder writes for plain JSON, each
 * thing once and in its shortest form; then only decoding can show their value, or that they have none.
 */
export function sortStruct(bytes: Uint8Array): Uint8Array | undefined {
  const sorter = new StructSorter(bytes);
  try {
    sorter.object(0, bytes.length, 1);
    return sorter.finish();
  } catch (problem) {
    if (problem instanceof NotPlain) return undefined;
    throw problem;
  }
}

class NotPlain {}

/** Where a member is: the whole entry, its name in it, and its value up to the end. */
interface Member {
  readonly start: number;
  readonly keyStart: number;
  readonly keyEnd: number;
  readonly valueStart: number;
  readonly end: number;
}

class StructSorter {
  readonly #source: Buffer;
  #target: Buffer | undefined;
  #written = 0;
  // What was copied last and stands together in the source is copied in one go.
  #runStart = 0;
  #runEnd = 0;
  #position = 0;

  constructor(bytes: Uint8Array) {
    this.#source = Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  object(start: number, end: number, level: number): void {
    if (level > maxLevels) throw new NotPlain();
    for (const member of this.#sorted(this.#members(start, end))) {
      this.#copy(member.start, member.valueStart);
      this.#value(member.valueStart, member.end, level);
    }
  }

  #members(start: number, end: number): Member[] {
    const members: Member[] = [];
    this.#position = start;
    while (this.#position < end) {
      const entry = this.#position;
      const entryEnd = this.#open(tagField, end);
      const keyEnd = this.#open(tagKey, entryEnd);
      const keyStart = this.#position;
      this.#text(keyStart, keyEnd);
      this.#position = keyEnd;
      if (this.#open(tagValue, entryEnd) !== entryEnd) throw new NotPlain();
      members.push({ start: entry, keyStart, keyEnd, valueStart: this.#position, end: entryEnd });
      this.#position = entryEnd;
    }
    return members;
  }

  #sorted(members: Member[]): Member[] {
    if (this.#isOrdered(members)) return members;
    members.sort((a, b) => this.#compare(a, b));
    // Of a name that comes twice the last one counts, which is for decoding to say.
    if (!this.#isOrdered(members)) throw new NotPlain();
    return members;
  }

  #isOrdered(members: readonly Member[]): boolean {
    for (let i = 1; i < members.length; i++) {
      if (this.#compare(members[i - 1] as Member, members[i] as Member) >= 0) return false;
    }
    return true;
  }

  #compare(a: Member, b: Member): number {
    const source = this.#source;
    const aSize = a.keyEnd - a.keyStart;
    const bSize = b.keyEnd - b.keyStart;
    const size = Math.min(aSize, bSize);
    for (let i = 0; i < size; i++) {
      const difference = (source[a.keyStart + i] as number) - (source[b.keyStart + i] as number);
      if (difference !== 0) return difference;
    }
    return aSize - bSize;
  }

  #value(start: number, end: number, level: number): void {
    const source = this.#source;
    this.#position = start;
    switch (source[start]) {
      case tagString:
        this.#fill(tagString, end);
        this.#text(this.#position, end);
        break;
      case tagNumber:
        if (end - start !== 9 || !Number.isFinite(source.readDoubleLE(start + 1))) throw new NotPlain();
        break;
      case tagBool:
        if (end - start !== 2 || (source[start + 1] as number) > 1) throw new NotPlain();
        break;
      case tagNull:
        if (end - start !== 2 || source[start + 1] !== 0) throw new NotPlain();
        break;
      case tagStruct:
        this.#nested(start, end, level);
        return;
      case tagList:
        this.#list(start, end, level);
        return;
      default:
        throw new NotPlain();
    }
    this.#copy(start, end);
  }

  #nested(start: number, end: number, level: number): void {
    this.#fill(tagStruct, end);
    this.#copy(start, this.#position);
    this.object(this.#position, end, level + 1);
  }

  #list(start: number, end: number, level: number): void {
    if (level > maxLevels) throw new NotPlain();
    this.#fill(tagList, end);
    this.#copy(start, this.#position);
    let item = this.#position;
    while (item < end) {
      this.#position = item;
      const itemEnd = this.#open(tagField, end);
      this.#copy(item, this.#position);
      this.#value(this.#position, itemEnd, level + 1);
      item = itemEnd;
    }
  }

  /** Moves into a field that must have this tag and says where it ends, which is not beyond what is around it. */
  #open(tag: number, outerEnd: number): number {
    const source = this.#source;
    if (this.#position >= outerEnd || source[this.#position++] !== tag) throw new NotPlain();
    let size = 0;
    // Four bytes are 256 MiB, more than any message.
    for (let shift = 0; shift < 28; shift += 7) {
      if (this.#position >= outerEnd) throw new NotPlain();
      const byte = source[this.#position++] as number;
      size |= (byte & 0x7f) << shift;
      if (byte >= 0x80) continue;
      const isShortest = byte !== 0 || shift === 0;
      if (!isShortest || size > outerEnd - this.#position) throw new NotPlain();
      return this.#position + size;
    }
    throw new NotPlain();
  }

  /** As #open, for a field after which nothing may come. */
  #fill(tag: number, end: number): void {
    if (this.#open(tag, end) !== end) throw new NotPlain();
  }

  #text(start: number, end: number): void {
    if (end - start <= shortString) {
      let seen = 0;
      for (let i = start; i < end; i++) seen |= this.#source[i] as number;
      if (seen < 0x80) return;
    }
    if (!isUtf8(this.#source.subarray(start, end))) throw new NotPlain();
  }

  #copy(start: number, end: number): void {
    if (start !== this.#runEnd) {
      this.#flush();
      this.#runStart = start;
    }
    this.#runEnd = end;
  }

  #flush(): void {
    this.#target ??= Buffer.allocUnsafe(this.#source.length);
    const size = this.#runEnd - this.#runStart;
    if (size > shortRun) this.#source.copy(this.#target, this.#written, this.#runStart, this.#runEnd);
    else for (let i = 0; i < size; i++) this.#target[this.#written + i] = this.#source[this.#runStart + i] as number;
    this.#written += size;
  }

  /** What was sorted already is not copied at all. */
  finish(): Uint8Array {
    if (this.#target === undefined) return this.#source;
    this.#flush();
    return this.#target;
  }
}
