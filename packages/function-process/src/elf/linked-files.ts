// SPDX-License-Identifier: Apache-2.0
import { closeSync, existsSync, openSync, readdirSync, readFileSync, readSync, realpathSync } from "node:fs";
import { basename, dirname, isAbsolute, join } from "node:path";

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

const cacheMagic = "glibc-ld.so.cache1.1";
const cacheHeaderBytes = 48;
const entryBytes = 24;

/** Files of this machine by where a program finds them when it sees nothing else. */
type LinkedFiles = Readonly<Record<string, string>>;

/** Libraries that older C libraries load by name when a program looks up a user or a host. */
const loadedLater: readonly string[] = ["libnss_files.so.2", "libnss_dns.so.2", "libresolv.so.2"];
const plainFolders: readonly string[] = ["/lib64", "/usr/lib64", "/lib", "/usr/lib", "/usr/local/lib"];

/**
 * The loader and the libraries that a program of this machine needs, and no other file. All of them go beside the C library: there every
 * loader looks when a library is not where the program says.
 */
export function linkedFiles(program: string): LinkedFiles {
  const elf = readElf(program);
  if (elf?.interpreter === undefined) return {};
  const search = { machine: elf.machine, cache: readLibraryCache(), folders: usualFolders(elf.interpreter) };
  const found = allNeeded(program, elf, search);
  const home = homeOf(found, elf.interpreter);
  for (const name of loadedLater) {
    const path = usual(name, search);
    if (path !== undefined) found.set(name, path);
  }
  const files = [...found].map(([name, path]) => [isAbsolute(name) ? name : join(home, basename(name)), path]);
  return { ...Object.fromEntries(files), [elf.interpreter]: elf.interpreter };
}

interface Search {
  readonly machine: number;
  readonly cache: ReadonlyMap<string, readonly string[]>;
  readonly folders: readonly string[];
}

interface Needy {
  readonly path: string;
  readonly elf: ElfFile;
}

/** The paths of all libraries by name, also of those that libraries need. */
function allNeeded(program: string, elf: ElfFile, search: Search): Map<string, string> {
  const found = new Map<string, string>();
  const waiting: Needy[] = [{ path: program, elf }];
  for (let one = waiting.pop(); one !== undefined; one = waiting.pop()) {
    for (const name of one.elf.needed) {
      if (found.has(name)) continue;
      const path = named(name, one, search) ?? usual(name, search);
      if (path === undefined) throw new Error(`${one.path} needs the library ${name}, which is not found`);
      found.set(name, path);
      const next = readElf(path);
      if (next !== undefined) waiting.push({ path, elf: next });
    }
  }
  return found;
}

/** Where the file that needs a library says it is. */
function named(name: string, { path, elf }: Needy, { machine }: Search): string | undefined {
  if (isAbsolute(name)) return name;
  const origin = dirname(realpathSync(path));
  const folders = elf.paths.map((folder) => folder.replaceAll(/\$\{?ORIGIN\}?/g, origin)).filter(isAbsolute);
  return folders.map((folder) => join(folder, name)).find((file) => isFor(file, machine));
}

function usual(name: string, { machine, cache, folders }: Search): string | undefined {
  const places = [...(cache.get(name) ?? []), ...folders.map((folder) => join(folder, name))];
  return places.find((file) => isFor(file, machine));
}

function isFor(file: string, machine: number): boolean {
  return existsSync(file) && readElf(file)?.machine === machine;
}

/** The folder of the C library, which the loader searches by default. */
function homeOf(found: ReadonlyMap<string, string>, interpreter: string): string {
  const c = [...found].find(([name]) => name.startsWith("libc.so") || name.startsWith("libc.musl"));
  return dirname(c?.[1] ?? interpreter);
}

/** Where loaders look by themselves: fixed folders, one for each kind of processor, and what musl's own file names. */
function usualFolders(interpreter: string): string[] {
  const configured = `/etc/${basename(interpreter).replace(/\.so.*/, "")}.path`;
  const musl = existsSync(configured) ? readFileSync(configured, "utf8").split(/[:\n]/).filter(isAbsolute) : [];
  const perProcessor = ["/lib", "/usr/lib"].flatMap((folder) =>
    existsSync(folder)
      ? readdirSync(folder)
          .filter((name) => /-linux-(gnu|musl)/.test(name))
          .map((name) => join(folder, name))
      : [],
  );
  return [...musl, ...perProcessor, ...plainFolders];
}

/** Where the loader of glibc knows libraries to be, by name: several paths where they are for several processors. */
function readLibraryCache(path = "/etc/ld.so.cache"): ReadonlyMap<string, readonly string[]> {
  try {
    return parseLibraryCache(readFileSync(path));
  } catch {
    // Other loaders have none.
    return new Map();
  }
}

/** Reads the cache of glibc 2.1 and newer, which may follow an older one in the same file. */
export function parseLibraryCache(file: Buffer): ReadonlyMap<string, readonly string[]> {
  const start = file.indexOf(cacheMagic);
  const found = new Map<string, string[]>();
  if (start < 0 || file.length < start + cacheHeaderBytes) return found;
  const cache = file.subarray(start);
  const count = Math.min(
    cache.readUInt32LE(cacheMagic.length),
    Math.floor((cache.length - cacheHeaderBytes) / entryBytes),
  );
  for (let index = 0; index < count; index++) {
    const at = cacheHeaderBytes + index * entryBytes;
    // Those for newer processors are extra; the plain one is there as well.
    if (cache.readBigUInt64LE(at + 16) !== 0n) continue;
    const name = cachedText(cache, cache.readUInt32LE(at + 4));
    const paths = found.get(name) ?? [];
    paths.push(cachedText(cache, cache.readUInt32LE(at + 8)));
    found.set(name, paths);
  }
  return found;
}

function cachedText(bytes: Buffer, start: number): string {
  const end = bytes.indexOf(0, start);
  return end < 0 ? "" : bytes.toString("utf8", start, end);
}
