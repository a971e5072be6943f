// SPDX-License-Identifier: Apache-2.0
import { isAbsolute, relative, sep } from "node:path";

/** Whether a path lies below a folder. Both are absolute and without links. */
export function isInside(folder: string, path: string): boolean {
  const way = relative(folder, path);
  return way !== "" && way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}
