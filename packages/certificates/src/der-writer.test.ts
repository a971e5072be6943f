// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import * as der from "./der-writer.ts";

const encodings: Record<string, { reason: string; got: () => Buffer; want: string }> = {
  ShortLength: {
    reason: "lengths below 128 take one byte",
    got: () => der.octetString(Buffer.alloc(2)),
    want: "04020000",
  },
  IntegerZero: { reason: "zero keeps one byte", got: () => der.smallInteger(0), want: "020100" },
  IntegerPositive: {
    reason: "a leading 1 bit gets a zero byte before it",
    got: () => der.smallInteger(128),
    want: "02020080",
  },
  IntegerMinimal: {
    reason: "leading zero bytes are dropped",
    got: () => der.unsignedInteger(Buffer.from([0, 0, 1, 2])),
    want: "02020102",
  },
  True: { reason: "DER's only true is ff", got: () => der.booleanTrue(), want: "0101ff" },
  Null: { reason: "null has no content", got: () => der.nullValue(), want: "0500" },
  Oid: { reason: "arcs above 127 take several bytes", got: () => der.oid("1.2.840.113549"), want: "06062a864886f70d" },
  NamedBitsOne: { reason: "seven unused bits after bit 0", got: () => der.namedBits([0]), want: "03020780" },
  NamedBitsLast: { reason: "bit 8 opens a second byte", got: () => der.namedBits([0, 8]), want: "0303078080" },
  BitString: { reason: "no unused bits", got: () => der.bitString(Buffer.from([1])), want: "03020001" },
  Utf8: { reason: "text is UTF-8", got: () => der.utf8String("é"), want: "0c02c3a9" },
  Context: { reason: "context tags", got: () => der.contextConstructed(3, der.nullValue()), want: "a3020500" },
  ContextPrimitive: {
    reason: "primitive context tags",
    got: () => der.contextPrimitive(2, Buffer.from("a")),
    want: "820161",
  },
};

for (const [name, { reason, got, want }] of Object.entries(encodings)) {
  test(`der: ${name}`, () => assert.equal(got().toString("hex"), want, reason));
}

const times: Record<string, { reason: string; iso: string; want: string }> = {
  Now: { reason: "two digits of year until 2049", iso: "2026-11-15T01:02:03.999Z", want: "261115010203Z" },
  LastShort: { reason: "the last second of UTCTime", iso: "2049-12-31T23:59:59Z", want: "491231235959Z" },
  FirstLong: { reason: "the first second of GeneralizedTime", iso: "2050-01-01T00:00:00Z", want: "20500101000000Z" },
  Forever: { reason: "the end RFC 5280 names", iso: "9999-12-31T23:59:59Z", want: "99991231235959Z" },
  BeforeShort: { reason: "UTCTime cannot say 1949", iso: "1949-12-31T00:00:00Z", want: "19491231000000Z" },
};

for (const [name, { reason, iso, want }] of Object.entries(times)) {
  test(`der time: ${name}`, () => {
    const encoded = der.time(new Date(iso));
    assert.equal(encoded.subarray(2).toString(), want, reason);
    assert.equal(encoded[0], want.length === 13 ? der.derTags.utcTime : der.derTags.generalizedTime, reason);
  });
}

test("der time refuses what has no four-digit year", () => {
  assert.throws(() => der.time(new Date(Number.NaN)), /year must lie/);
  assert.throws(() => der.time(new Date("+010000-01-01T00:00:00Z")), /year must lie/);
});

test("der lengths of any size are minimal and right", () => {
  fc.assert(
    fc.property(fc.nat({ max: 70_000 }), (size) => {
      const encoded = der.octetString(Buffer.alloc(size));
      const first = encoded[1] ?? 0;
      const count = first < 0x80 ? 0 : first & 0x7f;
      const length = count === 0 ? first : encoded.readUIntBE(2, count);
      assert.equal(length, size);
      assert.equal(encoded.length, 2 + count + size);
      assert.ok(count === 0 || (size >= 0x80 && encoded[2] !== 0));
    }),
  );
});
