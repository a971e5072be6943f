// SPDX-License-Identifier: Apache-2.0
import { readFileSync } from "node:fs";

const magic = "glibc-ld.so.cache1.1";
const headerBytes = 48;
const entryBytes = 24;

/** Where the loader of glibc knows libraries to be, by name: several paths where they are for several processors. */
export function readLibraryCache(path = "/etc/ld.so.cache"): ReadonlyMap<string, readonly string[]> {
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
    const name = textAt(cache, cache.readUInt32LE(at + 4));
    const paths = found.get(name) ?? [];
    paths.push(textAt(cache, cache.readUInt32LE(at + 8)));
    found.set(name, paths);
  }
  return found;
}

function textAt(bytes: Buffer, start: number): string {
  const end = bytes.indexOf(0, start);
  return end < 0 ? "" : bytes.toString("utf8", start, end);
}
