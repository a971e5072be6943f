// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { isSet, listOption, parseDuration, readTimeout, textOption, timerDelay } from "./command-spec.ts";

const cases: Record<string, number | undefined> = {
  "30s": 30_000,
  "1m30s": 90_000,
  "1.5h": 5_400_000,
  "250ms": 250,
  "0s": 0,
  "": undefined,
  "30": undefined,
  "-1s": undefined,
  "1 s": undefined,
  soon: undefined,
  "1s!": undefined,
  "1.s": undefined,
  ".5s": undefined,
  "1S": undefined,
  "1d": undefined,
  "1h1h": 7_200_000,
  "1m1ms": 60_001,
};
for (const [text, ms] of Object.entries(cases)) {
  test(`durations: "${text}"`, () => assert.equal(parseDuration(text), ms));
}

test("a time limit is one that a timer can wait for", () => {
  const rows: Readonly<Record<string, number>> = {
    "30s": 30_000,
    "1.5ms": 2,
    "0.001ms": 1,
    "596h": 2_145_600_000,
    "597h": 2_147_483_647,
    "100000h": 2_147_483_647,
  };
  for (const [text, ms] of Object.entries(rows)) assert.equal(readTimeout(text), ms, text);
  assert.deepEqual([timerDelay(0), timerDelay(0.5), timerDelay(2 ** 40)], [0, 1, 2 ** 31 - 1]);
  AbortSignal.timeout(readTimeout("100000h"));
});

test("a time limit of zero, or without a unit, is refused", () => {
  for (const text of ["0s", "", "30", "soon", "-5s"]) {
    assert.throws(() => readTimeout(text), {
      name: "UserError",
      exitCode: 2,
      message: `--timeout: expected a duration such as 30s or 1m30s, not "${text}"`,
    });
  }
});

test("options are read by their type", () => {
  const input = { args: [], options: { text: "a", on: true, off: false, list: ["a", "b"], empty: "" } };
  assert.deepEqual(
    ["text", "empty", "on", "list", "none"].map((name) => textOption(input, name)),
    ["a", "", undefined, undefined, undefined],
  );
  assert.deepEqual(
    ["on", "off", "text", "none"].map((name) => isSet(input, name)),
    [true, false, false, false],
  );
  assert.deepEqual(
    [listOption(input, "list"), listOption(input, "text"), listOption(input, "none")],
    [["a", "b"], [], []],
  );
});
