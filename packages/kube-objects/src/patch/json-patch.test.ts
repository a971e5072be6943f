// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { findStatusError } from "../errors/status-error.ts";
import type { JsonObject, JsonValue } from "../json/json-value.ts";
import { deepFreeze } from "../object/kube-object.ts";
import { applyJsonPatch, type JsonPatchOperation } from "./json-patch.ts";

const document: JsonObject = deepFreeze({ a: { b: [1, 2, 3] }, "x/y": 1, "~t": 2, n: null });
const run = (...operations: JsonPatchOperation[]): JsonValue => applyJsonPatch(document, operations);

test("the operations of RFC 6902", () => {
  const rows: ReadonlyArray<
    readonly [string, JsonPatchOperation, (result: JsonObject) => JsonValue | undefined, JsonValue]
  > = [
    ["add a key", { op: "add", path: "/c", value: 1 }, (r) => r["c"], 1],
    ["add before an item", { op: "add", path: "/a/b/1", value: 9 }, (r) => (r["a"] as JsonObject)["b"], [1, 9, 2, 3]],
    ["add behind the last", { op: "add", path: "/a/b/-", value: 9 }, (r) => (r["a"] as JsonObject)["b"], [1, 2, 3, 9]],
    ["remove", { op: "remove", path: "/a/b/0" }, (r) => (r["a"] as JsonObject)["b"], [2, 3]],
    ["replace", { op: "replace", path: "/a/b/0", value: 7 }, (r) => (r["a"] as JsonObject)["b"], [7, 2, 3]],
    ["replace a key that is not there", { op: "replace", path: "/new", value: 7 }, (r) => r["new"], 7],
    ["move", { op: "move", from: "/a/b", path: "/c" }, (r) => [r["a"] ?? null, r["c"] ?? null], [{}, [1, 2, 3]]],
    ["copy", { op: "copy", from: "/a/b/0", path: "/c" }, (r) => r["c"], 1],
    ["escaped keys", { op: "replace", path: "/x~1y", value: 5 }, (r) => r["x/y"], 5],
    ["escaped tildes", { op: "replace", path: "/~0t", value: 5 }, (r) => r["~t"], 5],
    ["from the end", { op: "remove", path: "/a/b/-1" }, (r) => (r["a"] as JsonObject)["b"], [1, 2]],
    ["no value is null", { op: "add", path: "/c" }, (r) => r["c"], null],
  ];
  for (const [name, operation, pick, want] of rows) assert.deepEqual(pick(run(operation) as JsonObject), want, name);
});

test("a failing operation fails the patch with a fixed text; which one and why is in the cause", () => {
  const rows: ReadonlyArray<readonly [JsonPatchOperation, RegExp]> = [
    [{ op: "test", path: "/a/b/0", value: 2 }, /^operation 0: testing value \/a\/b\/0 failed$/],
    [{ op: "remove", path: "/zzz" }, /nonexistent key "zzz"/],
    [{ op: "add", path: "/zzz/y", value: 1 }, /no path "\/zzz\/y"/],
    [{ op: "add", path: "/a/b/9", value: 1 }, /position 9 is not in the list/],
    [{ op: "add", path: "/a/b/x", value: 1 }, /"x" is not a position in a list/],
    [{ op: "add", path: "", value: 1 }, /no path ""/],
    [{ op: "add", path: "/n/x", value: 1 }, /no path/],
    [{ op: "replace", path: "", value: 1 }, /whole document can only become an object or a list/],
    [{ op: "bogus", path: "/a" }, /unexpected kind "bogus": use add, remove, replace, move, copy, test/],
    [{ op: "add", value: 1 }, /path is missing/],
    [{ op: "move", path: "/a" }, /from is missing/],
    [{ op: "move", from: "/a", path: "/a/b/c" }, /no path/],
    [{ op: 9007199254740993n } as JsonObject, /unexpected kind 9007199254740993/],
    [{}, /unexpected kind undefined/],
  ];
  for (const [operation, cause] of rows) {
    assert.throws(
      () => run(operation),
      (error: Error) => {
        assert.equal(error.message, "the server rejected our request due to an error in our request");
        assert.deepEqual(findStatusError(error)?.status.details, {});
        assert.match((error.cause as Error).message, cause);
        return true;
      },
    );
  }
});

test("test passes for equal values whatever the order of keys, and for null where there is nothing", () => {
  run({ op: "test", path: "/a", value: { b: [1, 2, 3] } });
  run({ op: "test", path: "/n", value: null });
  run({ op: "test", path: "/absent" });
  run({ op: "test", path: "", value: { n: null, "~t": 2, "x/y": 1, a: { b: [1, 2, 3] } } });
});

test("a copy is a copy: changing it does not change the original", () => {
  const result = run({ op: "copy", from: "/a", path: "/c" }, { op: "add", path: "/c/b/-", value: 4 });
  assert.deepEqual((result as JsonObject)["a"], { b: [1, 2, 3] });
  assert.deepEqual((result as JsonObject)["c"], { b: [1, 2, 3, 4] });
});

test("copies together may not add more than 3 MiB", () => {
  const big = { text: "x".repeat(1024 * 1024) };
  const copies = (count: number): JsonPatchOperation[] =>
    Array.from({ length: count }, (_, i) => ({ op: "copy", from: "/text", path: `/c${i}` }));
  assert.ok(applyJsonPatch(big, copies(2)));
  assert.throws(
    () => applyJsonPatch(big, copies(3)),
    (error: Error) => /exceeding the limit 3145728/.test((error.cause as Error).message),
  );
  const doubling = Array.from({ length: 40 }, () => ({ op: "copy", from: "", path: "" }));
  assert.throws(() => applyJsonPatch(big, doubling), "a bomb of copies is refused");
});

test("a patch that would move endless list items is refused in the end", () => {
  const list = { l: Array.from({ length: 100_000 }, () => 0) };
  const operations = Array.from({ length: 10_000 }, () => ({ op: "add", path: "/l/0", value: 1 }));
  assert.throws(
    () => applyJsonPatch(list, operations),
    (error: Error) => /move too many list items/.test((error.cause as Error).message),
  );
});

test("keys called __proto__ and constructor are data", () => {
  const result = applyJsonPatch({}, [
    { op: "add", path: "/__proto__", value: { polluted: true } },
    { op: "add", path: "/__proto__/more", value: 1 },
    { op: "copy", from: "/__proto__", path: "/copy" },
  ]) as JsonObject;
  assert.deepEqual(Object.keys(result), ["__proto__", "copy"]);
  assert.equal(Object.getPrototypeOf(result), Object.prototype);
  assert.deepEqual(result["copy"], { polluted: true, more: 1 });
  assert.throws(() => applyJsonPatch({}, [{ op: "add", path: "/constructor/prototype/x", value: 1 }]));
});

const json = fc.jsonValue({ maxDepth: 3 }) as fc.Arbitrary<JsonValue>;

test("property: what is added can be removed again, and the document was never touched", () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), json), fc.string(), json, (object, key, value) => {
      const before = deepFreeze(structuredClone(object)) as JsonObject;
      if (Object.hasOwn(before, key)) return;
      const path = `/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`;
      const added = applyJsonPatch(before, [{ op: "add", path, value }]);
      assert.deepEqual(
        applyJsonPatch(added, [
          { op: "test", path, value },
          { op: "remove", path },
        ]),
        before,
      );
    }),
  );
});

test("property: moving there and back changes nothing", () => {
  fc.assert(
    fc.property(fc.array(json, { minLength: 1 }), fc.nat(), (list, seed) => {
      const index = seed % list.length;
      const object = deepFreeze({ list: structuredClone(list) }) as JsonObject;
      const back = applyJsonPatch(object, [
        { op: "move", from: `/list/${index}`, path: "/held" },
        { op: "move", from: "/held", path: `/list/${index}` },
      ]);
      assert.deepEqual(back, object);
    }),
  );
});

test("a result that nests too deep is refused, however it came about", () => {
  let deep: JsonValue = 1;
  for (let i = 0; i < 900; i++) deep = { a: deep };
  const path = "/a".repeat(300);
  assert.throws(
    () => applyJsonPatch({ a: deep } as JsonObject, [{ op: "add", path, value: deep }]),
    (error: Error) => /nests too deep/.test((error.cause as Error).message),
  );
  const wrap: JsonPatchOperation[] = [
    { op: "move", from: "/a", path: "/held" },
    { op: "add", path: "/a", value: {} },
    { op: "move", from: "/held", path: "/a/a" },
  ];
  const shallow = { a: { a: 1 } };
  assert.ok(applyJsonPatch(shallow, Array.from({ length: 300 }, () => wrap).flat()));
  assert.throws(
    () => applyJsonPatch(shallow, Array.from({ length: 3000 }, () => wrap).flat()),
    /^StatusError: the server/,
  );
});
