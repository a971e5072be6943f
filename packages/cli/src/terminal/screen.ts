// SPDX-License-Identifier: Apache-2.0
import { stripVTControlCharacters } from "node:util";
import type { TextSink } from "../io.ts";

/** A terminal with a part at the bottom that is drawn again and again, and lines above it that stay. */
export interface Screen {
  /** Prints lines that stay. */
  print(text: string): void;
  /** Replaces the part at the bottom. */
  draw(lines: readonly string[]): void;
}

/** Lines at the bottom that are left free, so that the cursor never scrolls what is drawn away. */
const margin = 2;

/** A screen on a terminal. */
export function createScreen(sink: TextSink): Screen {
  let drawn = 0;
  let shown: readonly string[] = [];
  const erase = (): string => (drawn === 0 ? "" : `\x1b[${drawn}A\x1b[0J`);
  const paint = (lines: readonly string[]): string => {
    const fitting = fit(lines, sink);
    drawn = fitting.length;
    return fitting.map((line) => `${line}\n`).join("");
  };
  return {
    print(text) {
      sink.write(`${erase()}${text}${paint(shown)}`);
    },
    draw(lines) {
      if (lines.length === shown.length && lines.every((line, index) => line === shown[index])) return;
      shown = lines;
      sink.write(`${erase()}${paint(lines)}`);
    },
  };
}

/** As much as there is room for: a line that wraps would be two when it is erased. */
function fit(lines: readonly string[], { columns, rows = 24 }: TextSink): string[] {
  const room = Math.max(rows - margin, 3);
  const kept =
    lines.length <= room ? lines : [...lines.slice(0, room - 1), `… and ${lines.length - room + 1} more lines`];
  return kept.map((line) => cut(line, columns));
}

function cut(line: string, columns: number): string {
  const plain = stripVTControlCharacters(line);
  // Colours would be cut apart, so a line that is too long loses them.
  return plain.length < columns ? line : `${plain.slice(0, Math.max(columns - 2, 1))}…`;
}
