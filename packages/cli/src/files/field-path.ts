// SPDX-License-Identifier: Apache-2.0
import type { PathSegment } from "./yaml-position.ts";

// Members of schemas are written as properties[spec].
const token = /\[(\d+)\]|\["((?:[^"\\]|\\.)*)"\]|\[([^\]"]+)\]|\.?([^.[\]]+)/y;

/** Takes a path such as `observed.resources["a.b"].items[0]` apart. What cannot be read ends the path. */
export function parseFieldPath(path: string): PathSegment[] {
  const segments: PathSegment[] = [];
  token.lastIndex = 0;
  for (let match = token.exec(path); match !== null; match = token.exec(path)) {
    const [, index, quoted, bracketed, name] = match;
    if (index !== undefined) segments.push(Number(index));
    else if (quoted !== undefined) segments.push(JSON.parse(`"${quoted}"`) as string);
    else segments.push(bracketed ?? name ?? "");
  }
  return segments;
}
