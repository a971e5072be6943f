// SPDX-License-Identifier: Apache-2.0
// The reader and the writer of the wire format, byte by byte.
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { test } from "node:test";
import { isProtocolError, ProtocolError } from "./protocol-error.ts";
import { readString, WireReader, WireType } from "./wire-reader.ts";
import {
  putBytes,
  putDouble,
  putString,
  putVarint,
  putVarint64,
  reserve,
  stringRoom,
  withBuffer,
} from "./wire-writer.ts";

const reader = (...bytes: readonly number[]): WireReader => new WireReader(Uint8Array.from(bytes));
const truncated = { code: "MALFORMED", message: "the message ends in the middle of a field" };
const tooLong = { code: "MALFORMED", message: "a varint is longer than ten bytes" };
const written = (put: (bytes: Buffer, position: number) => number): number[] => [
  ...withBuffer(({ bytes }, end) => put(bytes, end)),
];

const varints: readonly (readonly [value: number, bytes: readonly number[]])[] = [
  [0, [0]],
  [1, [1]],
  [127, [0x7f]],
  [128, [0x80, 1]],
  [300, [0xac, 2]],
  [16_383, [0xff, 0x7f]],
  [16_384, [0x80, 0x80, 1]],
  [2 ** 31, [0x80, 0x80, 0x80, 0x80, 8]],
  [2 ** 32 - 1, [0xff, 0xff, 0xff, 0xff, 0x0f]],
  [Number.MAX_SAFE_INTEGER, [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x0f]],
];

test("varints are written and read at every size", () => {
  for (const [value, bytes] of varints) {
    assert.deepEqual(
      written((buffer, end) => putVarint(buffer, value, end)),
      bytes,
      `write ${value}`,
    );
    assert.equal(reader(...bytes).varint(), value, `read ${value}`);
    assert.equal(reader(...bytes).varint64(), BigInt(value));
  }
});

test("a varint may be padded up to ten bytes, not more, and must end", () => {
  assert.equal(reader(0x81, 0x80, 0x80, 0).varint(), 1);
  const ten = [0x81, ...Array<number>(8).fill(0x80), 0];
  assert.deepEqual([reader(...ten).varint(), reader(...ten).varint64()], [1, 1n]);
  const eleven = [...Array<number>(10).fill(0x80), 0];
  assert.throws(() => reader(...eleven).varint(), tooLong);
  assert.throws(() => reader(...eleven).varint64(), tooLong);
  assert.throws(() => reader(0x80).varint(), truncated);
  assert.throws(() => reader().varint64(), truncated);
});

test("signed numbers of 64 and 32 bits: negative ones take ten bytes", () => {
  const minusOne = [...Array<number>(9).fill(0xff), 1];
  assert.deepEqual(
    written((bytes, end) => putVarint64(bytes, -1n, end)),
    minusOne,
  );
  assert.equal(reader(...minusOne).varint64(), -1n);
  assert.equal(reader(...minusOne).int32(), -1);
  for (const value of [0n, 127n, 128n, 2n ** 63n - 1n, -(2n ** 63n)]) {
    assert.equal(reader(...written((bytes, end) => putVarint64(bytes, value, end))).varint64(), value, String(value));
  }
  assert.equal(reader(5).int32(), 5);
  assert.equal(reader(0x80, 0x80, 0x80, 0x80, 0x18).int32(), -(2 ** 31), "bits above 32 are dropped");
  assert.throws(() => reader().int32(), truncated);
});

test("doubles are eight bytes, little end first", () => {
  const one = [0, 0, 0, 0, 0, 0, 0xf0, 0x3f];
  assert.deepEqual([...withBuffer((buffer, end) => putDouble(buffer, 1, end))], one);
  assert.equal(reader(...one).double(), 1);
  assert.ok(Object.is(reader(0, 0, 0, 0, 0, 0, 0, 0x80).double(), -0));
  assert.throws(() => reader(0, 0, 0, 0, 0, 0, 0).double(), truncated);
});

test("strings of all lengths and scripts are written with their length and read again", () => {
  for (const text of [
    "",
    "a",
    "é",
    "😀",
    "a".repeat(6),
    "a".repeat(7),
    "a".repeat(32),
    "a".repeat(33),
    "ü".repeat(32),
    "😀".repeat(100),
    "\u0000",
    "\ufffd",
  ]) {
    const bytes = written((buffer, end) => putString(buffer, text, end));
    assert.equal(reader(...bytes).string(), text, JSON.stringify(text));
    assert.equal(bytes.length - Buffer.byteLength(text), Buffer.byteLength(text) < 128 ? 1 : 2);
    assert.ok(bytes.length <= stringRoom(text));
  }
});

test("half a surrogate pair is not written, bytes that are not UTF-8 are not read", () => {
  const half = {
    code: "INVALID_UTF8",
    message: "the string holds half a surrogate pair and cannot be written as UTF-8",
  };
  for (const text of ["\ud800", `${"a".repeat(40)}\udc00`]) {
    assert.throws(() => withBuffer(({ bytes }, end) => putString(bytes, text, end)), half);
  }
  const wrong = { code: "INVALID_UTF8", message: "a string is not valid UTF-8" };
  for (const bytes of [[0xff], [0xc3], [0x61, 0x80], [0xed, 0xa0, 0x80], [0xc0, 0x80], Array<number>(20).fill(0xfe)]) {
    assert.throws(() => reader(bytes.length, ...bytes).string(), wrong, bytes.join());
  }
  assert.equal(readString(Buffer.from("xäy"), 1, 2), "ä");
});

test("a length beyond the end is a truncated message", () => {
  assert.throws(() => reader(3, 0x61, 0x62).string(), truncated);
  assert.throws(() => reader(3, 0x61, 0x62).range(), truncated);
  assert.deepEqual([...reader(2, 1, 2, 3).range()], [1, 2]);
  assert.deepEqual([...reader(0).range()], []);
});

test("a range is a view of the bytes, also of a part of a larger array", () => {
  const whole = Uint8Array.from([9, 9, 2, 7, 8, 9]);
  const part = new WireReader(whole.subarray(2, 5));
  const range = part.range();
  assert.deepEqual([...range], [7, 8]);
  whole[3] = 1;
  assert.equal(range[0], 1, "not copied");
  assert.equal(part.position, part.end);
});

test("unknown fields of every wire type are skipped", () => {
  const cases: readonly (readonly [type: number, bytes: readonly number[]])[] = [
    [WireType.varint, [0x80, 1]],
    [WireType.fixed64, Array<number>(8).fill(1)],
    [WireType.bytes, [2, 1, 2]],
    [WireType.fixed32, [1, 2, 3, 4]],
    // A group with a varint, bytes and an empty group in it.
    [WireType.startGroup, [0x08, 5, 0x12, 1, 9, 0x1b, 0x1c, 0x0c]],
  ];
  for (const [type, bytes] of cases) {
    const one = reader(...bytes, 0x77);
    one.skip(type);
    assert.equal(one.position, bytes.length, `wire type ${type}`);
    assert.throws(() => reader(...bytes.slice(0, -1)).skip(type), truncated, `wire type ${type}, cut`);
  }
});

test("wire types that do not exist, and groups that are too deep, are refused", () => {
  for (const type of [4, 6, 7]) {
    assert.throws(() => reader(0).skip(type), { code: "MALFORMED", message: `wire type ${type} does not exist` });
  }
  const nested = (depth: number): WireReader =>
    reader(...Array<number>(depth - 1).fill(0x0b), ...Array<number>(depth).fill(0x0c));
  nested(100).skip(WireType.startGroup);
  assert.throws(() => nested(101).skip(WireType.startGroup), {
    code: "TOO_DEEP",
    message: "groups are nested too deeply",
  });
});

test("a buffer grows until what is written fits, and what is written before is not lost", () => {
  const sizes: number[] = [];
  const large = new Uint8Array(300_000).fill(7);
  const bytes = withBuffer((buffer, end) => {
    sizes.push(buffer.bytes.length);
    const at = putBytes(buffer.bytes, [1, 2], end);
    reserve(at, large.length);
    return putBytes(buffer.bytes, large, at);
  });
  assert.equal(bytes.length, 300_002);
  assert.deepEqual([...bytes.subarray(-3)], [7, 1, 2]);
  assert.ok(sizes.length >= 1 && (sizes.at(-1) ?? 0) >= 300_002, sizes.join());
});

test("a buffer is not shared with what is written inside, and errors pass through", () => {
  const outer = withBuffer((buffer, end) => {
    const at = putBytes(buffer.bytes, [1, 2, 3], end);
    assert.deepEqual([...withBuffer((inner, last) => putBytes(inner.bytes, [9, 9, 9], last))], [9, 9, 9]);
    return at;
  });
  assert.deepEqual([...outer], [1, 2, 3]);
  assert.throws(() => withBuffer(() => assert.fail("mine")), { message: "mine" });
});

test("an error of the protocol is known by its brand, and carries code, path and cause", () => {
  const cause = new Error("c");
  const error = new ProtocolError("INVALID_JSON", "m", { path: "a.b", cause });
  assert.deepEqual([error.name, error.code, error.path, error.cause], ["ProtocolError", "INVALID_JSON", "a.b", cause]);
  assert.equal(new ProtocolError("MALFORMED", "m").path, undefined);
  assert.ok(isProtocolError(error) && isProtocolError({ [Symbol.for("purlin.dev/protocol-error")]: true }));
  for (const other of [new Error("x"), null, undefined, "x"]) assert.ok(!isProtocolError(other));
});
