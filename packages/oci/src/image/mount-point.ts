// SPDX-License-Identifier: Apache-2.0
import { lstat, mkdir, rm, symlink } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { OciError } from "../content/oci-error.ts";
import { folderInside } from "./path-inside.ts";

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
