// SPDX-License-Identifier: Apache-2.0
// Field numbers and types as k8s.io/api declares them.
import assert from "node:assert/strict";
import { test } from "node:test";
import { messageFields, type ProtobufField, standingFields } from "./field-table.ts";

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
