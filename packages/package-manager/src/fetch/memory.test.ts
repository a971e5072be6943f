// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { createMemory } from "./memory.ts";

test("the values used last are remembered, and no more than are allowed", () => {
  const memory = createMemory<number>(2);
  memory.set("a", 1);
  memory.set("b", 2);
  assert.equal(memory.get("a"), 1, "used, so it stays");
  memory.set("c", 3);
  assert.deepEqual(["a", "b", "c"].map(memory.get), [1, undefined, 3]);
  memory.set("a", 4);
  memory.set("d", 5);
  assert.deepEqual(["a", "c", "d"].map(memory.get), [4, undefined, 5], "set again counts as used");
});

test("it does what a list of the keys used last would do", () => {
  const key = fc.constantFrom("a", "b", "c", "d", "e");
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.boolean(), key)), fc.integer({ min: 1, max: 4 }), (acts, limit) => {
      const memory = createMemory<string>(limit);
      let used: string[] = [];
      for (const [isSet, name] of acts) {
        const isThere = used.includes(name);
        if (isSet) memory.set(name, name);
        else assert.equal(memory.get(name), isThere ? name : undefined);
        if (isSet || isThere) used = [...used.filter((one) => one !== name), name].slice(-limit);
      }
    }),
  );
});
