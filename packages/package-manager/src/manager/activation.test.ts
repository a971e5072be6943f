// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { activeRevisions, type RevisionState } from "./plan-states.ts";

/** `5+` is revision 5, serving; `4a` is Active but does not serve; `3` is Inactive. */
function revision(text: string): RevisionState {
  const isServing = text.endsWith("+");
  return {
    name: text.replace(/\D/g, ""),
    number: Number.parseInt(text, 10),
    desiredState: isServing || text.endsWith("a") ? "Active" : "Inactive",
    isServing,
  };
}

const rows: { why: string; now: string; limit: number; next: string }[] = [
  { why: "the first revision is activated", now: "1", limit: 1, next: "1" },
  { why: "a newcomer joins the one that serves", now: "2 1+", limit: 1, next: "2 1" },
  { why: "while it does not come up, the old one continues", now: "2a 1+", limit: 1, next: "2 1" },
  { why: "once it serves, the old one goes", now: "2+ 1+", limit: 1, next: "2" },
  { why: "a third one replaces the newcomer that never served", now: "3 2a 1+", limit: 1, next: "3 1" },
  { why: "a higher limit brings the older one back", now: "2+ 1", limit: 2, next: "2 1" },
  { why: "a lower limit takes the lowest", now: "2+ 1+", limit: 1, next: "2" },
  { why: "a third of two pushes out the lowest, once it serves", now: "3+ 2+ 1+", limit: 2, next: "3 2" },
  { why: "and not before", now: "3a 2+ 1+", limit: 2, next: "3 2 1" },
  { why: "two newcomers hold two", now: "4a 3a 2+ 1+", limit: 2, next: "4 3 2 1" },
  {
    why: "a third one within the limit replaces none: the new one that never served may still start",
    now: "4 3a 2+ 1+",
    limit: 2,
    next: "4 3 2 1",
  },
  { why: "or the only one that serves holds for both", now: "3 2a 1+", limit: 2, next: "3 2 1" },
  {
    why: "beyond the limit it replaces the newcomer that never served, and not those that do",
    now: "5 4a 3a 2+ 1+",
    limit: 2,
    next: "5 4 2 1",
  },
  { why: "and when one of them serves, the lowest may go", now: "5+ 4a 3 2+ 1+", limit: 2, next: "5 4 2" },
  { why: "one of two newcomers serves: one may go, the lowest", now: "4+ 3a 2+ 1+", limit: 2, next: "4 3 2" },
  { why: "fewer revisions than the limit", now: "2+ 1+", limit: 5, next: "2 1" },
  { why: "one that serves but was passed over long ago stays out", now: "3+ 2+ 1", limit: 2, next: "3 2" },
];

for (const { why, now, limit, next } of rows) {
  test(`${now} with a limit of ${limit}: ${why}`, () => {
    const active = activeRevisions(now.split(" ").map(revision), limit);
    assert.deepEqual([...active].toSorted().toReversed(), next.split(" "));
  });
}

const states = fc.uniqueArray(fc.record({ number: fc.integer({ min: 1, max: 30 }), isServing: fc.boolean() }), {
  selector: ({ number }) => number,
  minLength: 1,
  maxLength: 12,
});
const stateOf = ({ number, isServing }: { number: number; isServing: boolean }): RevisionState => ({
  name: String(number),
  number,
  desiredState: isServing ? "Active" : "Inactive",
  isServing,
});

test("a serving revision is replaced only by another serving one", () => {
  fc.assert(
    fc.property(states, fc.integer({ min: 1, max: 5 }), (drawn, limit) => {
      const revisions = drawn.map(stateOf);
      const active = activeRevisions(revisions, limit);
      const serving = revisions.filter(({ isServing }) => isServing).length;
      const left = revisions.filter(({ name, isServing }) => isServing && active.has(name)).length;
      assert.ok(left >= Math.min(serving, limit));
    }),
  );
});

test("beyond the limit only serving revisions are active, and none below one that was skipped", () => {
  fc.assert(
    fc.property(states, fc.integer({ min: 1, max: 5 }), (drawn, limit) => {
      const revisions = drawn.map(stateOf).toSorted((a, b) => b.number - a.number);
      const active = activeRevisions(revisions, limit);
      const beyond = revisions.slice(limit);
      const held = beyond.filter(({ name }) => active.has(name));
      assert.deepEqual(held, beyond.filter(({ isServing }) => isServing).slice(0, held.length));
      assert.deepEqual(
        revisions.slice(0, limit).filter(({ name }) => !active.has(name)),
        [],
        "the end state is started at once",
      );
    }),
  );
});

test("when all serve, the highest numbers up to the limit are left", () => {
  fc.assert(
    fc.property(states, fc.integer({ min: 1, max: 5 }), (drawn, limit) => {
      const revisions = drawn.map((one) => stateOf({ ...one, isServing: true }));
      const highest = revisions.toSorted((a, b) => b.number - a.number).slice(0, limit);
      assert.deepEqual(activeRevisions(revisions, limit), new Set(highest.map(({ name }) => name)));
    }),
  );
});
