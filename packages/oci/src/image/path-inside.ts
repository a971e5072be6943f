// SPDX-License-Identifier: Apache-2.0
import { lstat, mkdir, readlink, rm, symlink } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { OciError } from "../content/oci-error.ts";

const maxLinks = 40;
/** Systems have no longer paths. Without a limit, a name of a million folders would keep us busy for hours. */
const maxPathLength = 4096;

/**
 * Where a path of an image lies below a root. Links on the way are followed as if the root were `/`, so none leads out; the last
 * part is not followed. Nothing else may change the root meanwhile.
 */
export async function pathInside(root: string, path: string): Promise<string> {
  const parts = partsOf(path);
  const last = parts.pop();
  if (last === undefined) return root;
  return join(root, ...(await followed(root, parts, path)), last);
}

/** Where a folder of an image lies below a root, all links followed, the last one too. It need not exist. */
async function folderInside(root: string, path: string): Promise<string> {
  return join(root, ...(await followed(root, partsOf(path), path)));
}

async function followed(root: string, parts: readonly string[], path: string): Promise<string[]> {
  const todo = parts.toReversed();
  const done: string[] = [];
  let links = 0;
  for (let part = todo.pop(); part !== undefined; part = todo.pop()) {
    if (part === "..") {
      done.pop();
      continue;
    }
    const target = await linkAt(join(root, ...done, part));
    if (target === undefined) {
      done.push(part);
      continue;
    }
    if (++links > maxLinks) throw new OciError("unsafe-layer", `${JSON.stringify(path)} is in a loop of links`);
    if (target.startsWith("/")) done.length = 0;
    todo.push(...linkParts(target).toReversed());
  }
  return done;
}

async function linkAt(path: string): Promise<string | undefined> {
  try {
    return (await lstat(path)).isSymbolicLink() ? await readlink(path) : undefined;
  } catch (error) {
    // A file in the path is replaced where a folder is needed; there is nothing below it yet.
    const { code = "" } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    throw error;
  }
}

/** The parts of a name in a tar file. A name that climbs out (`..`) is an attack. */
function partsOf(path: string): string[] {
  const parts = linkParts(path);
  if (parts.includes(".."))
    throw new OciError("unsafe-layer", `a layer names ${JSON.stringify(path)}, outside of the image`);
  return parts;
}

function linkParts(path: string): string[] {
  if (path.length > maxPathLength) {
    const start = JSON.stringify(`${path.slice(0, 40)}…`);
    throw new OciError("unsafe-layer", `a layer has a name of ${path.length} characters: ${start}`);
  }
  if (path.includes("\0")) throw new OciError("unsafe-layer", `a layer has a name with a NUL: ${JSON.stringify(path)}`);
  return path.split("/").filter((part) => part !== "" && part !== ".");
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
    throw new OciError("unsafe-layer", `the image has a file at ${inside}, where a folder is needed to mount into`);
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
