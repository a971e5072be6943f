// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { ValuesByName } from "./values-by-name.ts";

test("values by name are those of any sequence of changes", () => {
  const [names, values] = [
    ["a", "b", ""],
    [{ id: 1 }, { id: 2 }, { id: 3 }],
  ];
  const change = fc.tuple(fc.constantFrom(...names), fc.constantFrom(...values), fc.boolean());
  fc.assert(
    fc.property(fc.array(change, { maxLength: 60 }), (changes) => {
      const made = new ValuesByName<{ readonly id: number }>();
      const model = new Map(names.map((name) => [name, new Set<object>()]));
      for (const [name, value, isAdded] of changes) {
        if (isAdded) made.add(name, value);
        else made.delete(name, value);
        if (isAdded) model.get(name)?.add(value);
        else model.get(name)?.delete(value);
      }
      for (const name of names) assert.deepEqual(new Set(made.of(name)), model.get(name));
      assert.equal(made.size, [...model.values()].filter(({ size }) => size > 0).length);
    }),
  );
});

test("many names are kept in several maps, in which each is found", () => {
  const [value, other] = [{}, {}];
  const made = new ValuesByName<object>();
  const nameOf = (index: number): string => `system:serviceaccount:default:${index}`;
  made.add("both", value);
  made.add("both", other);
  for (let i = 0; i < 120_000; i++) made.add(nameOf(i), value);
  for (let i = 0; i < 120_000; i++) assert.deepEqual(made.of(nameOf(i)), [value]);
  assert.deepEqual(made.of("both"), [value, other]);
  for (let i = 0; i < 120_000; i++) made.delete(nameOf(i), value);
  assert.equal(made.size, 1);
});
