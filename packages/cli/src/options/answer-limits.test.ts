// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { readFunctionLimits } from "./function-limits.ts";

const read = (...functionLimit: string[]): unknown => readFunctionLimits({ args: [], options: { functionLimit } });

test("limits are read by name, and the last of several counts", () => {
  assert.deepEqual(read(), {});
  assert.deepEqual(read("resources=20000", "results=5", "resources=3"), { resources: 3, results: 5 });
});

const refused: Readonly<Record<string, RegExp>> = {
  "": /unknown limit; expected NAME=NUMBER with one of answerBytes, resources,/,
  resource: /--function-limit resource: unknown limit/,
  "__proto__=1": /unknown limit/,
  "toString=1": /unknown limit/,
  resources: /expected resources=NUMBER with a positive integer/,
  "resources=": /expected resources=NUMBER/,
  "resources=0": /expected resources=NUMBER/,
  "resources=-1": /expected resources=NUMBER/,
  "resources=1e9": /expected resources=NUMBER/,
  "resources=1.5": /expected resources=NUMBER/,
  "resources=1=2": /expected resources=NUMBER/,
  "resources=9999999999999999": /expected resources=NUMBER/,
};

for (const [text, message] of Object.entries(refused)) {
  test(`--function-limit "${text}" is refused`, () => {
    assert.throws(() => read(text), { message, exitCode: 2 });
  });
}
