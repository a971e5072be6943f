// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { TestIo } from "../../test/test-io.ts";
import { formatTable } from "./screen.ts";
import { createStyle } from "./style.ts";

test("columns are as wide as their widest cell and lines end with their last word", () => {
  assert.equal(
    formatTable([
      ["TYPE", "STATUS", "MESSAGE"],
      ["ImageReady", "False", ""],
      ["A", "True", "fine"],
    ]),
    "TYPE        STATUS  MESSAGE\nImageReady  False\nA           True    fine",
  );
});

test("colors take no room", () => {
  const style = createStyle(new TestIo({ isTTY: true }).stdout, {});
  const [first, second] = formatTable([
    [style.bad("no"), "x"],
    ["yes", "x"],
  ]).split("\n");
  assert.equal(first, `${style.bad("no")}   x`);
  assert.equal(second, "yes  x");
});

const colors: Record<string, { readonly isTTY: boolean; readonly env: Record<string, string>; readonly on: boolean }> =
  {
    Terminal: { isTTY: true, env: {}, on: true },
    Pipe: { isTTY: false, env: {}, on: false },
    NoColor: { isTTY: true, env: { NO_COLOR: "1" }, on: false },
    EmptyNoColor: { isTTY: true, env: { NO_COLOR: "" }, on: true },
    DumbTerminal: { isTTY: true, env: { TERM: "dumb" }, on: false },
  };
for (const [name, { isTTY, env, on }] of Object.entries(colors)) {
  test(`colors: ${name}`, () => {
    const style = createStyle(new TestIo({ isTTY }).stdout, env);
    assert.equal(style.good("ok") !== "ok", on);
  });
}
