// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { harmless, harmlessLine } from "./harmless.ts";

const cases: Record<string, { readonly text: string; readonly want: string; readonly line?: string }> = {
  Plain: { text: "Größe → 3 ✓", want: "Größe → 3 ✓" },
  Colours: { text: "\u001b[31mred\u001b[0m", want: "red" },
  ClearsTheScreen: { text: "a\u001b[2J\u001b[Hb", want: "ab" },
  Title: { text: "\u001b]0;owned\u0007x", want: "x" },
  OneByteControls: { text: "a\u009b2Jb\u0085c", want: "abc" },
  Bell: { text: "a\u0007b\u0000", want: "ab" },
  LinesAndTabs: { text: "a\tb\n  c\n", want: "a\tb\n  c\n", line: "a\tb c" },
  OverwritesItsLine: { text: "good\rbad", want: "goodbad", line: "good bad" },
};
for (const [name, { text, want, line = want }] of Object.entries(cases)) {
  test(`what others wrote does nothing to a terminal: ${name}`, () => {
    assert.equal(harmless(text), want);
    assert.equal(harmlessLine(text), line);
  });
}
