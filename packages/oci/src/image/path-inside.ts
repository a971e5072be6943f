// SPDX-License-Identifier: Apache-2.0
import { lstat, readlink } from "node:fs/promises";
import { join } from "node:path";
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
export async function folderInside(root: string, path: string): Promise<string> {
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
