// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { TestIo } from "../../test/test-io.ts";
import { createStyle } from "./style.ts";

const good = (isTTY: boolean, env: Record<string, string> = {}): string =>
  createStyle(new TestIo({ isTTY }).stdout, env).good("a");

test("colors are for terminals, and not where the user or the terminal has none", () => {
  assert.equal(good(true), "\u001b[32ma\u001b[39m");
  assert.equal(good(true, { TERM: "xterm", NO_COLOR: "" }), "\u001b[32ma\u001b[39m", "an empty NO_COLOR is not set");
  for (const [isTTY, env] of [
    [false, {}],
    [true, { NO_COLOR: "1" }],
    [true, { TERM: "dumb" }],
  ] as const)
    assert.equal(good(isTTY, env), "a", JSON.stringify(env));
});

test("each meaning has a form of its own", () => {
  const { strong, faint, good: well, doubtful, bad, code } = createStyle(new TestIo({ isTTY: true }).stdout, {});
  const forms = [strong, faint, well, doubtful, bad, code].map((form) => form("a"));
  assert.equal(new Set(forms).size, forms.length);
});
