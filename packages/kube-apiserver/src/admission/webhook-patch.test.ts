// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { finish, type Work } from "@purlin/base";
import { badRequest, findStatusError } from "@purlin/kube-objects/errors";
import type { JsonObject, JsonValue } from "@purlin/kube-objects/json";
import { deepFreeze } from "@purlin/kube-objects/object";
import { patchedByPolicy, patchedByWebhook } from "./webhook-patch.ts";

const object = deepFreeze({ a: { b: 1 }, list: [1, 2], "x/y~": 0 }) as JsonObject;

// biome-ignore lint/correctness/useYield: decoding in one part
function* same(patched: JsonObject): Work<JsonObject> {
  return patched;
}
const byWebhook = (...operations: JsonObject[]): JsonValue => finish(patchedByWebhook(object, operations, same));
const byPolicy = (...operations: JsonObject[]): JsonValue => finish(patchedByPolicy(object, operations));

test("the operations are applied in order, and the object is not changed", () => {
  const operations = [
    { op: "add", path: "/a/c", value: { d: 1 } },
    { op: "replace", path: "/a/c/d", value: 2 },
    { op: "remove", path: "/list/0" },
    { op: "copy", from: "/a/c", path: "/e" },
    { op: "move", from: "/x~1y~0", path: "/f" },
    { op: "test", path: "/f", value: 0 },
  ];
  const expected = { a: { b: 1, c: { d: 2 } }, list: [2], e: { d: 2 }, f: 0 };
  assert.deepEqual(byWebhook(...operations), expected);
  assert.deepEqual(byPolicy(...operations), expected);
  assert.deepEqual(byWebhook(), object);
});

const missing = "missing value";
const failures: readonly (readonly [string, JsonObject, string])[] = [
  [
    "add below a missing member",
    { op: "add", path: "/z/y", value: 1 },
    `add operation does not apply: doc is missing path: "/z/y": ${missing}`,
  ],
  [
    "add beyond the end of a list",
    { op: "add", path: "/list/3", value: 1 },
    "error in add for path: '/list/3': Unable to access invalid index: 3: invalid index referenced",
  ],
  [
    "add at an index that is not a number",
    { op: "add", path: "/list/x", value: 1 },
    `error in add for path: '/list/x': strconv.Atoi: parsing "x": invalid syntax`,
  ],
  [
    "remove below a missing member",
    { op: "remove", path: "/z/y" },
    `remove operation does not apply: doc is missing path: "/z/y": ${missing}`,
  ],
  [
    "remove a missing member",
    { op: "remove", path: "/a/z~1" },
    `error in remove for path: '/a/z~1': Unable to remove nonexistent key: z/: ${missing}`,
  ],
  [
    "remove a missing item",
    { op: "remove", path: "/list/2" },
    "error in remove for path: '/list/2': Unable to access invalid index: 2: invalid index referenced",
  ],
  [
    "replace below a missing member",
    { op: "replace", path: "/z/y", value: 1 },
    `replace operation does not apply: doc is missing path: /z/y: ${missing}`,
  ],
  [
    "replace a missing item",
    { op: "replace", path: "/list/2", value: 1 },
    `replace operation does not apply: doc is missing key: /list/2: ${missing}`,
  ],
  [
    "move from below a missing member",
    { op: "move", from: "/z/y", path: "/q" },
    `move operation does not apply: doc is missing from path: /z/y: ${missing}`,
  ],
  [
    "move a missing member",
    { op: "move", from: "/a/z", path: "/q" },
    `error in move for path: 'z': Unable to remove nonexistent key: z: ${missing}`,
  ],
  [
    "copy from below a missing member",
    { op: "copy", from: "/z/y", path: "/q" },
    `copy operation does not apply: doc is missing from path: /z/y: ${missing}`,
  ],
  ["test a different value", { op: "test", path: "/a/b", value: 2 }, "testing value /a/b failed: test failed"],
  [
    "test below a missing member",
    { op: "test", path: "/z/y", value: 2 },
    `test operation does not apply: is missing path: /z/y: ${missing}`,
  ],
  ["an unknown operation", { op: "merge", path: "/a" }, "Unexpected kind: merge"],
];

for (const [name, operation, text] of failures) {
  test(`an operation of a webhook does not apply: ${name}`, () => {
    assert.throws(
      () => byWebhook(operation),
      (error: Error) => {
        const status = findStatusError(error);
        assert.deepEqual([status?.code, status?.message], [500, `Internal error occurred: ${text}`]);
        return true;
      },
    );
  });
}

test("replace adds a member that does not exist, as in the library of the reference", () => {
  assert.deepEqual((byWebhook({ op: "replace", path: "/a/z", value: 1 }) as JsonObject)["a"], { b: 1, z: 1 });
});

test("the error is that of the first operation that fails, on the object after those before it", () => {
  const first = { op: "remove", path: "/a/b" };
  assert.throws(() => byWebhook(first, first, { op: "merge" }), {
    message: `Internal error occurred: error in remove for path: '/a/b': Unable to remove nonexistent key: b: ${missing}`,
  });
});

test("a patch of a policy whose test fails changes nothing", () => {
  const change = { op: "add", path: "/q", value: 1 };
  assert.equal(byPolicy(change, { op: "test", path: "/a/b", value: 2 }), object);
});

test("a patch of a policy that does not apply is an error", () => {
  assert.throws(() => byPolicy({ op: "remove", path: "/z" }), {
    message: `JSON Patch: error in remove for path: '/z': Unable to remove nonexistent key: z: ${missing}`,
  });
});

test("the result is decoded; an error of that is kept or becomes 500", () => {
  const decoding = (error: Error): Work<JsonObject> =>
    // biome-ignore lint/correctness/useYield: throws at once
    patchedByWebhook(object, [], function* () {
      throw error;
    });
  assert.throws(() => finish(decoding(badRequest("no"))), { message: "no" });
  assert.throws(() => finish(decoding(new Error("no"))), { message: "Internal error occurred: no" });
});

test("a result that is not an object is decoded as an empty one", () => {
  assert.deepEqual(byWebhook({ op: "replace", path: "", value: [1] }), {});
});
