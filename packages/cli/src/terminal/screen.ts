// SPDX-License-Identifier: Apache-2.0
import { stripVTControlCharacters } from "node:util";
import type { TextSink } from "../io.ts";

/** A terminal with a part at the bottom that is drawn again and again, and lines above it that stay. */
export interface Screen {
  /** Prints lines that stay. */
  print(text: string): void;
  /** Replaces the part at the bottom. */
  draw(lines: readonly string[]): void;
  /** How many lines are shown of what is drawn. */
  room(): number;
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
    room: () => roomOf(sink),
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

function roomOf({ rows = 24 }: TextSink): number {
  return Math.max(rows - margin, 3);
}

/** As much as there is room for: what does not fit could not be erased. */
function fit(lines: readonly string[], sink: TextSink): string[] {
  const room = roomOf(sink);
  const wrapped = lines.flatMap((line) => wrap(line, sink.columns));
  if (wrapped.length <= room) return wrapped;
  return [...wrapped.slice(0, room - 1), `… and ${wrapped.length - room + 1} more lines`];
}

/** A line that is too long goes on in the next one, below where its text began. Its colours would be cut apart, so it has none. */
function wrap(line: string, columns: number): string[] {
  const plain = stripVTControlCharacters(line);
  if (plain.length < columns) return [line];
  const indent = `${(/^[\s│├└─]*/.exec(plain)?.[0] ?? "").replaceAll("├", "│").replaceAll(/[└─]/g, " ")}  `;
  const width = Math.max(columns - 1, indent.length + 10);
  const lines: string[] = [];
  for (let rest = plain; rest !== ""; ) {
    const end = rest.length <= width ? rest.length : breakAt(rest, width, indent.length);
    lines.push(rest.slice(0, end).trimEnd());
    const next = rest.slice(end).trimStart();
    rest = next === "" ? "" : indent + next;
  }
  return lines;
}

/** After the last word that fits, or in the middle of one that never would. */
function breakAt(text: string, width: number, from: number): number {
  const space = text.lastIndexOf(" ", width);
  return space > from ? space : width;
}
