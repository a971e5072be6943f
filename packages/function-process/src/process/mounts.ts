// SPDX-License-Identifier: Apache-2.0
import { readFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { isInside } from "./path-prefix.ts";

/** A mount of this machine: which folder of which file system is seen where. */
export interface Mount {
  /** `major:minor`. */
  readonly device: string;
  /** The folder of the file system. */
  readonly root: string;
  readonly point: string;
}

/** The mounts that this process sees, oldest first; none on systems that do not list them in a file. */
export async function readMounts(): Promise<readonly Mount[]> {
  return parseMounts(await readFile("/proc/self/mountinfo", "utf8").catch(() => ""));
}

/** Reads the text of a mountinfo file. */
export function parseMounts(text: string): Mount[] {
  return text.split("\n").flatMap((line) => {
    const [, , device, root, point] = line.split(" ");
    if (device === undefined || root === undefined || point === undefined) return [];
    return [{ device, root: unescaped(root), point: unescaped(point) }];
  });
}

/** Spaces, tabs, newlines and backslashes are written as octal numbers. */
function unescaped(text: string): string {
  return text.replaceAll(/\\([0-7]{3})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)));
}

/**
 * Where a path lies in its file system, as `/device/path`: the same for all places where a folder is bind-mounted. The path itself where no
 * mount is known.
 */
export function sourceOfMount(mounts: readonly Mount[], path: string): string {
  const above = mounts.filter(({ point }) => point === path || isInside(point, path));
  // Of two mounts at one place the later one is seen.
  const mount = above.reduce<Mount | undefined>((a, b) => (a && a.point.length > b.point.length ? a : b), undefined);
  return mount === undefined ? path : join("/", mount.device, mount.root, relative(mount.point, path));
}
