// SPDX-License-Identifier: Apache-2.0
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { pathInside } from "@purlin/oci";

/** What is at a path of an image, as this machine sees it; undefined when nothing is there. No link leads out of the image. */
export async function locate(root: string, path: string): Promise<string | undefined> {
  // With one more part, a link at the end is followed like any other.
  const below = await pathInside(root, `${path}/below`).catch(() => undefined);
  const found = below === undefined ? undefined : dirname(below);
  return found !== undefined && existsSync(found) ? found : undefined;
}

/** Folders of this machine that an image finds somewhere else, by where it does. */
export type Mounts = Readonly<Record<string, string>>;

/**
 * A word of a command line or a variable, with the paths of an image in it as this machine sees them: `/a`, `--flag=/a` and `/a:/b`. What is
 * not in the image stays as it is.
 */
export async function translate(word: string, root: string, mounts: Mounts = {}): Promise<string> {
  const at = word.startsWith("/") ? 0 : word.indexOf("=/") + 1;
  if (at === 0 && !word.startsWith("/")) return word;
  const paths = word.slice(at).split(":");
  const seen = paths.map(async (path) => (path.startsWith("/") ? await seenAt(path, root, mounts) : path));
  return word.slice(0, at) + (await Promise.all(seen)).join(":");
}

async function seenAt(path: string, root: string, mounts: Mounts): Promise<string> {
  for (const [inside, outside] of Object.entries(mounts)) {
    if (path === inside || path.startsWith(`${inside}/`)) return join(outside, path.slice(inside.length));
  }
  return (await locate(root, path)) ?? path;
}
