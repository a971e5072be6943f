// SPDX-License-Identifier: Apache-2.0

/** A place in an expression: line from 1, column from 0, both in code points. `noLocation` has line -1. */
export interface Location {
  readonly line: number;
  readonly column: number;
}

export const noLocation: Location = { line: -1, column: -1 };

/** The text of an expression, addressed by code point as CEL's messages are. */
export interface Source {
  readonly text: string;
  readonly points: readonly string[];
  /** Where each line after the first starts. */
  readonly lineStarts: readonly number[];
}

export function createSource(text: string): Source {
  const points = Array.from(text);
  const lineStarts: number[] = [];
  points.forEach((point, index) => {
    if (point === "\n") lineStarts.push(index + 1);
  });
  return { text, points, lineStarts };
}

export function locationOf(source: Source, offset: number): Location {
  let line = 1;
  let start = 0;
  for (const lineStart of source.lineStarts) {
    if (lineStart > offset) break;
    line++;
    start = lineStart;
  }
  return { line, column: offset - start };
}

/** One line of the text without its line break, or undefined when there is no such line. */
export function lineText(source: Source, line: number): string | undefined {
  if (line < 1 || line > source.lineStarts.length + 1 || source.points.length === 0) return undefined;
  const start = line === 1 ? 0 : source.lineStarts[line - 2];
  const next = source.lineStarts[line - 1];
  return source.points.slice(start, next === undefined ? undefined : next - 1).join("");
}
