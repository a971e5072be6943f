// SPDX-License-Identifier: Apache-2.0
import { lstatSync, realpathSync } from "node:fs";
import { dirname, join, sep } from "node:path";

/**
 * Refuses an image in which a link leads out from a place where something is mounted. Bubblewrap follows links of the image while it still
 * sees this machine's files, and makes the folders that are missing: anywhere that this user may write.
 */
export function refuseLinksOut(root: string, places: readonly string[]): void {
  const inside = `${realpathSync(root)}${sep}`;
  for (const place of places) {
    const path = deepest(join(root, place));
    if (!`${resolved(path)}${sep}`.startsWith(inside)) {
      throw new Error(`the image has a link out of itself at or above ${place}: build it with a folder there`);
    }
  }
}

/** The part of a path that is there, be it a link to nothing. */
function deepest(path: string): string {
  return lstatSync(path, { throwIfNoEntry: false }) === undefined ? deepest(dirname(path)) : path;
}

function resolved(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    // A link to nothing on this machine may lead to something while bubblewrap works.
    return "";
  }
}
