// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { commandTable } from "../commands/command-table.ts";
import { helpMarkdown, helpText, terminalText } from "./help-text.ts";

test("Markdown becomes text: headings, code, links, marks", () => {
  const markdown = "Does `this` and [that](../that.md).\n\n\n## Examples\n\n```sh\npurlin `x` # y\n```\n\nEnd.\n";
  assert.equal(terminalText(markdown), "Does this and that.\n\nExamples:\n\n  purlin `x` # y\n\nEnd.");
});

test("a row of a table is a line with what it says below, or behind a short word", () => {
  const table =
    "Of:\n| key | holds if |\n|---|:--|\n| `a: {b}` | one two three \\| four |\n| V01 | [x](y.md) z |\n\nEnd.";
  assert.equal(terminalText(table, 20), "Of:\n  a: {b}\n      one two three\n      | four\n  V01 x z\n\nEnd.");
  assert.equal(terminalText("```\n| a | b |\n```"), "  | a | b |", "code stays as it is");
  for (const { name } of commandTable) assert.doesNotMatch(helpText(name), /^\|.*\|$|\|---/m, name);
});

test("the title is for readers of the file", () => {
  assert.doesNotMatch(helpMarkdown("function call"), /^# /);
  assert.equal(helpText("function call"), terminalText(helpMarkdown("function call")));
});

test("paragraphs are as wide as the terminal, and never wider than is good to read", () => {
  const words = "one two three four five six seven eight nine ten";
  const markdown = `${words}\n${words}\n${words}\n\n1. ${words}\n2. two\n\n## Title\n${words}\n`;
  const narrow = terminalText(markdown, 40).split("\n");
  assert.ok(narrow.every((line) => line.length <= 40));
  assert.equal(
    narrow.join(" ").replaceAll(/ +/g, " "),
    `${words} ${words} ${words} 1. ${words} 2. two Title: ${words}`,
  );
  assert.ok(narrow.includes("2. two"), "an item has a line of its own");
  assert.ok(narrow.includes("Title:"), "and so has a heading");
  const wide = terminalText(markdown, 400).split("\n");
  assert.deepEqual(
    [Math.max(...wide.map((line) => line.length)) <= 100, wide[0]?.startsWith(`${words} ${words}`)],
    [true, true],
  );
});

test("a command that is too long continues in the next line", () => {
  const text = "```sh\npurlin up a --wait | sed 's/a b c d e f/g/'\n```\n";
  assert.equal(terminalText(text, 20), "  purlin up a \\\n    --wait | sed \\\n    's/a b c d e f/g/'");
});

test("a word that is wider than the terminal, and code, stay whole", () => {
  assert.equal(
    terminalText("a `--long-long-long-option` b\n\n```yaml\nx y z w v\n```\n", 8),
    "a\n--long-long-long-option\nb\n\n  x y z w v",
  );
});

test("help is wrapped for the terminal it is shown on", () => {
  for (const { name } of commandTable) {
    const prose = helpText(name, 80)
      .split("\n")
      .filter((line) => !line.startsWith("  "));
    for (const line of prose) assert.ok(line.length <= 80 || !line.includes(" "), `${name}: ${line}`);
  }
});

/** Commands without `-o json`, and what stands in its place. */
const withoutJson: ReadonlySet<string> = new Set([
  // They run until they are stopped. `start` and `apiserver` log JSON lines.
  ...["demo", "up", "dev", "start", "apiserver", "function run"],
  // They make files for people.
  ...["init", "function init", "provider init", "function certs", "completion"],
  // -o is a file or a folder, as in the commands of Crossplane and kubectl.
  ...["render", "operation render", "export", "kubeconfig", "runs export", "xpkg build", "xpkg pull"],
  // `--reporter json`
  "test",
]);

for (const { name, options = [] } of commandTable) {
  test(`programs can read the output of purlin ${name}, or the list of exceptions names it`, () => {
    const output = options.find(({ flags }) => flags === "-o, --output <format>");
    assert.equal(/\bjson\b/.test(output?.description ?? ""), !withoutJson.has(name));
  });
}
