// SPDX-License-Identifier: Apache-2.0

/** What the name of a file begins with that removes another one. */
export const whiteout = ".wh.";
const opaque = ".wh..wh..opq";

/** Paths that layers removed from those below them. */
export interface HiddenPaths {
  /** Notes a whiteout: the path of a file of that name. */
  add(path: string): void;
  /** Whether a path of a lower layer is gone, by itself or with a folder it is in. */
  has(path: string): boolean;
}

/** Starts without any. */
export function createHiddenPaths(): HiddenPaths {
  const removed = new Set<string>();
  const cleared = new Set<string>();
  return {
    add(path) {
      const parts = partsOf(path);
      const name = parts.pop() ?? "";
      if (name === opaque) cleared.add(parts.join("/"));
      else removed.add([...parts, name.slice(whiteout.length)].join("/"));
    },
    has(path) {
      const parts = partsOf(path);
      for (let depth = 0; depth <= parts.length; depth++) {
        const above = parts.slice(0, depth).join("/");
        if (removed.has(above) || (depth < parts.length && cleared.has(above))) return true;
      }
      return false;
    },
  };
}

function partsOf(path: string): string[] {
  return path.split("/").filter((part) => part !== "" && part !== ".");
}
