// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { requireTimeout } from "./request-timeout.ts";

for (const text of ["", "0", "5s", "1m30s", "1.5h", ".5s", "5.s", "-1s", "+2ms", "10us", "10µs", "1h0m", "+0"]) {
  test(`"${text}" is a timeout`, () => requireTimeout(new URLSearchParams({ timeout: text })));
}

const refused: Record<string, string> = {
  abc: 'time: invalid duration "abc"',
  "5": 'time: missing unit in duration "5"',
  "5x": 'time: unknown unit "x" in duration "5x"',
  "5s ": 'time: unknown unit "s " in duration "5s "',
  "1s2": 'time: missing unit in duration "1s2"',
  "-": 'time: invalid duration "-"',
  ".s": 'time: invalid duration ".s"',
  "1.2.3s": 'time: missing unit in duration "1.2.3s"',
};

for (const [text, problem] of Object.entries(refused)) {
  test(`"${text}" is no timeout`, () => {
    assert.throws(() => requireTimeout(new URLSearchParams({ timeout: text })), {
      message: `invalid timeout specified in the request URL - ${problem}`,
    });
  });
}
