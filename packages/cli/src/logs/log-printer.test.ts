// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { TestIo } from "../../test/test-io.ts";
import { createLogPrinter } from "./logs-command.ts";

const cases: Record<string, { several: boolean; texts: [string, string][]; want: string; reason: string }> = {
  One: { several: false, texts: [["a", "x\n"]], want: "x\n", reason: "one source needs no name" },
  Several: {
    several: true,
    texts: [
      ["a", "x\n"],
      ["b", "y\n"],
    ],
    want: "==> a <==\nx\n\n==> b <==\ny\n",
    reason: "each is named",
  },
  Newcomer: {
    several: false,
    texts: [
      ["a", "x\n"],
      ["a", "x\n"],
      ["b", "y"],
      ["a", "z\n"],
    ],
    want: "x\nx\n\n==> b <==\ny\n\n==> a <==\nz\n",
    reason: "from the second source on each change is named, on a line of its own",
  },
  Silent: {
    several: true,
    texts: [
      ["a", ""],
      ["b", "y\n"],
    ],
    want: "==> b <==\ny\n",
    reason: "a function without output is not named",
  },
};
for (const [name, { several, texts, want, reason }] of Object.entries(cases)) {
  test(`printing logs: ${name}`, () => {
    const { stdout } = new TestIo();
    const printer = createLogPrinter(stdout, { several });
    for (const [source, text] of texts) printer.print(source, text);
    assert.equal(stdout.text, want, reason);
  });
}

test("a function cannot do anything to a terminal, and a file gets what it wrote", () => {
  const hostile = "\u001b]0;title\u0007\u001b[2Jhello\u009b1A\tthere\r\n";
  const terminal = new TestIo({ isTTY: true }).stdout;
  createLogPrinter(terminal, { several: false }).print("a", hostile);
  assert.equal(terminal.text, "\\x1b]0;title\\x07\\x1b[2Jhello\\x9b1A\tthere\n");
  const file = new TestIo().stdout;
  createLogPrinter(file, { several: false }).print("a", hostile);
  assert.equal(file.text, hostile);
});
