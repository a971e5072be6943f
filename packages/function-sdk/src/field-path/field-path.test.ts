// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { type JsonObject, type JsonValue, Struct } from "@purlin/function-protocol";
import fc from "fast-check";
import { type FunctionErrorCode, isFunctionError } from "../errors/function-error.ts";
import { deletePath, expandPath, findPath, readPath, writePath } from "./path-value.ts";

const pod: JsonObject = {
  metadata: { name: "p", annotations: { "a.b/c": "value" } },
  spec: { containers: [{ name: "x", image: "i1" }, { name: "y" }], empty: null, count: 3 },
};

const reads: Record<string, { path: string; want?: JsonValue; code?: FunctionErrorCode; at?: string }> = {
  Field: { path: "metadata.name", want: "p" },
  "C44 Dotted": { path: "metadata.annotations['a.b/c']", want: "value" },
  Item: { path: "spec.containers[0].image", want: "i1" },
  Null: { path: "spec.empty", want: null },
  Missing: { path: "spec.missing.deep", code: "NOT_FOUND", at: "spec.missing" },
  MissingItem: { path: "spec.containers[5].image", code: "NOT_FOUND", at: "spec.containers[5]" },
  BelowNull: { path: "spec.empty.x", code: "NOT_FOUND", at: "spec.empty.x" },
  NotObject: { path: "spec.count.x", code: "NOT_OBJECT", at: "spec.count" },
  ListAsObject: { path: "spec.containers.name", code: "NOT_OBJECT", at: "spec.containers" },
  NotArray: { path: "metadata[0]", code: "NOT_ARRAY", at: "metadata" },
  Inherited: { path: "spec.constructor", code: "NOT_FOUND", at: "spec.constructor" },
  InheritedOfList: { path: "spec.containers['length']", code: "NOT_OBJECT", at: "spec.containers" },
  Wildcard: { path: "spec.containers[*].name", code: "INVALID_PATH" },
};

for (const [name, { path, want, code, at }] of Object.entries(reads)) {
  test(`read ${name}: ${path}`, () => {
    if (code === undefined) {
      assert.deepEqual(readPath(pod, path), want);
      return;
    }
    const fits = (error: unknown): boolean =>
      isFunctionError(error, code) && (at === undefined || ("path" in error && error.path === at));
    assert.throws(() => readPath(pod, path), fits);
    if (code === "NOT_FOUND") assert.equal(findPath(pod, path), undefined);
    else assert.throws(() => findPath(pod, path), fits);
  });
}

const writes: Record<string, { from: JsonObject; path: string; want?: JsonObject; code?: FunctionErrorCode }> = {
  Replace: { from: { a: 1 }, path: "a", want: { a: "v" } },
  MakesObjects: { from: {}, path: "a.b.c", want: { a: { b: { c: "v" } } } },
  MakesLists: { from: {}, path: "a[0].b", want: { a: [{ b: "v" }] } },
  "C44 GrowsWithNulls": { from: { spec: {} }, path: "spec.list[2]", want: { spec: { list: [null, null, "v"] } } },
  GrowsExisting: { from: { l: ["x"] }, path: "l[1]", want: { l: ["x", "v"] } },
  OverNull: { from: { a: null }, path: "a.b", want: { a: { b: "v" } } },
  Dotted: { from: {}, path: "metadata.labels['a.b/c']", want: { metadata: { labels: { "a.b/c": "v" } } } },
  "C44 IndexTooLarge": { from: {}, path: "spec.list[2000]", code: "INDEX_TOO_LARGE" },
  LargestIndexIsFine: { from: { l: new Array<null>(1024).fill(null) }, path: "l[1024]" },
  ThroughText: { from: { a: "text" }, path: "a.b", code: "NOT_OBJECT" },
  ThroughList: { from: { a: [] }, path: "a.b", code: "NOT_OBJECT" },
  IndexIntoObject: { from: { a: {} }, path: "a[0]", code: "NOT_ARRAY" },
  IndexIntoRoot: { from: {}, path: "[0]", code: "NOT_ARRAY" },
  Wildcard: { from: { a: [1] }, path: "a[*]", code: "INVALID_PATH" },
};

for (const [name, { from, path, want, code }] of Object.entries(writes)) {
  test(`write ${name}: ${path}`, () => {
    const object = structuredClone(from);
    if (code === undefined) {
      const written = writePath(object, path, "v");
      if (want !== undefined) assert.deepEqual(written, want);
      assert.equal(written, object, "an object that is not frozen is changed in place");
      assert.equal(readPath(written, path), "v");
      return;
    }
    assert.throws(
      () => writePath(object, path, "v"),
      (error: unknown) => isFunctionError(error, code),
    );
    assert.deepEqual(object, from, "a refused write leaves nothing behind");
  });
}

test("writing to __proto__ makes a member and changes no prototype", () => {
  const written = writePath({}, "a.__proto__.b", "v");
  assert.equal(JSON.stringify(written), '{"a":{"__proto__":{"b":"v"}}}');
  assert.equal(Object.getPrototypeOf(written["a"]), Object.prototype);
  assert.equal(({} as Record<string, unknown>)["b"], undefined);
});

const deletes: Record<string, { from: JsonObject; path: string; want: JsonObject }> = {
  Field: { from: { a: { b: 1, c: 2 } }, path: "a.b", want: { a: { c: 2 } } },
  Item: { from: { l: [1, 2, 3] }, path: "l[1]", want: { l: [1, 3] } },
  Missing: { from: { a: 1 }, path: "b.c", want: { a: 1 } },
  BelowText: { from: { a: "x" }, path: "a.b", want: { a: "x" } },
  Null: { from: { a: null }, path: "a", want: {} },
};

for (const [name, { from, path, want }] of Object.entries(deletes)) {
  test(`delete ${name}: ${path}`, () => {
    const frozen = Struct.from(from).value;
    assert.deepEqual(deletePath(frozen, path), want);
    assert.deepEqual(frozen, from, "what is frozen stays");
    assert.deepEqual(deletePath(structuredClone(from), path), want);
  });
}

test("a path with a wildcard expands to the paths it stands for", () => {
  assert.deepEqual(expandPath(pod, "spec.containers[*].name"), ["spec.containers[0].name", "spec.containers[1].name"]);
  assert.deepEqual(expandPath(pod, "spec.containers[*].image"), ["spec.containers[0].image"]);
  assert.deepEqual(expandPath(pod, "metadata.annotations[*]"), ["metadata.annotations['a.b/c']"]);
  assert.deepEqual(expandPath(pod, "spec.missing[*]"), []);
  assert.deepEqual(expandPath(pod, "spec.count[*]"), []);
  assert.deepEqual(expandPath(pod, "metadata.name"), ["metadata.name"]);
});

const member = fc.constantFrom("a", "b", "c.d", "__proto__", "e");
const tree: fc.Arbitrary<JsonObject> = fc.letrec<{ object: JsonObject; value: JsonValue }>((tie) => ({
  object: fc.dictionary(member, tie("value"), { maxKeys: 4, noNullPrototype: true }),
  value: fc.oneof(
    { maxDepth: 3 },
    fc.integer(),
    fc.constant(null),
    tie("object"),
    fc.array(tie("value"), { maxLength: 3 }),
  ),
})).object;
const path = fc
  .array(
    fc.oneof(
      member.map((name) => `['${name}']`),
      fc.nat(4).map((index) => `[${index}]`),
    ),
    { minLength: 1, maxLength: 4 },
  )
  .map((parts) => parts.join(""));

test("property: a write to a frozen object changes a copy, shares the rest, and can be read back", () => {
  fc.assert(
    fc.property(tree, path, (from, at) => {
      const frozen = Struct.from(from).value;
      const before = JSON.stringify(frozen);
      let written: JsonObject;
      try {
        written = writePath(frozen, at, "new");
      } catch (error) {
        assert.ok(isFunctionError(error));
        assert.equal(JSON.stringify(frozen), before);
        return;
      }
      assert.equal(readPath(written, at), "new");
      assert.equal(JSON.stringify(frozen), before);
      const top = at.slice(2, at.indexOf("']"));
      for (const key of Object.keys(frozen)) {
        if (key !== top) assert.equal(written[key], frozen[key], "what is not on the path is shared");
      }
    }),
  );
});
