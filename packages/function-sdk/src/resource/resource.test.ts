// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { create, Ready, Resource, Struct } from "@purlin/function-protocol";
import { isFunctionError } from "../errors/function-error.ts";
import * as resource from "../resource.ts";

test("objects become Structs and come back", () => {
  const object = { a: [1, null, { b: "c" }], u: undefined };
  const struct = resource.toStruct(object);
  assert.deepEqual(resource.fromStruct(struct), { a: [1, null, { b: "c" }] });
  assert.notEqual(resource.fromStruct(struct), struct.value, "a copy that may be edited");
  assert.deepEqual(resource.fromStruct(undefined), {});
  assert.equal(resource.asStruct, resource.toStruct);
  assert.equal(resource.asObject, resource.fromStruct);
});

const refused: Record<string, { value: unknown; names: RegExp }> = {
  "C12 NaN": { value: { spec: { size: Number.NaN } }, names: /^spec\.size: / },
  "C13 Date": { value: { at: [new Date(0)] }, names: /^at\[0\]: / },
  "C13 Map": { value: { m: new Map() }, names: /^m: / },
  "C13 Function": { value: { f: () => 1 }, names: /^f: / },
  "C9 BigInt": { value: { n: 9007199254740993n }, names: /^n: / },
  LoneSurrogate: { value: { t: "\ud800" }, names: /^t: / },
  List: { value: [1], names: /JSON object/ },
  Text: { value: "text", names: /JSON object/ },
  Null: { value: null, names: /JSON object/ },
};

for (const [name, { value, names }] of Object.entries(refused)) {
  test(`what JSON cannot hold is refused by name: ${name}`, () => {
    assert.throws(
      () => resource.toStruct(value),
      (error: unknown) => isFunctionError(error, "INVALID_RESOURCE") && names.test(error.message),
    );
  });
}

test("a large integer given as a number is sent as the nearest double", () => {
  // biome-ignore lint/correctness/noPrecisionLoss: losing precision is the point of this test.
  assert.deepEqual(resource.fromStruct(resource.toStruct({ n: 9007199254740993 })), { n: 9007199254740992 });
});

test("fromObject and toObject go between objects and Resource messages", () => {
  const details = new Map([["k", Uint8Array.of(0xff, 0)]]);
  const message = resource.fromObject({ kind: "K" }, { ready: true, connectionDetails: details });
  assert.equal(message.ready, Ready.READY_TRUE);
  assert.deepEqual(message.connectionDetails, details);
  assert.notEqual(message.connectionDetails, details);
  const object = resource.toObject(message);
  object["kind"] = "changed";
  assert.deepEqual(resource.toObject(message), { kind: "K" });
  assert.deepEqual(resource.toObject(undefined), {});
  const struct = Struct.from({ a: 1 });
  assert.equal(resource.fromObject(struct).resource, struct, "a Struct is shared");
  assert.equal(resource.fromObject(new resource.ComposedObject(struct)).resource, struct);
  assert.equal(resource.fromObject({}, { ready: false }).ready, Ready.READY_FALSE);
  assert.equal(resource.fromObject({}, { ready: Ready.READY_TRUE }).ready, Ready.READY_TRUE);
  assert.equal(resource.fromObject({}).ready, Ready.READY_UNSPECIFIED);
});

test("fromModel drops status, unset times and empty metadata", () => {
  const model = { toJSON: () => ({ kind: "K", metadata: { creationTimestamp: null }, spec: {}, status: { a: 1 } }) };
  assert.deepEqual(resource.fromModel(model).resource?.value, { kind: "K", spec: {} });
  const kept = { kind: "K", metadata: { name: "n", creationTimestamp: "2024-01-01T00:00:00Z" } };
  assert.deepEqual(resource.fromModel(kept, { ready: true }).resource?.value, kept);
  assert.throws(
    () => resource.fromModel({ toJSON: () => "text" }),
    (error: unknown) => isFunctionError(error, "INVALID_RESOURCE"),
  );
});

const before = { a: { x: 1, list: [1, 2] }, b: "b" };

const updates: Record<string, { source: object; options?: resource.UpdateOptions; want: object }> = {
  Deep: { source: { a: { y: 2 } }, want: { a: { x: 1, list: [1, 2], y: 2 }, b: "b" } },
  ListReplaced: { source: { a: { list: [3] } }, want: { a: { x: 1, list: [3] }, b: "b" } },
  ListJoined: {
    source: { a: { list: [2, 3] } },
    options: { arrays: "concat" },
    want: { a: { x: 1, list: [1, 2, 2, 3] }, b: "b" },
  },
  NullOverwrites: { source: { a: null }, want: { a: null, b: "b" } },
  UndefinedIsNothing: { source: { b: undefined }, want: before },
  ObjectOverText: { source: { b: { c: 1 } }, want: { a: before.a, b: { c: 1 } } },
  Struct: { source: Struct.from({ b: "s" }), want: { a: before.a, b: "s" } },
  Wrapper: { source: new resource.ComposedObject({ b: "w" }), want: { a: before.a, b: "w" } },
  Model: { source: { toJSON: () => ({ b: "m" }) }, want: { a: before.a, b: "m" } },
  ObjectThatLooksLikeAMessage: {
    source: { resource: { z: 1 }, connectionDetails: {}, ready: 1 },
    want: { ...before, resource: { z: 1 }, connectionDetails: {}, ready: 1 },
  },
};

for (const [name, { source, options, want }] of Object.entries(updates)) {
  test(`update: ${name}`, () => {
    const message = resource.fromObject(before);
    const original = message.resource;
    assert.equal(resource.update(message, source, options), message);
    assert.deepEqual(message.resource?.value, want);
    assert.deepEqual(original?.value, before, "the Struct that was there is untouched");
  });
}

test("update from another message merges its details and readiness too", () => {
  const message = resource.fromObject(before, { connectionDetails: new Map([["a", Uint8Array.of(1)]]) });
  const other = resource.fromObject({ b: "n" }, { ready: true, connectionDetails: new Map([["b", Uint8Array.of(2)]]) });
  resource.update(message, other);
  assert.deepEqual([...message.connectionDetails.keys()], ["a", "b"]);
  assert.equal(message.ready, Ready.READY_TRUE);
  resource.update(message, create(Resource));
  assert.equal(message.ready, Ready.READY_TRUE, "an unspecified readiness is ignored");
  assert.deepEqual(message.resource?.value, { ...before, b: "n" });
});

test("updateStatus merges into the status alone", () => {
  const message = resource.fromObject({ spec: { a: 1 }, status: { b: 1 } });
  resource.updateStatus(message, { c: 2 });
  assert.deepEqual(message.resource?.value, { spec: { a: 1 }, status: { b: 1, c: 2 } });
});

const malformed: Record<string, object | undefined> = {
  Nothing: undefined,
  "C34 StatusIsText": { status: "Ready" },
  "C34 NoType": { status: { conditions: [{ status: "True" }] } },
  "C34 ConditionsIsText": { status: { conditions: "Ready" } },
  "C34 EntryIsText": { status: { conditions: ["Ready", null, 1] } },
  NullStatus: { status: null },
  OddStatus: { status: { conditions: [{ type: "Ready", status: true }] } },
};

for (const [name, object] of Object.entries(malformed)) {
  test(`a condition that is not there is Unknown: ${name}`, () => {
    assert.deepEqual(resource.getCondition(object, "Ready"), { type: "Ready", status: "Unknown" });
    assert.equal(resource.isReady(object), false);
  });
}

test("a condition is read from whatever holds the object", () => {
  const ready = { type: "Ready", status: "True", reason: "Available", message: "m", lastTransitionTime: "t" };
  const object = { status: { conditions: [{ type: "Other" }, ready] } };
  const struct = Struct.from(object);
  for (const source of [object, struct, resource.fromObject(object), new resource.ComposedObject(struct, "private")]) {
    assert.deepEqual(resource.getCondition(source, "Ready"), ready);
    assert.ok(resource.isReady(source));
  }
});

test("child names are stable, distinct and short, as in Python", () => {
  // From child_name of the public Python SDK 0.15.1.
  assert.equal(resource.childName(["my-xr", "bucket"]), "my-xr-bucket-05ecb");
  assert.notEqual(resource.childName(["a", "b"]), resource.childName(["a", "c"]));
  const long = resource.childName(["x".repeat(56), "-bucket"]);
  assert.ok(long.length <= 63);
  assert.match(long, /^x{56}-[0-9a-f]{5}$/, "no separator is left dangling");
  assert.match(resource.childName(["a", "b"], "."), /^a\.b\.[0-9a-f]{5}$/);
});

test("well-known names and an empty desired resource", () => {
  assert.equal(resource.KEY_ENVIRONMENT, "apiextensions.crossplane.io/environment");
  assert.equal(resource.KEY_EXTRA_RESOURCES, "apiextensions.crossplane.io/extra-resources");
  assert.equal(resource.WATCHED_RESOURCE, "ops.crossplane.io/watched-resource");
  const desired = resource.newDesiredComposed();
  desired.resource.kind = "K";
  assert.deepEqual(desired.resource.object, { kind: "K" });
  assert.deepEqual(resource.newDesiredComposed().resource.object, {}, "each is new");
});
