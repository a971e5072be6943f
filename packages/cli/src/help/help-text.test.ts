// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { helpMarkdown, helpText, terminalText } from "./help-text.ts";

test("Markdown becomes text: headings, code, links, marks", () => {
  const markdown = "Does `this` and [that](../that.md).\n\n\n## Examples\n\n```sh\npurlin `x` # y\n```\n\nEnd.\n";
  assert.equal(terminalText(markdown), "Does this and that.\n\nExamples:\n\n  purlin `x` # y\n\nEnd.");
});

test("the title is for readers of the file", () => {
  assert.doesNotMatch(helpMarkdown("function call"), /^# /);
  assert.equal(helpText("function call"), terminalText(helpMarkdown("function call")));
});

test("lines fit a terminal", () => {
  for (const name of ["purlin", "demo", "function init", "function run", "function certs"]) {
    for (const line of helpText(name).split("\n")) assert.ok(line.length <= 140, `${name}: ${line}`);
  }
});
