// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { watchForJumps } from "./certificate-renewal.ts";

const hour = 3_600_000;
const rows: Record<string, { readonly setMs: number; readonly reported: boolean }> = {
  Forward: { setMs: hour, reported: true },
  Back: { setMs: -hour, reported: true },
  "Ten years forward": { setMs: 87_600 * hour, reported: true },
  "Ten years back": { setMs: -87_600 * hour, reported: true },
  "Half a minute": { setMs: 30_000, reported: true },
  "A few seconds": { setMs: 5_000, reported: false },
  "Not at all": { setMs: 0, reported: false },
};

for (const [name, { setMs, reported }] of Object.entries(rows)) {
  test(`a clock that is set is noticed within a minute: ${name}`, () => {
    let [wall, monotonic, due] = [Date.parse("2030-01-01T00:00:00Z"), 5_000, 0];
    const jumps: number[] = [];
    let act = (): void => {};
    const stop = watchForJumps(
      {
        clock: {
          now: () => wall,
          schedule: (ms, look) => {
            [due, act] = [ms, look];
            return () => {
              act = () => {};
            };
          },
        },
        monotonicMs: () => monotonic,
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
    assert.deepEqual(jumps, reported ? [setMs] : []);
    stop();
    wall += hour;
    pass(due);
    assert.equal(jumps.length, reported ? 1 : 0);
  });
}
