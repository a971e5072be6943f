// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { createLogTail } from "./log-tail.ts";

test("lines are put together from pieces, and one that is being written counts", () => {
  const tail = createLogTail(1_000);
  for (const piece of ["a", "b\nc", "\n", "\nd"]) tail.add(piece);
  assert.deepEqual(tail.lines(), ["ab", "c", "", "d"]);
});

test("the oldest lines go first, the last one always stays", () => {
  const tail = createLogTail(12);
  tail.add("one\ntwo\nthree\nfour\n");
  assert.deepEqual(tail.lines(), ["three", "four"]);
  tail.add(`${"x".repeat(20)}\n`);
  assert.deepEqual(tail.lines(), ["x".repeat(20)]);
});

test("a line without end takes no more room than any other", () => {
  const tail = createLogTail(10_000);
  for (let i = 0; i < 100; i++) tail.add("y".repeat(1_000));
  assert.equal(tail.lines()[0]?.length, 4_096);
});

test("however it is cut into pieces, the end of the text is what is kept", () => {
  const pieces = fc.array(fc.string({ unit: fc.constantFrom("a", "b", "\n"), maxLength: 9 }), { maxLength: 60 });
  fc.assert(
    fc.property(pieces, fc.integer({ min: 1, max: 40 }), (parts, max) => {
      const tail = createLogTail(max);
      for (const part of parts) tail.add(part);
      const all = parts.join("").split("\n");
      if (all.at(-1) === "") all.pop();
      const lines = tail.lines();
      assert.deepEqual(lines, all.slice(all.length - lines.length));
      const whole = parts.join("").endsWith("\n") ? lines : lines.slice(0, -1);
      assert.ok(whole.length <= 1 || whole.reduce((sum, line) => sum + line.length + 1, 0) <= max);
    }),
  );
});
