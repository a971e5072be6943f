// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { watchForJumps } from "./certificate-renewal.ts";

const hour = 3_600_000;
const rows: Record<string, { readonly setMs: number; readonly told: boolean }> = {
  Forward: { setMs: hour, told: true },
  Back: { setMs: -hour, told: true },
  "Ten years forward": { setMs: 87_600 * hour, told: true },
  "Ten years back": { setMs: -87_600 * hour, told: true },
  "Half a minute": { setMs: 30_000, told: true },
  "A few seconds": { setMs: 5_000, told: false },
  "Not at all": { setMs: 0, told: false },
};

for (const [name, { setMs, told }] of Object.entries(rows)) {
  test(`a clock that is set is noticed within a minute: ${name}`, () => {
    let [wall, monotonic, due] = [Date.parse("2030-01-01T00:00:00Z"), 5_000, 0];
    const jumps: number[] = [];
    let act = (): void => {};
    const stop = watchForJumps(
      {
        wallMs: () => wall,
        monotonicMs: () => monotonic,
        every: (ms, look) => {
          [due, act] = [ms, look];
          return () => {
            act = () => {};
          };
        },
      },
      (byMs) => jumps.push(byMs),
    );
    const pass = (ms: number): void => {
      wall += ms;
      monotonic += ms;
      act();
    };
    assert.ok(due <= 60_000);
    // A machine under load looks late; that is not a jump.
    pass(10 * due);
    wall += setMs;
    pass(due);
    pass(due);
    assert.deepEqual(jumps, told ? [setMs] : []);
    stop();
    wall += hour;
    pass(due);
    assert.equal(jumps.length, told ? 1 : 0);
  });
}
