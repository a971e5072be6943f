// SPDX-License-Identifier: Apache-2.0
// What is known about the paths below a root while a layer is unpacked into it. With it an entry costs a few system calls, however deep
// it lies.
import { lstat, readlink } from "node:fs/promises";
import { join } from "node:path";
import { OciError } from "../content/oci-error.ts";

/** What is known about one path. */
interface KnownPath {
  /** It was a folder and no link after this many removals of folders; undefined while that is not known. */
  folderAfter: number | undefined;
  /** This layer brought it, or something below it: its own whiteouts do not hide it. */
  isWritten: boolean;
  /** Lower layers no longer have anything below it. */
  isCleared: boolean;
  /** Made when the first one is known: most paths are files. */
  below: Map<string, KnownPath> | undefined;
}

/** What is known about the paths below a root. Nothing else may change the root as long as it is used. */
export interface KnownPaths {
  readonly top: KnownPath;
  /**
   * How many folders were removed. After each one, no path is known to be a folder: on file systems that ignore case, what was removed
   * may have been known by another name, and a link may be there now.
   */
  removals: number;
}

/** Makes what is known about a root: nothing. */
export function createKnownPaths(): KnownPaths {
  return { top: createKnownPath(), removals: 0 };
}

function createKnownPath(): KnownPath {
  return { folderAfter: undefined, isWritten: false, isCleared: false, below: undefined };
}

/** What is known about a path; undefined when that is nothing. */
export function findKnown({ top }: KnownPaths, parts: readonly string[]): KnownPath | undefined {
  let found: KnownPath | undefined = top;
  for (const part of parts) found = found?.below?.get(part);
  return found;
}

/** What is known about a path that exists. It can be changed. */
export function knownAt({ top }: KnownPaths, parts: readonly string[]): KnownPath {
  return parts.reduce(entryBelow, top);
}

/** Notes that the layer brought a path. */
export function noteWritten({ top }: KnownPaths, parts: readonly string[]): void {
  let at = top;
  for (const part of parts) {
    at = entryBelow(at, part);
    at.isWritten = true;
  }
}

function entryBelow(above: KnownPath, name: string): KnownPath {
  above.below ??= new Map();
  const there = above.below.get(name);
  if (there !== undefined) return there;
  const made = createKnownPath();
  above.below.set(ownCopy(name), made);
  return made;
}

/** A part of a text keeps all of it in memory, and paths are much longer than names. */
function ownCopy(text: string): string {
  return Buffer.from(text, "utf16le").toString("utf16le");
}

const maxLinks = 40;
/** Systems have no longer paths. Without a limit, a name of a million folders would keep us busy for hours. */
const maxPathLength = 4096;
/** No program has files that deep. */
const maxParts = 256;
/** Parts of a path and of all links on it. */
const maxSteps = 1024;

/** Follows the links of a path as if a root were `/`. */
export async function followLinks(root: string, parts: readonly string[], known: KnownPaths): Promise<string[]> {
  const todo = parts.toReversed();
  const done: string[] = [];
  /** What is known about each of them; undefined where no folder is, so that nothing is below. */
  const way: (KnownPath | undefined)[] = [];
  let [links, steps] = [0, 0];
  for (let part = todo.pop(); part !== undefined; part = todo.pop()) {
    if (++steps > maxSteps) {
      throw new OciError("UNSAFE_LAYER", `${shown(parts)} is longer than ${maxSteps} folders with its links`);
    }
    if (part === "..") {
      done.pop();
      way.pop();
      continue;
    }
    const above = way.length === 0 ? known.top : way.at(-1);
    const place = { root, above: done, name: part };
    const found = above && (knownFolder(known, above.below?.get(part)) ?? (await lookAt(place, above, known)));
    if (typeof found !== "string") {
      done.push(part);
      way.push(found);
      continue;
    }
    if (++links > maxLinks) throw new OciError("UNSAFE_LAYER", `${shown(parts)} is in a loop of links`);
    if (found.startsWith("/")) done.length = way.length = 0;
    todo.push(...pathParts(found).toReversed());
  }
  return done;
}

function shown(parts: readonly string[]): string {
  return JSON.stringify(parts.join("/").slice(0, 200));
}

function knownFolder({ removals }: KnownPaths, path: KnownPath | undefined): KnownPath | undefined {
  return path?.folderAfter === removals ? path : undefined;
}

interface Place {
  readonly root: string;
  readonly above: readonly string[];
  readonly name: string;
}

/** What is then known about a folder, or the target of a link; undefined when there is neither. */
async function lookAt(
  { root, above, name }: Place,
  knownAbove: KnownPath,
  { removals }: KnownPaths,
): Promise<KnownPath | string | undefined> {
  const path = join(root, ...above, name);
  try {
    const stats = await lstat(path);
    if (stats.isSymbolicLink()) return await readlink(path);
    if (!stats.isDirectory()) return undefined;
    const folder = entryBelow(knownAbove, name);
    folder.folderAfter = removals;
    return folder;
  } catch (error) {
    // A file in the path is replaced where a folder is needed; there is nothing below it yet.
    const { code = "" } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    throw error;
  }
}

/** The parts of a path or of the target of a link. */
export function pathParts(path: string): string[] {
  if (path.length > maxPathLength)
    throw new OciError("UNSAFE_LAYER", `a layer has a name of ${path.length} characters: ${startOf(path)}`);
  if (path.includes("\0")) throw new OciError("UNSAFE_LAYER", `a layer has a name with a NUL: ${JSON.stringify(path)}`);
  const parts = path.split("/").filter((part) => part !== "" && part !== ".");
  if (parts.length > maxParts) {
    throw new OciError(
      "UNSAFE_LAYER",
      `a layer has a name of ${parts.length} folders, more than ${maxParts}: ${startOf(path)}`,
    );
  }
  return parts;
}

function startOf(path: string): string {
  return JSON.stringify(`${path.slice(0, 40)}…`);
}
