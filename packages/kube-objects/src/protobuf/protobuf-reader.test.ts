// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { test } from "node:test";
import { bytesOf, lastFields, ProtobufError, readFields } from "./protobuf-reader.ts";

const fieldsOf = (hex: string) => [...readFields(Buffer.from(hex.replaceAll(" ", ""), "hex"))];

test("no bytes are a message without fields", () => assert.deepEqual(fieldsOf(""), []));

const varints: readonly (readonly [string, string, bigint])[] = [
  ["zero", "08 00", 0n],
  ["the largest of one byte", "08 7f", 127n],
  ["the smallest of two bytes", "08 80 01", 128n],
  ["a zero in more bytes than needed", "08 80 80 00", 0n],
  ["2^53 + 1", "08 81 80 80 80 80 80 80 10", 2n ** 53n + 1n],
  ["the largest of 64 bits", "08 ff ff ff ff ff ff ff ff 7f", 2n ** 63n - 1n],
  ["minus one, in ten bytes", "08 ff ff ff ff ff ff ff ff ff 01", -1n],
  ["the smallest of 64 bits", "08 80 80 80 80 80 80 80 80 80 01", -(2n ** 63n)],
];
for (const [name, hex, value] of varints) {
  test(`an integer on the wire: ${name}`, () => {
    assert.deepEqual(fieldsOf(hex), [{ number: 1, wireType: 0, value }]);
  });
}

test("eight bytes are a double, least significant byte first", () => {
  assert.deepEqual(fieldsOf("11 00 00 00 00 00 00 f8 3f"), [{ number: 2, wireType: 1, value: 1.5 }]);
});

test("a range has its length before it and may be empty", () => {
  assert.deepEqual(fieldsOf("0a 03 61 62 63 12 00"), [
    { number: 1, wireType: 2, value: Buffer.from("abc") },
    { number: 2, wireType: 2, value: Buffer.alloc(0) },
  ]);
});

test("four bytes are skipped, with what follows read", () => {
  assert.deepEqual(fieldsOf("0d 01 02 03 04 10 05"), [{ number: 2, wireType: 0, value: 5n }]);
});

test("field numbers of several bytes are read, up to the largest", () => {
  assert.deepEqual(fieldsOf("80 01 01"), [{ number: 16, wireType: 0, value: 1n }]);
  assert.deepEqual(fieldsOf("f8 ff ff ff 0f 01"), [{ number: 2 ** 29 - 1, wireType: 0, value: 1n }]);
});

const malformed: readonly (readonly [string, string, string])[] = [
  ["a tag that does not end", "80", "unexpected EOF"],
  ["a tag without a value", "08", "unexpected EOF"],
  ["an integer that does not end", "08 80", "unexpected EOF"],
  ["an integer of eleven bytes", "08 80 80 80 80 80 80 80 80 80 80 01", "integer overflow"],
  ["a range longer than the message", "0a 04 61 62 63", "unexpected EOF"],
  ["a range of negative length", "0a ff ff ff ff ff ff ff ff ff 01", "unexpected EOF"],
  ["a double of seven bytes", "09 00 00 00 00 00 00 00", "unexpected EOF"],
  ["three of four bytes", "0d 01 02 03", "unexpected EOF"],
  ["the field number 0", "00 01", "illegal tag 0 (wire type 0)"],
  ["the field number 0 of a range", "02 00", "illegal tag 0 (wire type 2)"],
  ["wire type 6", "0e 01", "illegal wireType 6"],
  ["wire type 7", "0f 01", "illegal wireType 7"],
];
for (const [name, hex, message] of malformed) {
  test(`malformed bytes: ${name}`, () => {
    assert.throws(
      () => fieldsOf(hex),
      (error) => error instanceof ProtobufError && error.name === "ProtobufError" && error.message === message,
    );
  });
}

test("fields before malformed bytes are read", () => {
  const fields = readFields(Buffer.from("080110", "hex"));
  assert.deepEqual(fields.next().value, { number: 1, wireType: 0, value: 1n });
  assert.throws(() => fields.next(), ProtobufError);
});

test("of a field that occurs several times, the last value counts", () => {
  assert.deepEqual(
    [...lastFields(Buffer.from("080112017808021201791a00", "hex"))],
    [
      [1, 2n],
      [2, Buffer.from("y")],
      [3, Buffer.alloc(0)],
    ],
  );
});

test("a value that is not a range has no bytes", () => {
  assert.deepEqual([bytesOf(undefined), bytesOf(1n), bytesOf(1.5)], Array(3).fill(Buffer.alloc(0)));
  const bytes = Buffer.from("x");
  assert.equal(bytesOf(bytes), bytes);
});
