// SPDX-License-Identifier: Apache-2.0
import { constants } from "node:fs";
import { chmod, link, lstat, mkdir, open, readdir, rm, symlink } from "node:fs/promises";
import { basename, dirname, join, relative } from "node:path";
import { type Readable, Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGunzip, createZstdDecompress } from "node:zlib";
import type { Extract, Header } from "tar-stream";
import { compressionOf } from "../content/manifest.ts";
import { OciError } from "../content/oci-error.ts";
import {
  createKnownPaths,
  findKnown,
  followLinks,
  type KnownPaths,
  knownAt,
  noteWritten,
  pathParts,
} from "./known-paths.ts";
import { createTarReader } from "./layer-archive.ts";

/** What unpacking may use up; shared by all layers of an image. */
export interface UnpackBudget {
  bytes: number;
  /** Entries of layers, and folders that no entry names. */
  entries: number;
}

/** A compressed layer. */
interface LayerSource {
  readonly mediaType: string;
  readonly open: () => Readable;
  /** For messages. */
  readonly name: string;
}

/**
 * Unpacks a layer over what lower layers left in `root`. Nothing is written outside of it or beyond the budget. Devices, pipes and
 * setuid bits are left out, and everything belongs to the current user.
 */
export async function unpackLayer(layer: LayerSource, root: string, budget: UnpackBudget): Promise<void> {
  const tar = createTarReader();
  const layerState: LayerState = { root, known: createKnownPaths(), name: layer.name, budget };
  const reading = pipeline([layer.open(), ...decompressors(layer.mediaType), counting(budget, layer.name), tar]);
  const writing = writeEntries(tar, layerState).catch((error: unknown) => {
    tar.destroy(error as Error);
    throw error;
  });
  try {
    // Whichever side fails first ends the other, and is the reason.
    await Promise.all([writing, reading]);
  } catch (error) {
    await Promise.allSettled([writing, reading]);
    throw asLayerError(error, layer.name);
  }
}

type Entry = Extract extends AsyncIterable<infer One> ? One : never;

interface LayerState {
  readonly root: string;
  readonly known: KnownPaths;
  readonly name: string;
  readonly budget: UnpackBudget;
}

function inRoot(path: string, root: string): string[] {
  return path === root ? [] : relative(root, path).split("/");
}

/** Counts an entry, or a folder that is made without one: each takes an inode. */
function charge({ budget, name }: LayerState): void {
  if (--budget.entries < 0) throw new OciError("TOO_LARGE", `${name} has more files than are allowed`);
}

function decompressors(mediaType: string): NodeJS.ReadWriteStream[] {
  const compression = compressionOf(mediaType);
  if (compression === "none") return [];
  return [compression === "gzip" ? createGunzip() : createZstdDecompress()];
}

function counting(budget: UnpackBudget, name: string): Transform {
  return new Transform({
    transform(chunk: Buffer, _, done) {
      budget.bytes -= chunk.length;
      done(budget.bytes < 0 ? new OciError("TOO_LARGE", `${name} unpacks to more than is allowed`) : null, chunk);
    },
  });
}

async function writeEntries(tar: Extract, layer: LayerState): Promise<void> {
  for await (const entry of tar) {
    charge(layer);
    await writeEntry(entry, layer);
    entry.resume();
  }
}

const whiteout = ".wh.";
const opaque = ".wh..wh..opq";

async function writeEntry(entry: Entry, layer: LayerState): Promise<void> {
  const { header } = entry;
  const path = await pathInside(layer.root, header.name, layer.known);
  if (path === layer.root) return;
  const name = basename(path);
  if (name === opaque) return clearFolder(dirname(path), layer);
  if (name.startsWith(whiteout)) {
    const hidden = join(dirname(path), name.slice(whiteout.length));
    if (!isSafeName(name.slice(whiteout.length))) throw new OciError("UNSAFE_LAYER", `${layer.name} hides ${name}`);
    return removeLower(hidden, layer);
  }
  await makeFolder(dirname(path), layer);
  noteWritten(layer.known, inRoot(path, layer.root));
  await create(entry, path, layer);
}

function isSafeName(name: string): boolean {
  return name !== "" && name !== "." && name !== "..";
}

/** Removes what lower layers left at a path; what this layer put there or below stays, whichever came first. */
async function removeLower(path: string, layer: LayerState): Promise<void> {
  if (findKnown(layer.known, inRoot(path, layer.root))?.isWritten) await clearFolder(path, layer);
  else await removeAll(path, layer);
}

async function removeAll(path: string, { known }: LayerState): Promise<void> {
  const there = await lstat(path).catch(() => undefined);
  if (there === undefined) return;
  if (there.isDirectory()) known.removals++;
  await rm(path, { recursive: true, force: true });
}

async function clearFolder(path: string, { root, known, ...layer }: LayerState): Promise<void> {
  if (findKnown(known, inRoot(path, root))?.isCleared) return;
  const there = await lstat(path).catch(() => undefined);
  if (!there?.isDirectory()) return;
  for (const name of await readdir(path)) await removeLower(join(path, name), { root, known, ...layer });
  knownAt(known, inRoot(path, root)).isCleared = true;
}

/** Folders a tar file forgot to mention. A file of a lower layer in their place gives way. */
async function makeFolder(path: string, layer: LayerState): Promise<void> {
  const { root, known } = layer;
  if (path === root) return;
  if (findKnown(known, inRoot(path, root))?.folderAfter === known.removals) return;
  const there = await lstat(path).catch(() => undefined);
  if (!there?.isDirectory()) {
    await makeFolder(dirname(path), layer);
    charge(layer);
    if (there !== undefined) await rm(path, { force: true });
    await mkdir(path, { mode: 0o755 });
  }
  knownAt(known, inRoot(path, root)).folderAfter = known.removals;
}

async function create(entry: Entry, path: string, layer: LayerState): Promise<void> {
  const { header } = entry;
  switch (header.type) {
    case "directory":
      return createFolder(path, modeOf(header));
    case "symlink":
      await removeAll(path, layer);
      // Links keep their target: they are only followed inside the root.
      return symlink(header.linkname, path);
    case "link":
      return createLink(path, header, layer);
    case "file":
    case "contiguous-file":
      await removeAll(path, layer);
      return createFile(entry, path);
    default:
      return undefined;
  }
}

async function createFolder(path: string, mode: number): Promise<void> {
  const there = await lstat(path).catch(() => undefined);
  if (there !== undefined && !there.isDirectory()) await rm(path, { force: true });
  if (!there?.isDirectory()) await mkdir(path);
  // The current user must be able to fill the folder and to remove it again.
  await chmod(path, mode | 0o700);
}

async function createLink(path: string, { linkname }: Header, layer: LayerState): Promise<void> {
  const { root, known, name } = layer;
  const target = await pathInside(root, linkname, known);
  const there = await lstat(target).catch(() => undefined);
  if (there === undefined || there.isDirectory()) {
    throw new OciError(
      "UNSAFE_LAYER",
      `${name} links to ${JSON.stringify(linkname)}, which is not a file of the image`,
    );
  }
  if (target === path) return;
  // The folder gives way to the link, and what it would link to goes with it.
  if (target.startsWith(`${path}/`)) {
    throw new OciError("UNSAFE_LAYER", `${name} links to ${JSON.stringify(linkname)}, which the link itself replaces`);
  }
  await removeAll(path, layer);
  await link(target, path);
}

async function createFile(entry: Entry, path: string): Promise<void> {
  const { O_CREAT, O_EXCL, O_NOFOLLOW, O_WRONLY } = constants;
  const file = await open(path, O_CREAT | O_EXCL | O_NOFOLLOW | O_WRONLY, 0o600);
  try {
    for await (const chunk of entry) await file.write(chunk as Buffer);
    await file.chmod(modeOf(entry.header));
    // Python, for one, trusts what it compiled before only while the time of the source is the same.
    const time = entry.header.mtime;
    await file.utimes(time, time);
  } finally {
    await file.close();
  }
}

/** Permissions without setuid, setgid and sticky bits. */
function modeOf({ mode }: Header): number {
  return mode & 0o777;
}

/** What the names in a layer can do to a file system; anything else that it refuses is the machine's affair. */
const namesFault = new Set(["ENAMETOOLONG", "ENOTDIR", "EISDIR", "ELOOP", "EINVAL", "EEXIST", "ENOTEMPTY"]);

function asLayerError(error: unknown, name: string): unknown {
  if (error instanceof OciError) return error;
  const { message, code } = error as NodeJS.ErrnoException;
  const isMachine = code !== undefined && /^E[A-Z]+$/.test(code) && !namesFault.has(code);
  if (isMachine) return error;
  return new OciError("NOT_AN_IMAGE", `${name} cannot be unpacked: ${message}`, { cause: error });
}

/**
 * Where a path of an image lies below a root. Links on the way are followed as if the root were `/`, so none leads out; the last
 * part is not followed. Nothing else may change the root meanwhile.
 */
export async function pathInside(root: string, path: string, known: KnownPaths = createKnownPaths()): Promise<string> {
  const parts = partsOf(path);
  const last = parts.pop();
  if (last === undefined) return root;
  return join(root, ...(await followLinks(root, parts, known)), last);
}

/** Where a folder of an image lies below a root, all links followed, the last one too. It need not exist. */
async function folderInside(root: string, path: string): Promise<string> {
  return join(root, ...(await followLinks(root, partsOf(path), createKnownPaths())));
}

/** The parts of a name in a tar file. A name that climbs out (`..`) is an attack. */
function partsOf(path: string): string[] {
  const parts = pathParts(path);
  if (parts.includes(".."))
    throw new OciError("UNSAFE_LAYER", `a layer names ${JSON.stringify(path)}, outside of the image`);
  return parts;
}

/**
 * Creates a mount point in an unpacked image. Links of the image are followed as if its root were `/`, so nothing is created outside of it. Links
 * on the path become relative links to the same place: mount follows links as the kernel does, and an absolute link, or one with `..`, would lead
 * to files of this machine.
 */
export async function makeMountPoint(root: string, mount: string): Promise<void> {
  const parts = mount.split("/").filter((part) => part !== "");
  let above = root;
  for (const [index, part] of parts.entries()) {
    const path = join(above, part);
    const found = await lstat(path).catch(ignoreMissing);
    above = await folderInside(root, parts.slice(0, index + 1).join("/"));
    await makeFolders(root, above);
    if (found?.isSymbolicLink()) await relink(path, above);
  }
}

async function relink(path: string, folder: string): Promise<void> {
  await rm(path);
  await symlink(relative(dirname(path), folder) || ".", path);
}

/** The path has no links: it was followed to its end. */
async function makeFolders(root: string, path: string): Promise<void> {
  const found = await lstat(path).catch(ignoreMissing);
  if (found?.isDirectory()) return;
  if (found !== undefined) {
    const inside = JSON.stringify(relative(root, path));
    throw new OciError("UNSAFE_LAYER", `the image has a file at ${inside}, where a folder is needed to mount into`);
  }
  await makeFolders(root, dirname(path));
  // Another program may start in the same root at the same time.
  await mkdir(path, { mode: 0o755 }).catch(async (error: NodeJS.ErrnoException) => {
    if (error.code !== "EEXIST" || !(await lstat(path)).isDirectory()) throw error;
  });
}

function ignoreMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code === "ENOENT" || error.code === "ENOTDIR") return undefined;
  throw error;
}
