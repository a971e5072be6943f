// SPDX-License-Identifier: Apache-2.0

import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { test } from "node:test";
import { runInNewContext } from "node:vm";
import { compareUtf8 } from "@purlin/base";
import fc from "fast-check";
import { arbitraryObject } from "../test/arbitrary-message.ts";
import { isStruct, Struct } from "./struct.ts";
import type { JsonObject } from "./struct-decode.ts";

const roundTrip = (value: object): JsonObject => Struct.from(value).value;
const encodeAny = (value: unknown) => () => Struct.from({ spec: { list: [0, { bad: value }] } });

test("JSON values survive a round trip", () => {
  fc.assert(
    fc.property(arbitraryObject, (object) =>
      assert.equal(JSON.stringify(Struct.from(object).toMutable()), JSON.stringify(object)),
    ),
  );
});

test("the order of members is kept", () => {
  assert.deepEqual(Object.keys(roundTrip({ z: 1, a: 2, m: 3 })), ["z", "a", "m"]);
});

test("whole numbers stay whole", () => {
  assert.equal(
    JSON.stringify(roundTrip({ replicas: 3, big: 1e20, half: 0.5 })),
    '{"replicas":3,"big":100000000000000000000,"half":0.5}',
  );
});

test("a number beyond 2^53 loses its last digits; a bigint that would is refused", () => {
  assert.equal(roundTrip({ n: Number("9007199254740993") })["n"], 9007199254740992);
  assert.equal(roundTrip({ n: 9007199254740992n })["n"], 9007199254740992);
  assert.throws(encodeAny(9007199254740993n), {
    code: "INVALID_VALUE",
    message: /^spec\.list\[1\]\.bad: 9007199254740993/,
  });
});

test("an undefined member is left out, an undefined item is null", () => {
  assert.deepEqual(roundTrip({ gone: undefined, list: [1, undefined, 3] }), { list: [1, null, 3] });
});

test("null stays null", () => {
  assert.deepEqual(roundTrip({ a: null, list: [null] }), { a: null, list: [null] });
});

const refused: Record<string, unknown> = {
  NaN: Number.NaN,
  Infinity: Number.POSITIVE_INFINITY,
  Date: new Date(0),
  Map: new Map(),
  Set: new Set(),
  function: () => 1,
  symbol: Symbol("s"),
  "instance without toJSON": new (class Thing {
    readonly a = 1;
  })(),
  "lone surrogate": "\ud800",
};
for (const [name, value] of Object.entries(refused)) {
  test(`${name} is refused, naming the path`, () => {
    assert.throws(encodeAny(value), { name: "ProtocolError", message: /^spec\.list\[1\]\.bad: / });
  });
}

test("a key that is not UTF-16 is refused, naming it", () => {
  assert.throws(() => Struct.from({ a: { "\udc00": 1 } }), { code: "INVALID_UTF8", message: /^a\["\\udc00"\]: / });
});

test("bytes become base64, instances with toJSON their JSON", () => {
  class Model {
    toJSON(): object {
      return { kind: "Bucket" };
    }
  }
  assert.deepEqual(roundTrip({ bytes: new Uint8Array([255, 0]), buffer: Buffer.from("hi") }), {
    bytes: "/wA=",
    buffer: "aGk=",
  });
  assert.deepEqual(roundTrip({ model: new (class extends Model {})() }), { model: { kind: "Bucket" } });
  assert.deepEqual(roundTrip(new Model()), { kind: "Bucket" });
});

test("a toJSON that encodes a Struct itself does no harm", () => {
  class Nested {
    toJSON(): object {
      return { inner: Struct.from({ deep: "x".repeat(100_000) }).value };
    }
  }
  const inner = { deep: "x".repeat(100_000) };
  assert.deepEqual(roundTrip({ first: 1, nested: new Nested(), last: 2 }), { first: 1, nested: { inner }, last: 2 });
});

test("objects of another realm and without prototype are plain", () => {
  assert.deepEqual(roundTrip({ foreign: runInNewContext("({ a: [1] })") as object }), { foreign: { a: [1] } });
  assert.deepEqual(roundTrip({ bare: Object.assign(Object.create(null) as object, { a: 1 }) }), { bare: { a: 1 } });
});

test("inherited members are not written", (t) => {
  Object.defineProperty(Object.prototype, "polluted", { value: 1, enumerable: true, configurable: true });
  t.after(() => Reflect.deleteProperty(Object.prototype, "polluted"));
  const struct = Struct.from({ a: { b: 1 } });
  Reflect.deleteProperty(Object.prototype, "polluted");
  assert.deepEqual(struct.value, { a: { b: 1 } });
});

test("__proto__ is a member like any other", () => {
  const object = JSON.parse('{"labels":{"__proto__":{"polluted":true},"constructor":"c","":"empty"}}') as JsonObject;
  const copy = roundTrip(object)["labels"] as JsonObject;
  assert.deepEqual(Object.keys(copy), ["__proto__", "constructor", ""]);
  assert.equal(Object.getPrototypeOf(copy), Object.prototype);
  assert.equal(({} as Record<string, unknown>)["polluted"], undefined);
});

test("a value without a kind is null", () => {
  assert.deepEqual(Struct.fromBytes(Buffer.from("0a050a016b1200", "hex")).value, { k: null });
});

test("NaN and infinities from a peer read as Go shows them", () => {
  const value = (double: number): string => {
    const bytes = Buffer.alloc(8);
    bytes.writeDoubleLE(double);
    return `0a0e0a016b120911${bytes.toString("hex")}`;
  };
  const read = (double: number): unknown => Struct.fromBytes(Buffer.from(value(double), "hex")).value["k"];
  assert.deepEqual([Number.NaN, Infinity, -Infinity].map(read), ["NaN", "Infinity", "-Infinity"]);
});

function nested(levels: number): JsonObject {
  let object: JsonObject = {};
  for (let i = 1; i < levels; i++) object = { a: object };
  return object;
}

test("60 nested objects decode, and a thousand", () => {
  assert.equal(JSON.stringify(roundTrip(nested(60))).length, JSON.stringify(nested(60)).length);
  assert.ok(Struct.from(nested(1_000)).value);
});

test("nesting beyond that is refused when written and when read", () => {
  assert.throws(() => Struct.from(nested(1_100)), { code: "TOO_DEEP", message: /nested too deeply/ });
  let bytes: Buffer = Buffer.alloc(0);
  for (let i = 0; i < 1_100; i++) bytes = wrapInObject(bytes);
  assert.throws(() => Struct.fromBytes(bytes).value, { code: "TOO_DEEP" });
});

function wrapInObject(inner: Buffer): Buffer {
  const value = Buffer.concat([Buffer.from([0x2a]), length(inner.length), inner]);
  const entry = Buffer.concat([Buffer.from("0a016112", "hex"), length(value.length), value]);
  return Buffer.concat([Buffer.from([0x0a]), length(entry.length), entry]);
}

function length(size: number): Buffer {
  const bytes: number[] = [];
  for (let rest = size; ; rest >>>= 7) {
    bytes.push(rest < 0x80 ? rest : (rest & 0x7f) | 0x80);
    if (rest < 0x80) return Buffer.from(bytes);
  }
}

for (const value of [new Map(), new Date(0), [], new (class Thing {})()]) {
  test(`${value.constructor.name} is not an object to send`, () => {
    assert.throws(() => Struct.from(value), { code: "INVALID_VALUE" });
  });
}

test("an object that contains itself is refused", () => {
  const cyclic: Record<string, unknown> = {};
  cyclic["self"] = cyclic;
  assert.throws(() => Struct.from(cyclic), { code: "TOO_DEEP", message: /does it contain itself/ });
});

test("the value is frozen all the way down, a mutable copy is private", () => {
  const struct = Struct.from({ spec: { list: [{ a: 1 }] } });
  assert.throws(() => {
    ((struct.value["spec"] as JsonObject)["list"] as JsonObject[])[0]!["a"] = 2;
  }, TypeError);
  const copy = struct.toMutable();
  (copy["spec"] as JsonObject)["list"] = [];
  assert.deepEqual(struct.value, { spec: { list: [{ a: 1 }] } });
});

test("a Struct does not follow later changes of the object it was made from", () => {
  const object = { a: 1 };
  const struct = Struct.from(object);
  object.a = 2;
  assert.deepEqual(struct.value, { a: 1 });
});

test("equal objects have equal canonical bytes whatever the order of members", () => {
  fc.assert(
    fc.property(arbitraryObject, (object) => {
      const reversed = reverseMembers(object) as JsonObject;
      const [a, b] = [Struct.from(object), Struct.from(reversed)];
      assert.ok(a.equals(b));
      assert.equal(a.fingerprint, b.fingerprint);
    }),
  );
  assert.ok(!Struct.from({ a: 1 }).equals(Struct.from({ a: 2 })));
});

function reverseMembers(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reverseMembers);
  if (typeof value !== "object" || value === null) return value;
  const reversed: JsonObject = {};
  for (const [key, member] of Object.entries(value).reverse()) {
    Object.defineProperty(reversed, key, { value: reverseMembers(member), enumerable: true });
  }
  return reversed;
}

test("keys are ordered by their UTF-8 bytes", () => {
  const keys = ["\u{10000}", "\uffff", "b", "a", "ab", "", "é"];
  const byBytes = [...keys].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  assert.deepEqual([...keys].sort(compareUtf8), byBytes);
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), fc.string({ unit: "binary" }), (a, b) => {
      assert.equal(Math.sign(compareUtf8(a, b)), Buffer.compare(Buffer.from(a), Buffer.from(b)));
    }),
  );
});

test("keys that share a slot of the key table stay distinct", () => {
  const object: JsonObject = {};
  for (let i = 0; i < 5_000; i++) object[`key-${i.toString(36)}-é`.slice(0, 4 + (i % 9))] = i;
  for (let i = 0; i < 5_000; i++) object[`k${i}`] = i;
  assert.deepEqual(roundTrip(object), object);
});

test("a Struct prints and serializes as the object it holds, and differs from one", () => {
  assert.equal(JSON.stringify({ s: Struct.from({ a: 1 }) }), '{"s":{"a":1}}');
  assert.ok(isStruct(Struct.from({})));
  assert.ok(!isStruct({ bytes: new Uint8Array() }));
  assert.ok(Struct.from({}).isEmpty);
  assert.ok(!Struct.from({ a: 1 }).isEmpty);
});

test("a rounded Struct holds the nearest double of an integer, and refuses what has no JSON form", () => {
  const { value } = Struct.rounded({ spec: { list: [9007199254740993n, 9223372036854775807n, 1n, 0.5] } });
  assert.deepEqual(value, { spec: { list: [9007199254740992, 2 ** 63, 1, 0.5] } });
  assert.throws(() => Struct.rounded({ n: Number.NaN }), { code: "INVALID_VALUE", message: /^n: / });
});
