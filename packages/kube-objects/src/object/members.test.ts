// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { JsonObject, JsonValue } from "../json/json-value.ts";
import { deepFreeze } from "./kube-object.ts";
import { memberAt, numberAt, objectAt, textAt, textMapAt, textsAt, withMember } from "./members.ts";

const sample = deepFreeze({
  spec: { name: "a", empty: "", count: 0, none: null, list: ["x", 1, "y"], map: { k: "v" } },
});

const reads: Readonly<Record<string, { path: readonly string[]; want: unknown; reason: string }>> = {
  Deep: { path: ["spec", "map", "k"], want: "v", reason: "a value far inside" },
  Whole: { path: [], want: sample, reason: "no path is the object itself" },
  Missing: { path: ["spec", "other", "k"], want: undefined, reason: "a missing member on the path" },
  ThroughText: { path: ["spec", "name", "length"], want: undefined, reason: "a text has no members" },
  ThroughList: { path: ["spec", "list", "0"], want: undefined, reason: "a list has no members" },
  Null: { path: ["spec", "none"], want: null, reason: "null is a value" },
  ThroughNull: { path: ["spec", "none", "k"], want: undefined, reason: "but has no members" },
  Inherited: { path: ["spec", "constructor"], want: undefined, reason: "what every object inherits is not in it" },
};

for (const [name, { path, want, reason }] of Object.entries(reads)) {
  test(`reading, ${name}: ${reason}`, () => assert.deepEqual(memberAt(sample, path), want));
}

test("a number beyond 2^53 is a number", () => {
  assert.equal(numberAt({ n: 2n ** 60n }, ["n"]), 2 ** 60);
  assert.equal(numberAt({ n: "1" }, ["n"]), 0);
});

test("readers of one shape take anything else for nothing", () => {
  assert.deepEqual(objectAt(sample, ["spec", "map"]), { k: "v" });
  assert.deepEqual(objectAt(sample, ["spec", "list"]), {});
  assert.equal(textAt(sample, ["spec", "name"]), "a");
  assert.equal(textAt(sample, ["spec", "empty"]), undefined, "an empty text counts as absent");
  assert.equal(textAt(sample, ["spec", "count"]), undefined);
  assert.deepEqual(textsAt(sample, ["spec", "list"]), ["x", "y"]);
  assert.deepEqual(textsAt(sample, ["spec", "map"]), []);
  assert.deepEqual(textMapAt(sample, ["spec", "map"]), { k: "v" });
  assert.equal(textMapAt(sample, ["spec", "none"]), undefined);
});

const writes: Readonly<Record<string, { path: readonly string[]; value: JsonValue | undefined; want: unknown }>> = {
  Sets: { path: ["a", "b"], value: 2, want: { a: { b: 2, c: 1 } } },
  Makes: { path: ["x", "y", "z"], value: 1, want: { a: { b: 1, c: 1 }, x: { y: { z: 1 } } } },
  Removes: { path: ["a", "b"], value: undefined, want: { a: { c: 1 } } },
  RemovesNothing: { path: ["x", "y"], value: undefined, want: { a: { b: 1, c: 1 } } },
  Replaces: { path: ["a"], value: "text", want: { a: "text" } },
  ReplacesOnTheWay: { path: ["a", "b", "c"], value: 3, want: { a: { b: { c: 3 }, c: 1 } } },
};

for (const [name, { path, value, want }] of Object.entries(writes)) {
  test(`writing, ${name}: the original stays as it was`, () => {
    const original = deepFreeze({ a: { b: 1, c: 1 } });
    assert.deepEqual(withMember(original, path, value), want);
    assert.deepEqual(original, { a: { b: 1, c: 1 } });
  });
}

test("what changes nothing is the same object, and what is off the path is shared", () => {
  const original = deepFreeze({ a: { b: 1 }, other: { deep: [1] } });
  assert.equal(withMember(original, ["a", "b"], 1), original);
  assert.equal(withMember(original, ["a", "x"], undefined), original);
  assert.equal(withMember(original, [], 1), original);
  const changed = withMember(original, ["a", "b"], 2);
  assert.equal(changed.other, original.other);
});

test("a name that means something to JavaScript is a name like any other", () => {
  const changed = withMember({} as JsonObject, ["__proto__", "polluted"], true);
  assert.equal(memberAt(changed, ["__proto__", "polluted"]), true);
  assert.equal(({} as Record<string, unknown>)["polluted"], undefined);
});

const name = fc.constantFrom("a", "b", "c", "__proto__", "constructor", "x.y/z");
const path = fc.array(name, { minLength: 1, maxLength: 4 });
const value = fc.oneof(fc.integer(), fc.string(), fc.boolean(), fc.constant(null));

test("what was written is read, elsewhere nothing changes, and taking it away takes it away", () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(path, value), { maxLength: 5 }), path, value, (before, at, written) => {
      const original = before.reduce((object, [where, what]) => withMember(object, where, what), {} as JsonObject);
      const copy = structuredClone(original);
      const changed = withMember(original, at, written);
      assert.deepEqual(memberAt(changed, at), written);
      assert.deepEqual(original, copy);
      assert.equal(memberAt(withMember(changed, at, undefined), at), undefined);
      for (const key of Object.keys(original)) {
        if (key !== at[0]) assert.equal(memberAt(changed, [key]), memberAt(original, [key]));
      }
    }),
  );
});
