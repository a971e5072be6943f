// SPDX-License-Identifier: Apache-2.0
// Field numbers and types as k8s.io/api declares them.

import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { test } from "node:test";
import {
  bytesOf,
  lastFields,
  messageFields,
  ProtobufError,
  type ProtobufField,
  readFields,
  standingFields,
} from "./protobuf-fields.ts";

function fieldOf(message: string, field: string): ProtobufField {
  const found = messageFields(message)?.find(({ name }) => name === field);
  assert.ok(found, `${message} has no field ${field}`);
  return found;
}

const plain = { pointer: false, omitEmpty: false, omitZero: false, inlined: false };
const text = { kind: "scalar", scalar: "string" } as const;

const fields: Readonly<Record<string, readonly [message: string, field: Partial<ProtobufField> & { name: string }]>> = {
  "a scalar that is always written": ["core.v1.Container", { ...plain, number: 1, name: "name", type: text }],
  "a scalar that is left out when empty": [
    "core.v1.Container",
    { ...plain, omitEmpty: true, number: 2, name: "image", type: text },
  ],
  "a list of scalars": [
    "core.v1.Container",
    { ...plain, omitEmpty: true, number: 3, name: "command", type: { kind: "list", of: text } },
  ],
  "a list of messages": [
    "core.v1.Container",
    { number: 6, name: "ports", type: { kind: "list", of: { kind: "message", name: "core.v1.ContainerPort" } } },
  ],
  "a pointer to a message": [
    "core.v1.Container",
    {
      ...plain,
      omitEmpty: true,
      pointer: true,
      number: 10,
      name: "livenessProbe",
      type: { kind: "message", name: "core.v1.Probe" },
    },
  ],
  "a string with a type of its own": [
    "core.v1.Container",
    { number: 14, name: "imagePullPolicy", type: { ...text, goName: "v1.PullPolicy" } },
  ],
};
for (const [name, [message, want]] of Object.entries(fields)) {
  test(`the table has ${name}`, () => {
    const found: Partial<ProtobufField> = fieldOf(message, want.name);
    assert.deepEqual({ ...found, ...want }, found);
  });
}

test("fields are in the order of the JSON form, not of their numbers", () => {
  const names = (messageFields("core.v1.Container") ?? []).map(({ name }) => name);
  assert.ok(names.indexOf("envFrom") < names.indexOf("env"), "number 19 is before number 7");
});

test("the fields of a message are made once", () => {
  assert.equal(messageFields("core.v1.Container"), messageFields("core.v1.Container"));
  assert.equal(standingFields("core.v1.Container"), standingFields("core.v1.Container"));
});

test("a message that does not exist has no fields, also with the name of a member of all objects", () => {
  for (const name of ["core.v1.Nothing", "", "constructor", "__proto__"]) {
    assert.equal(messageFields(name), undefined);
    assert.deepEqual(standingFields(name), { inOrder: [], names: new Set() });
  }
});

test("a name of a scalar type is not a message", () => {
  assert.equal(messageFields("core.v1.PullPolicy"), undefined);
});

test("the fields of an inlined message stand in the message around it", () => {
  const own = (messageFields("core.v1.Volume") ?? []).filter(({ inlined }) => inlined);
  assert.equal(own.length, 1);
  const { inOrder, names } = standingFields("core.v1.Volume");
  assert.deepEqual(
    inOrder.slice(0, 3).map(({ name }) => name),
    ["name", "hostPath", "emptyDir"],
  );
  assert.ok(names.has("configMap"));
  assert.equal(
    inOrder.some(({ inlined }) => inlined),
    false,
  );
  assert.equal(names.size, inOrder.length, "no name occurs twice");
});

test("a message without inlined ones has its own fields", () => {
  assert.deepEqual(standingFields("core.v1.Container").inOrder, messageFields("core.v1.Container"));
});

test("bytes and maps have types of their own", () => {
  assert.deepEqual(fieldOf("core.v1.Secret", "data").type, { kind: "map", of: { kind: "scalar", scalar: "bytes" } });
  assert.deepEqual(fieldOf("core.v1.Secret", "stringData").type, { kind: "map", of: text });
});

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
