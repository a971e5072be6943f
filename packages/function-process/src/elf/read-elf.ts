// SPDX-License-Identifier: Apache-2.0
import { closeSync, openSync, readSync } from "node:fs";

/** What the loader reads of a program or a library. */
export interface ElfFile {
  /** The processor that it is for, as a number of the format. */
  readonly machine: number;
  /** The loader that it asks for; undefined for libraries and static programs. */
  readonly interpreter: string | undefined;
  /** The names of the libraries that it is linked with. */
  readonly needed: readonly string[];
  /** Where it wants them to be looked for first; may contain `$ORIGIN`, its own folder. */
  readonly paths: readonly string[];
}

const magic = Buffer.from([0x7f, 0x45, 0x4c, 0x46, 2, 1]);
const headerBytes = 64;
/** No honest file comes near these. */
const maxTable = 1024 * 1024;
const segments = { load: 1, dynamic: 2, interpreter: 3 } as const;
const tags = { needed: 1n, strings: 5n, stringBytes: 10n, rpath: 15n, runpath: 29n } as const;

interface Segment {
  readonly type: number;
  readonly offset: number;
  readonly address: number;
  readonly size: number;
}

/** Reads a 64-bit little-endian ELF file; undefined when it is something else. */
export function readElf(path: string): ElfFile | undefined {
  const file = openSync(path, "r");
  try {
    return parseElf((offset, length) => {
      if (!Number.isSafeInteger(offset)) return Buffer.alloc(0);
      const bytes = Buffer.alloc(Math.min(length, maxTable));
      return bytes.subarray(0, readSync(file, bytes, 0, bytes.length, offset));
    });
  } finally {
    closeSync(file);
  }
}

/** Part of a file, shorter where the file ends. */
type ReadPart = (offset: number, length: number) => Buffer;

/** The same for a file that is read by part. */
export function parseElf(read: ReadPart): ElfFile | undefined {
  const header = read(0, headerBytes);
  if (header.length < headerBytes || !header.subarray(0, magic.length).equals(magic)) return undefined;
  const all = segmentsOf(header, read);
  const interpreter = all.find(({ type }) => type === segments.interpreter);
  return {
    machine: header.readUInt16LE(18),
    interpreter: (interpreter && terminatedText(read(interpreter.offset, interpreter.size), 0)) || undefined,
    ...dynamicOf(all, read),
  };
}

function segmentsOf(header: Buffer, read: ReadPart): Segment[] {
  const size = header.readUInt16LE(54);
  const table = read(Number(header.readBigUInt64LE(32)), size * header.readUInt16LE(56));
  const found: Segment[] = [];
  for (let at = 0; size >= 56 && at + size <= table.length; at += size) {
    found.push({
      type: table.readUInt32LE(at),
      offset: Number(table.readBigUInt64LE(at + 8)),
      address: Number(table.readBigUInt64LE(at + 16)),
      size: Number(table.readBigUInt64LE(at + 32)),
    });
  }
  return found;
}

function dynamicOf(all: readonly Segment[], read: ReadPart): Pick<ElfFile, "needed" | "paths"> {
  const segment = all.find(({ type }) => type === segments.dynamic);
  const entries = segment === undefined ? [] : entriesOf(read(segment.offset, segment.size));
  const values = (tag: bigint): number[] => entries.filter((entry) => entry.tag === tag).map(({ value }) => value);
  const address = values(tags.strings)[0] ?? 0;
  const home = all.find(
    (one) => one.type === segments.load && one.address <= address && address < one.address + one.size,
  );
  if (home === undefined) return { needed: [], paths: [] };
  const strings = read(home.offset + address - home.address, values(tags.stringBytes)[0] ?? 0);
  const texts = (tag: bigint): string[] => values(tag).map((at) => terminatedText(strings, at));
  // The newer kind of path counts alone where both are there.
  const paths = texts(tags.runpath).length > 0 ? texts(tags.runpath) : texts(tags.rpath);
  return { needed: texts(tags.needed), paths: paths.flatMap((path) => path.split(":")).filter(Boolean) };
}

/** Up to the entry with the tag 0, which ends the table; what follows is room for others. */
function entriesOf(table: Buffer): { readonly tag: bigint; readonly value: number }[] {
  const entries = Array.from({ length: Math.floor(table.length / 16) }, (_, index) => ({
    tag: table.readBigUInt64LE(index * 16),
    value: Number(table.readBigUInt64LE(index * 16 + 8)),
  }));
  const end = entries.findIndex(({ tag }) => tag === 0n);
  return end < 0 ? entries : entries.slice(0, end);
}

function terminatedText(bytes: Buffer, start: number): string {
  const end = bytes.indexOf(0, start);
  return bytes.toString("utf8", start, end < 0 ? bytes.length : end);
}
