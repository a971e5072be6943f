// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { test } from "node:test";
import fc from "fast-check";
import { arbitraryObject } from "../test/arbitrary-message.ts";
import { Struct } from "./struct.ts";
import { decodeStruct, type JsonObject } from "./struct-decode.ts";
import { encodeStruct } from "./struct-encode.ts";
import { sortStruct } from "./struct-sort.ts";

/** What sorting must give: the object itself, written again with its members in order. */
const judge = (bytes: Uint8Array): Buffer => encodeStruct(decodeStruct(bytes, "mutable"), "sorted");
const hex = (bytes: Uint8Array | undefined): string => Buffer.from(bytes ?? []).toString("hex");

test("the members of every object change places and nothing else changes", () => {
  fc.assert(
    fc.property(arbitraryObject, (object) => {
      const bytes = encodeStruct(object);
      const sorted = sortStruct(bytes);
      assert.ok(sorted !== undefined, "what our encoder writes is never decoded for this");
      assert.equal(hex(sorted), hex(judge(bytes)));
    }),
    { numRuns: 1000 },
  );
});

test("names are ordered by their bytes", () => {
  const object = { "\u{10000}": 1, "\uffff": 2, "\ufeff": 3, b: 4, ab: 5, a: 6, "": 7, é: 8, 10: 9, 9: 10 };
  assert.equal(hex(sortStruct(encodeStruct(object))), hex(judge(encodeStruct(object))));
});

test("what is sorted already is not copied", () => {
  const bytes = encodeStruct({ a: { b: [{ c: null, d: "e" }, 1.5], f: {} }, g: [], h: true });
  assert.equal(sortStruct(bytes), bytes);
  assert.equal(sortStruct(Buffer.alloc(0))?.length, 0);
});

/** A valid message with some bytes of it changed, put in, taken out or repeated. */
const arbitraryDamage = fc
  .tuple(
    arbitraryObject,
    fc.array(
      fc.record({
        at: fc.nat(),
        remove: fc.nat({ max: 3 }),
        insert: fc.oneof(
          fc.uint8Array({ maxLength: 3 }),
          fc.constantFrom(0x0a, 0x12, 0x80, 0, 0x08, 0x2a, 0x32).map((byte) => Uint8Array.of(byte)),
        ),
      }),
      { minLength: 1, maxLength: 3 },
    ),
    fc.boolean(),
  )
  .map(([object, edits, twice]) => {
    let bytes = encodeStruct(object);
    if (twice) bytes = Buffer.concat([bytes, bytes]);
    for (const { at, remove, insert } of edits) {
      const place = at % (bytes.length + 1);
      bytes = Buffer.concat([bytes.subarray(0, place), insert, bytes.subarray(place + remove)]);
    }
    return bytes;
  });

test("damaged bytes are sorted as decoding would have it, or left to decoding", () => {
  let sortedOnes = 0;
  fc.assert(
    fc.property(arbitraryDamage, (bytes) => {
      const sorted = sortStruct(bytes);
      if (sorted === undefined) return;
      sortedOnes++;
      // Throws, and so fails, when the bytes do not hold a Struct.
      assert.equal(hex(sorted), hex(judge(bytes)));
    }),
    { numRuns: 3000 },
  );
  assert.ok(sortedOnes > 0, "some damage is harmless, such as another letter in a string");
});

const deep = (levels: number, inner: JsonObject): JsonObject =>
  levels === 0 ? inner : { a: deep(levels - 1, inner), "": 0 };

const leftToDecoding: Record<string, { readonly bytes: Uint8Array | string; readonly value?: JsonObject }> = {
  "a name that comes twice": { bytes: "0a070a016b120220010a070a016b12022000", value: { k: false } },
  "a name that comes twice, not side by side": {
    bytes: "0a070a016b120220010a070a016a120220010a070a016b12022000",
    value: { j: true, k: false },
  },
  "an unknown field": { bytes: "0a070a016b120220011801", value: { k: true } },
  "an entry without a name": { bytes: "0a0412022001", value: { "": true } },
  "an entry without a value": { bytes: "0a030a016b", value: { k: null } },
  "a value before its name": { bytes: "0a07120220010a016b", value: { k: true } },
  "a value without a kind": { bytes: "0a050a016b1200", value: { k: null } },
  "a value with two kinds": { bytes: "0a090a016b120420010800", value: { k: null } },
  "a length with a byte too many": { bytes: "0a87000a016b12022001", value: { k: true } },
  "a truth that is neither 0 nor 1": { bytes: "0a070a016b12022002", value: { k: true } },
  "a null that is not 0": { bytes: "0a070a016b12020801", value: { k: null } },
  NaN: { bytes: "0a0e0a016b120911000000000000f87f", value: { k: "NaN" } },
  "more levels than are worth it": { bytes: encodeStruct(deep(120, {})), value: deep(120, {}) },
  "a name that is not UTF-8": { bytes: "0a070a01ff12022001" },
  "a text that is not UTF-8": { bytes: "0a080a016b12031a01ff" },
  "a message that ends too early": { bytes: "0a070a016b120220" },
  "an entry longer than its object": { bytes: "0a090a016b12062a04ffffffff" },
};

for (const [name, { bytes, value }] of Object.entries(leftToDecoding)) {
  test(`left to decoding: ${name}`, () => {
    const given = typeof bytes === "string" ? Buffer.from(bytes, "hex") : bytes;
    assert.equal(sortStruct(given), undefined);
    const struct = Struct.fromBytes(given);
    if (value === undefined) assert.throws(() => struct.canonicalBytes, { name: "ProtocolError" });
    else assert.equal(hex(struct.canonicalBytes), hex(encodeStruct(value, "sorted")));
  });
}

test("bytes in a Uint8Array that is not a Buffer are sorted as well", () => {
  const bytes = Uint8Array.from(encodeStruct({ b: 1, a: 2 }));
  assert.equal(hex(sortStruct(bytes)), hex(judge(bytes)));
});
