// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { createMemory } from "./package-client.ts";

test("the values used last are remembered, and no more than there is room for", () => {
  const memory = createMemory<number>(2);
  memory.set("a", 1, 1);
  memory.set("b", 2, 1);
  assert.equal(memory.get("a"), 1, "used, so it stays");
  memory.set("c", 3, 1);
  assert.deepEqual(["a", "b", "c"].map(memory.get), [1, undefined, 3]);
  memory.set("a", 4, 1);
  memory.set("d", 5, 1);
  assert.deepEqual(["a", "c", "d"].map(memory.get), [4, undefined, 5], "set again counts as used");
});

test("a heavy value pushes out several light ones, and is kept even when it is too heavy for itself", () => {
  const memory = createMemory<string>(10);
  for (const key of ["a", "b", "c", "d"]) memory.set(key, key, 3);
  assert.deepEqual(["a", "b", "c", "d"].map(memory.get), [undefined, "b", "c", "d"]);
  memory.set("heavy", "heavy", 5);
  assert.deepEqual(["b", "c", "d", "heavy"].map(memory.get), [undefined, undefined, "d", "heavy"]);
  memory.set("huge", "huge", 1000);
  assert.deepEqual(["d", "heavy", "huge"].map(memory.get), [undefined, undefined, "huge"]);
  memory.set("huge", "slim", 1);
  memory.set("e", "e", 9);
  assert.deepEqual(["huge", "e"].map(memory.get), ["slim", "e"], "what it weighed before is forgotten with it");
});

test("it does what a list of the keys used last would do", () => {
  const key = fc.constantFrom("a", "b", "c", "d", "e");
  const acts = fc.array(fc.record({ isSet: fc.boolean(), name: key, weight: fc.nat({ max: 5 }) }), { maxLength: 60 });
  fc.assert(
    fc.property(acts, fc.integer({ min: 0, max: 12 }), (drawn, limit) => {
      const memory = createMemory<string>(limit);
      let used: { name: string; weight: number }[] = [];
      for (const { isSet, name, weight } of drawn) {
        const there = used.find((one) => one.name === name);
        if (isSet) memory.set(name, name, weight);
        else assert.equal(memory.get(name), there?.name);
        if (!isSet && there === undefined) continue;
        used = [...used.filter((one) => one !== there), isSet ? { name, weight } : (there ?? { name, weight })];
        const total = (): number => used.reduce((sum, one) => sum + one.weight, 0);
        while (isSet && total() > limit && used.length > 1) used.shift();
      }
    }),
  );
});
