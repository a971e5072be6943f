// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { parseGoDuration } from "./go-duration.ts";

const durations: Readonly<Record<string, number | undefined>> = {
  "90s": 90_000,
  "1m30s": 90_000,
  "1h": 3_600_000,
  "1h2m3s4ms": 3_723_004,
  "1.5h": 5_400_000,
  ".5s": 500,
  "2.s": 2000,
  "100ms": 100,
  "1us": 0.001,
  "2µs": 0.002,
  "2μs": 0.002,
  "1000000ns": 1,
  "-1s": -1000,
  "+1s": 1000,
  "-1m30s": -90_000,
  "0": 0,
  "0s": 0,
  "": undefined,
  "5": undefined,
  "1 s": undefined,
  "1sx": undefined,
  "1d": undefined,
  ".s": undefined,
  "1m30": undefined,
  "1.2.3s": undefined,
  s: undefined,
  "-": undefined,
  "--1s": undefined,
};

for (const [text, want] of Object.entries(durations)) {
  test(`a Go duration ${JSON.stringify(text)} is ${want} ms`, () => assert.equal(parseGoDuration(text), want));
}

test("a text as long as an annotation may be costs its length, not its square", () => {
  // With a number that can be read in more than one way these take minutes; the test's own time limit would end them.
  const digits = "1".repeat(250_000);
  assert.equal(parseGoDuration(digits), undefined);
  assert.equal(parseGoDuration(`${digits}.${digits}`), undefined);
  assert.equal(parseGoDuration("1s".repeat(125_000)), 125_000_000);
});
