// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { harmless, harmlessJson, harmlessLine, harmlessOutput } from "./harmless.ts";

const cases: Record<string, { readonly text: string; readonly want: string; readonly line?: string }> = {
  Plain: { text: "Größe → 3 ✓", want: "Größe → 3 ✓" },
  Colors: { text: "\u001b[31mred\u001b[0m \u001b[38:5:1mx\u001b[m", want: "red x" },
  ClearsTheScreen: { text: "a\u001b[2J\u001b[Hb", want: "a\\x1b[2J\\x1b[Hb" },
  Title: { text: "\u001b]0;owned\u0007x", want: "\\x1b]0;owned\\x07x" },
  Clipboard: { text: "\u001b]52;c;ZWNobyBoaQ==\u0007", want: "\\x1b]52;c;ZWNobyBoaQ==\\x07" },
  OneByteControls: { text: "a\u009b2Jb\u0085c", want: "a\\x9b2Jb\\x85c" },
  Bell: { text: "a\u0007b\u0000", want: "a\\x07b\\x00" },
  LinesAndTabs: { text: "a\tb\n  c\n", want: "a\tb\n  c\n", line: "a\tb c" },
  LinesOfWindows: { text: "a\r\nb\r\n", want: "a\nb\n", line: "a b" },
  OverwritesItsLine: { text: "good\rbad", want: "good\\x0dbad", line: "good bad" },
  Backspaces: { text: "bad\b\b\bgood", want: "bad\\x08\\x08\\x08good" },
  ReversedText: { text: "admin\u202etxt.exe", want: "admin\\u202etxt.exe" },
  IsolatedText: { text: "\u2066a\u2069", want: "\\u2066a\\u2069" },
  InvisibleMarks: { text: "a\u200eb\u200fc\u061cd", want: "a\\u200eb\\u200fc\\u061cd" },
  OtherSeparators: { text: "a\u2028b\u2029c", want: "a\\u2028b\\u2029c" },
  Delete: { text: "a\u007fb", want: "a\\x7fb" },
};
for (const [name, { text, want, line = want }] of Object.entries(cases)) {
  test(`text of others as a terminal may show it: ${name}`, () => {
    assert.equal(harmless(text), want);
    assert.equal(harmlessLine(text), line);
    const json = harmlessJson(JSON.stringify([text]));
    assert.deepEqual(JSON.parse(json), [text], "JSON keeps its value");
    // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this is about.
    assert.doesNotMatch(json, /[\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/);
  });
}

const outputs: Record<string, { readonly text: string; readonly want?: string }> = {
  Plain: { text: "Größe → 3 ✓\n" },
  Colors: { text: "\u001b[32mgood\u001b[39m \u001b[1mbold \u001b[2mfaint\u001b[22m\n" },
  EndsOfAll: { text: "\u001b[31mred\u001b[0m \u001b[36mcode\u001b[m \u001b[1mbold\u001b[0m\n" },
  LeftColored: { text: "\u001b[31mred\n", want: "\u001b[31mred\n\u001b[39m" },
  LeftBoldAndColored: { text: "\u001b[1m\u001b[33mred\n", want: "\u001b[1m\u001b[33mred\n\u001b[22m\u001b[39m" },
  OtherColors: { text: "\u001b[35;1mx\u001b[0m \u001b[8mhidden\u001b[28m", want: "x\u001b[0m hidden" },
  MovesBetweenColors: { text: "\u001b[31ma\u001b[2J\rb\u001b[39m", want: "\u001b[31ma\\x1b[2J\\x0db\u001b[39m" },
  OneMadeOfTwo: { text: "\u001b\u001b[39m[2J", want: "\\x1b\u001b[39m[2J" },
};
for (const [name, { text, want = text }] of Object.entries(outputs)) {
  test(`output of a command on a terminal keeps its colors, and none goes on behind it: ${name}`, () => {
    assert.equal(harmlessOutput(text), want);
  });
}
