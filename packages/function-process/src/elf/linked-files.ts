// SPDX-License-Identifier: Apache-2.0
import { existsSync, readdirSync, readFileSync, realpathSync } from "node:fs";
import { basename, dirname, isAbsolute, join } from "node:path";
import { type ElfFile, readElf } from "./read-elf.ts";

const magic = "glibc-ld.so.cache1.1";

const headerBytes = 48;

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
  const start = file.indexOf(magic);
  const found = new Map<string, string[]>();
  if (start < 0 || file.length < start + headerBytes) return found;
  const cache = file.subarray(start);
  const count = Math.min(cache.readUInt32LE(magic.length), Math.floor((cache.length - headerBytes) / entryBytes));
  for (let index = 0; index < count; index++) {
    const at = headerBytes + index * entryBytes;
    // Those for newer processors are extra; the plain one is there as well.
    if (cache.readBigUInt64LE(at + 16) !== 0n) continue;
    const name = terminatedText(cache, cache.readUInt32LE(at + 4));
    const paths = found.get(name) ?? [];
    paths.push(terminatedText(cache, cache.readUInt32LE(at + 8)));
    found.set(name, paths);
  }
  return found;
}

function terminatedText(bytes: Buffer, start: number): string {
  const end = bytes.indexOf(0, start);
  return end < 0 ? "" : bytes.toString("utf8", start, end);
}
