// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { TextSink } from "../io.ts";
import { createScreen, textWidth } from "./screen.ts";

/** A terminal of a few lines, played back: what is on it after everything that was written. */
function terminal(columns: number, rows: number): { readonly sink: Resizable; lines(): string[] } {
  let written = "";
  const lines = (): string[] => {
    const screen: string[] = [""];
    let at = 0;
    const steps = written
      .replaceAll("\x1b", "ESC")
      .matchAll(/\r?ESC\[(\d+)A|(ESC\[0J)|(ESC\[HESC\[2J)|(\n)|((?:(?!ESC)[^\n\r])+)/g);
    for (const [, up, clear, home, newline, text = ""] of steps) {
      if (up !== undefined) at -= Number(up);
      else if (clear !== undefined) screen.splice(at, screen.length, "");
      else if (home !== undefined) {
        screen.splice(0, screen.length, "");
        at = 0;
      } else if (newline !== undefined) screen[++at] ??= "";
      else screen[at] += text;
    }
    return screen.slice(0, -1);
  };
  const write = (text: string): void => {
    written += text;
  };
  return { sink: { isTTY: true, columns, rows, write, move: write }, lines };
}

type Resizable = TextSink & { columns: number; rows: number };

test("after a resize everything is on an empty screen again: what stays above, what is drawn below", () => {
  const { sink, lines } = terminal(40, 20);
  const screen = createScreen(sink);
  screen.print("hello\nworld\n");
  screen.draw(["a line of thirty characters ...", "b"]);
  sink.columns = 20;
  screen.resized(["a line of thirty characters ...", "b"]);
  assert.deepEqual(lines(), ["hello", "world", "a line of thirty", "  characters ...", "b"]);
  screen.draw(["c"]);
  assert.deepEqual(lines(), ["hello", "world", "c"]);
  sink.rows = 5;
  screen.print("more\n");
  screen.resized(["c"]);
  assert.deepEqual(lines(), ["hello", "world", "more", "c"]);
  sink.rows = 4;
  screen.resized(["c"]);
  assert.deepEqual(lines(), ["world", "more", "c"], "the newest of what fits");
});

test("characters of two columns count as two, so that no line is longer than the screen takes it for", () => {
  const { sink, lines } = terminal(20, 20);
  const screen = createScreen(sink);
  screen.draw(["数据库未就绪等待中数据库", "e\u0301e\u0301", "🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀"]);
  assert.deepEqual(
    lines().map((line) => [line, textWidth(line)]),
    [
      ["数据库未就绪等待中", 18],
      ["  数据库", 8],
      ["e\u0301e\u0301", 2],
      ["🚀🚀🚀🚀🚀🚀🚀🚀🚀", 18],
      ["  🚀", 4],
    ],
  );
});

test("what is drawn replaces what was drawn before; what is printed stays above it", () => {
  const { sink, lines } = terminal(40, 20);
  const screen = createScreen(sink);
  screen.print("hello\n");
  screen.draw(["a", "b", "c"]);
  screen.draw(["d"]);
  screen.print("news\nmore\n");
  screen.draw(["e", "f"]);
  assert.deepEqual(lines(), ["hello", "news", "more", "e", "f"]);
});

test("what does not fit on the screen is cut, so that it can be erased", () => {
  const { sink, lines } = terminal(30, 6);
  const screen = createScreen(sink);
  screen.draw(["1", "2", "3", "4", "5", "6"]);
  assert.deepEqual(lines(), ["1", "2", "3", "… and 3 more lines"]);
  screen.draw(["done"]);
  assert.deepEqual(lines(), ["done"]);
});

test("a line that is too long continues below where its text began", () => {
  const { sink, lines } = terminal(24, 20);
  const screen = createScreen(sink);
  screen.draw(["   │   Synced: a rather long reason", "├─ XApp with-a-name-that-never-ends-at-all", "short"]);
  assert.deepEqual(lines(), [
    "   │   Synced: a rather",
    "   │     long reason",
    "├─ XApp",
    "│    with-a-name-that-n",
    "│    ever-ends-at-all",
    "short",
  ]);
  screen.draw(["x"]);
  assert.deepEqual(lines(), ["x"]);
});

test("drawing the same again writes nothing", () => {
  let writes = 0;
  const screen = createScreen({ isTTY: true, columns: 80, write: () => void writes++, move: () => {} });
  screen.draw(["a"]);
  screen.draw(["a"]);
  assert.equal(writes, 1);
});
