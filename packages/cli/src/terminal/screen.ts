// SPDX-License-Identifier: Apache-2.0

import type { Readable } from "node:stream";
import type { ReadStream } from "node:tty";
import { stripVTControlCharacters } from "node:util";
import type { Io, TextSink } from "../io.ts";

const graphemes = new Intl.Segmenter(undefined, { granularity: "grapheme" });

const plainText = /^[\x20-\x7e\u00a1-\u02ff\u2010-\u2027\u2500-\u259f\u2713-\u2717]*$/;

/** East Asian wide and fullwidth characters, and emoji. */
const wide =
  /^(?:[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|[\u{1f300}-\u{1faff}]|[\u{20000}-\u{3fffd}]|\p{Emoji_Presentation})/u;

const invisible = /^\p{Mark}+$|^[\u200b-\u200f\u2060\ufeff]+$/u;

/** A terminal with a part at the bottom that is drawn again and again, and lines above it that stay. */
interface Screen {
  /** Prints lines that stay. */
  print(text: string): void;
  /** Replaces the part at the bottom. */
  draw(lines: readonly string[]): void;
  /** How many lines are shown of what is drawn. */
  room(): number;
  /** Draws everything again after the size of the terminal has changed, on an empty screen: how it moved old lines is not known. */
  resized(lines: readonly string[]): void;
}

/** Lines that stay are kept this far back, to be printed again. */
const keptLines = 200;

/** Lines at the bottom that are left free, so that the cursor never scrolls what is drawn away. */
const margin = 2;

/** A screen on a terminal. */
export function createScreen(sink: TextSink): Screen {
  let drawn = 0;
  let shown: readonly string[] = [];
  let printed: readonly string[] = [];
  // The cursor may not be at the beginning of its line: a terminal shows what is typed, such as ^C.
  const erase = (): string => (drawn === 0 ? "" : `\r\x1b[${drawn}A\x1b[0J`);
  const paint = (lines: readonly string[]): string => {
    const fitting = fit(lines, sink);
    drawn = fitting.length;
    return fitting.map((line) => `${line}\n`).join("");
  };
  return {
    room: () => roomOf(sink),
    print(text) {
      printed = [...printed, ...text.replace(/\n$/, "").split("\n")].slice(-keptLines);
      sink.move(erase());
      sink.write(`${text}${paint(shown)}`);
    },
    draw(lines) {
      if (lines.length === shown.length && lines.every((line, index) => line === shown[index])) return;
      shown = lines;
      sink.move(erase());
      sink.write(paint(lines));
    },
    resized(lines) {
      shown = lines;
      const below = paint(lines);
      const above = lastRows(printed, (sink.rows ?? 24) - drawn - 1, sink.columns);
      sink.move("\x1b[H\x1b[2J");
      sink.write(`${above.map((line) => `${line}\n`).join("")}${below}`);
    },
  };
}

/** The last lines that fit into this many rows; the terminal wraps those that are too long. */
function lastRows(lines: readonly string[], rows: number, columns: number): readonly string[] {
  let left = rows;
  const start = lines.findLastIndex((line) => {
    left -= Math.max(1, Math.ceil(textWidth(line) / columns));
    return left < 0;
  });
  return lines.slice(start + 1);
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

/** A line that is too long continues in the next one, below where its text began. Its colors would be cut apart, so it has none. */
function wrap(line: string, columns: number): string[] {
  const plain = stripVTControlCharacters(line);
  if (textWidth(plain) < columns) return [line];
  const indent = `${(/^[\s│├└─]*/.exec(plain)?.[0] ?? "").replaceAll("├", "│").replaceAll(/[└─]/g, " ")}  `;
  const width = Math.max(columns - 1, indent.length + 10);
  const lines: string[] = [];
  for (let rest = plain; rest !== ""; ) {
    const fitting = fittingLength(rest, width);
    const end = fitting === rest.length ? fitting : breakAt(rest, fitting, indent.length);
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

/** How many columns of a terminal a text takes, without its colors. */
export function textWidth(text: string): number {
  const plain = stripVTControlCharacters(text);
  if (plainText.test(plain)) return plain.length;
  let width = 0;
  for (const { segment } of graphemes.segment(plain)) width += graphemeWidth(segment);
  return width;
}

function graphemeWidth(grapheme: string): number {
  if (invisible.test(grapheme)) return 0;
  return wide.test(grapheme) ? 2 : 1;
}

/** The longest beginning of a text that fits into this many columns, as a count of its characters; at least one. */
function fittingLength(text: string, columns: number): number {
  let width = 0;
  let length = 0;
  for (const { segment } of graphemes.segment(text)) {
    width += graphemeWidth(segment);
    if (width > columns && length > 0) return length;
    length += segment.length;
  }
  return length;
}

/** Rows in columns as kubectl prints them: two spaces apart, no lines, nothing after the last column. */
export function formatTable(rows: readonly (readonly string[])[]): string {
  const widths: number[] = [];
  widen(widths, rows);
  return rows.map((row) => formatRow(row, widths)).join("\n");
}

/** A table that gets its rows little by little: columns are as wide as the widest cell so far. */
export function growingTable(): (rows: readonly (readonly string[])[]) => string {
  const widths: number[] = [];
  return (rows) => {
    widen(widths, rows);
    return rows.map((row) => `${formatRow(row, widths)}\n`).join("");
  };
}

function widen(widths: number[], rows: readonly (readonly string[])[]): void {
  for (const row of rows) {
    for (const [column, cell] of row.entries()) widths[column] = Math.max(widths[column] ?? 0, visibleLength(cell));
  }
}

function formatRow(row: readonly string[], widths: readonly number[]): string {
  const cells = row.map((cell, column) => cell + " ".repeat((widths[column] ?? 0) - visibleLength(cell)));
  return cells.join("  ").trimEnd();
}

function visibleLength(text: string): number {
  return stripVTControlCharacters(text).length;
}

/** What each key does. */
export type KeyActions = Readonly<Record<string, () => void | Promise<void>>>;

type KeyInput = Readable & Partial<Pick<ReadStream, "isTTY" | "setRawMode">>;

/** Where keys come from; undefined when no user can press any. */
export function keysOf({ stdin, stdout }: Io): KeyInput | undefined {
  const input: KeyInput = stdin;
  return stdout.isTTY && input.isTTY === true ? input : undefined;
}

/** A terminal in raw mode sends Ctrl-C and Ctrl-D as characters. */
export const quitKeys = (quit: () => void): KeyActions => ({ "\u0003": quit, "\u0004": quit });

/** A line that the user types after a key: it takes all keys up to Enter, which passes it on, or Escape, which gives it up. */
export class KeyPrompt {
  #text: string | undefined;
  readonly #label: string;
  readonly #io: Pick<Io, "stdout">;
  readonly #entered: (text: string) => void;

  constructor(label: string, io: Pick<Io, "stdout">, entered: (text: string) => void) {
    this.#label = label;
    this.#io = io;
    this.#entered = entered;
  }

  open(): void {
    this.#text = "";
    this.#io.stdout.write(`${this.#label}: `);
  }

  /** Whether the prompt took the key. */
  type(key: string): boolean {
    const text = this.#text;
    if (text === undefined || key === "\u0003") return false;
    if (key === "\r" || key === "\n" || key === "\u001b") {
      this.#text = undefined;
      this.#io.stdout.write("\n");
      if (key !== "\u001b") this.#entered(text);
      return true;
    }
    const isErase = key === "\u007f" || key === "\b";
    this.#text = isErase ? [...text].slice(0, -1).join("") : text + key;
    this.#io.stdout.move("\r");
    this.#io.stdout.write(`${this.#label}: ${this.#text} `);
    this.#io.stdout.move("\b");
    return true;
  }
}

/** Calls the action of each key that is pressed, or `typed` with it, which takes all keys while it returns true. */
export function onKeys(
  input: KeyInput,
  actions: KeyActions,
  typed: (key: string) => boolean = () => false,
): Disposable {
  const pressed = (data: Buffer | string): void => {
    for (const key of data.toString()) if (!typed(key)) void actions[key.toLowerCase()]?.();
  };
  input.setRawMode?.(true);
  input.on("data", pressed);
  return {
    [Symbol.dispose]() {
      input.off("data", pressed);
      input.setRawMode?.(false);
      input.pause();
    },
  };
}
