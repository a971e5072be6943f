// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { History, type HistoryLimits } from "./history.ts";
import type { Change } from "./store.ts";

const wide: HistoryLimits = { keepChanges: 1e9, keepMs: 1e9, maxChanges: 1e9, maxBytes: 1e9 };

function change(revision: number, previousBytes = 0): Change<object> {
  const bytes = new Uint8Array(previousBytes);
  const previous = { key: "/k", revision: 0, createRevision: 0, bytes, value: {}, expiresAt: undefined };
  return { key: "/k", revision, entry: undefined, previous };
}

function dropAll(history: History<object>, now: number, upTo = 0): number[] {
  const dropped: number[] = [];
  for (let next = history.dropOldest(now, upTo); next !== undefined; next = history.dropOldest(now, upTo)) {
    dropped.push(next.revision);
  }
  return dropped;
}

const cases: Record<
  string,
  { reason: string; limits: Partial<HistoryLimits>; now: number; upTo?: number; want: number[] }
> = {
  Fresh: { reason: "within every limit", limits: {}, now: 0, want: [] },
  YoungBeyondCount: {
    reason: "young changes stay beyond the count",
    limits: { keepChanges: 2, keepMs: 10 },
    now: 9,
    want: [],
  },
  OldBeyondCount: {
    reason: "old changes go, down to the count",
    limits: { keepChanges: 2, keepMs: 10 },
    now: 10,
    want: [1, 2, 3],
  },
  OldWithinCount: {
    reason: "old changes within the count stay",
    limits: { keepChanges: 5, keepMs: 1 },
    now: 99,
    want: [],
  },
  TooMany: { reason: "the upper bound holds even for young ones", limits: { maxChanges: 3 }, now: 0, want: [1, 2] },
  TooLarge: { reason: "each holds 10 bytes of history", limits: { maxBytes: 25 }, now: 0, want: [1, 2, 3] },
  Compacted: { reason: "up to and including the revision asked for", limits: {}, now: 0, upTo: 2, want: [1, 2] },
  CompactedAll: { reason: "beyond the newest", limits: {}, now: 0, upTo: 99, want: [1, 2, 3, 4, 5] },
};

for (const [name, { reason, limits, now, upTo, want }] of Object.entries(cases)) {
  test(`history limits: ${name}`, () => {
    const history = new History<object>({ ...wide, ...limits });
    for (let revision = 1; revision <= 5; revision += 1) {
      history.add(change(revision, 10), 0);
    }
    assert.deepEqual(dropAll(history, now, upTo), want, reason);
    assert.equal(history.size, 5 - want.length);
  });
}

test("changes are found by revision and walked from any revision, across gaps and drops", () => {
  const history = new History<object>({ ...wide, maxChanges: 2000 });
  for (let revision = 2; revision <= 10_000; revision += 2) {
    history.add(change(revision), 0);
    dropAll(history, 0);
  }
  const revisions = (after: number): number[] => [...history.after(after)].map((c) => c.revision);
  assert.equal(history.size, 2000);
  assert.equal(revisions(0)[0], 6002);
  assert.deepEqual(revisions(9995), [9996, 9998, 10_000]);
  assert.deepEqual(revisions(10_000), []);
  assert.equal(history.find(9998)?.revision, 9998);
  assert.equal(history.find(9997), undefined, "a gap");
  assert.equal(history.find(2), undefined, "dropped");
});
