// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { inspect } from "node:util";
import { Struct } from "@purlin/function-protocol";
import { type FunctionErrorCode, isFunctionError } from "../errors/function-error.ts";
import { isPathObject, PathObject } from "./path-object.ts";

const source = {
  text: "t",
  yes: true,
  whole: 3,
  fraction: -2.9,
  list: ["a", "b"],
  mixed: ["a", 1],
  labels: { a: "x", b: "y" },
  other: { a: 1 },
  none: null,
};

const getters: Record<string, { read: (object: PathObject) => unknown; want?: unknown; code?: FunctionErrorCode }> = {
  Value: { read: (o) => o.getValue("list[1]"), want: "b" },
  String: { read: (o) => o.getString("text"), want: "t" },
  StringOfNumber: { read: (o) => o.getString("whole"), code: "WRONG_TYPE" },
  Boolean: { read: (o) => o.getBoolean("yes"), want: true },
  BooleanOfText: { read: (o) => o.getBoolean("text"), code: "WRONG_TYPE" },
  Number: { read: (o) => o.getNumber("fraction"), want: -2.9 },
  NumberOfText: { read: (o) => o.getNumber("text"), code: "WRONG_TYPE" },
  Integer: { read: (o) => o.getInteger("whole"), want: 3 },
  IntegerOfFraction: { read: (o) => o.getInteger("fraction"), code: "WRONG_TYPE" },
  Truncated: { read: (o) => o.getIntegerTruncated("fraction"), want: -2 },
  StringArray: { read: (o) => o.getStringArray("list"), want: ["a", "b"] },
  StringArrayOfMixed: { read: (o) => o.getStringArray("mixed"), code: "WRONG_TYPE" },
  StringArrayOfText: { read: (o) => o.getStringArray("text"), code: "WRONG_TYPE" },
  StringObject: { read: (o) => o.getStringObject("labels"), want: { a: "x", b: "y" } },
  StringObjectOfNumbers: { read: (o) => o.getStringObject("other"), code: "WRONG_TYPE" },
  Object: { read: (o) => o.getObject("other"), want: { a: 1 } },
  ObjectOfList: { read: (o) => o.getObject("list"), code: "WRONG_TYPE" },
  Array: { read: (o) => o.getArray("mixed"), want: ["a", 1] },
  ArrayOfObject: { read: (o) => o.getArray("other"), code: "WRONG_TYPE" },
  Null: { read: (o) => o.getValue("none"), want: null },
  NullAsText: { read: (o) => o.getString("none"), code: "WRONG_TYPE" },
  Into: { read: (o) => o.getValueInto("list", (value) => JSON.stringify(value)), want: '["a","b"]' },
  Missing: { read: (o) => o.getString("missing"), code: "NOT_FOUND" },
  Fallback: { read: (o) => o.getString("missing", "f"), want: "f" },
  FallbackUndefined: { read: (o) => o.getInteger("missing", undefined), want: undefined },
  FallbackUnused: { read: (o) => o.getString("text", "f"), want: "t" },
  FallbackWrongType: { read: (o) => o.getString("whole", "f"), code: "WRONG_TYPE" },
  FallbackWrongContainer: { read: (o) => o.getString("text.deeper", "f"), code: "NOT_OBJECT" },
  Has: { read: (o) => o.has("other.a"), want: true },
  HasNull: { read: (o) => o.has("none"), want: true },
  HasNot: { read: (o) => o.has("other.b"), want: false },
  HasNotThroughText: { read: (o) => o.has("text.deeper"), want: false },
  Expand: { read: (o) => o.expand("list[*]"), want: ["list[0]", "list[1]"] },
};

for (const [name, { read, want, code }] of Object.entries(getters)) {
  test(`getter ${name}`, () => {
    for (const object of [new PathObject(source), new PathObject(Struct.from(source))]) {
      if (code === undefined) assert.deepEqual(read(object), want);
      else
        assert.throws(
          () => read(object),
          (error: unknown) => isFunctionError(error, code),
        );
    }
  });
}

test("a plain object is wrapped, not copied", () => {
  const plain = { spec: { size: 1 } };
  const wrapped = new PathObject(plain);
  assert.equal(wrapped.object, plain);
  wrapped.setValue("spec.size", 2);
  assert.equal(plain.spec.size, 2);
});

test("a Struct that is not read is never decoded, and is sent as received", () => {
  const broken = Struct.fromBytes(Uint8Array.of(0xff, 0xff));
  for (const access of ["shared", "private"] as const) assert.equal(new PathObject(broken, access).toStruct(), broken);
  const read = Struct.from({ a: 1 });
  for (const access of ["shared", "private"] as const) {
    const wrapped = new PathObject(read, access);
    assert.equal(wrapped.getInteger("a"), 1);
    assert.equal(wrapped.toStruct(), read, "reading by path is not an edit");
  }
});

test("a shared object is frozen; its setters copy along the path and share the rest", () => {
  const struct = Struct.from({ spec: { size: 1 }, status: { big: [1, 2] } });
  const wrapped = new PathObject(struct, "shared");
  assert.equal(wrapped.object, struct.value);
  assert.throws(() => {
    wrapped.object["spec"] = {};
  }, TypeError);
  wrapped.setValue("spec.size", 2);
  assert.deepEqual(wrapped.object, { spec: { size: 2 }, status: { big: [1, 2] } });
  assert.equal(wrapped.object["status"], struct.value["status"]);
  assert.deepEqual(struct.value["spec"], { size: 1 });
  assert.deepEqual(wrapped.toStruct().value, { spec: { size: 2 }, status: { big: [1, 2] } });
});

test("a private object hands out a copy to edit, and setters edit the same copy", () => {
  const struct = Struct.from({ spec: { size: 1, list: [{ a: 1 }] } });
  const wrapped = new PathObject(struct, "private");
  const handed = wrapped.object as { spec: { size: number; list: { a: number }[] } };
  handed.spec.list.push({ a: 2 });
  wrapped.setValue("spec.size", 2);
  assert.equal(wrapped.object, handed);
  assert.equal(wrapped.getInteger("spec.list[1].a"), 2);
  assert.equal(handed.spec.size, 2);
  assert.deepEqual(struct.value, { spec: { size: 1, list: [{ a: 1 }] } });
  assert.deepEqual(wrapped.toStruct().value, { spec: { size: 2, list: [{ a: 1 }, { a: 2 }] } });
});

test("deleteValue removes, closes gaps, and takes what is missing for done", () => {
  const struct = Struct.from({ a: [1, 2, 3], b: { c: 1 } });
  const wrapped = new PathObject(struct);
  wrapped.deleteValue("nothing.there");
  wrapped.deleteValue("a.b");
  assert.equal(wrapped.toStruct(), struct, "nothing was removed, so nothing is encoded again");
  wrapped.deleteValue("a[0]");
  wrapped.deleteValue("b.c");
  assert.deepEqual(wrapped.object, { a: [2, 3], b: {} });
});

test("a mutable copy is independent", () => {
  const wrapped = new PathObject(Struct.from({ a: { b: 1 } }));
  const copy = wrapped.toMutable() as { a: { b: number } };
  copy.a.b = 2;
  assert.equal(wrapped.getInteger("a.b"), 1);
});

test("wrappers print and serialise as the object they hold", () => {
  const wrapped = new PathObject(Struct.from({ a: 1 }));
  assert.equal(JSON.stringify(wrapped), '{"a":1}');
  assert.match(inspect(wrapped), /\{ a: 1 \}/);
  assert.ok(isPathObject(wrapped));
  assert.ok(!isPathObject({ object: {}, toStruct: () => undefined }));
});
