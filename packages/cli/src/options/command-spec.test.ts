// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { parseDuration } from "./command-spec.ts";

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
};
for (const [text, ms] of Object.entries(cases)) {
  test(`durations: "${text}"`, () => assert.equal(parseDuration(text), ms));
}
