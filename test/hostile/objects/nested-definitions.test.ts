// SPDX-License-Identifier: Apache-2.0
// Definitions of objects inside each other, each with something that is checked with all that is inside: hundreds of levels around
// thousands of fields.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { JsonObject, JsonValue } from "@purlin/kube-objects/json";
import { startAttackedServer } from "../harness/server.ts";
import { define, definition, definitions, objectNamed, objectsOf, sendJson } from "./attacked-kind.ts";

const server = await startAttackedServer();
after(() => server[Symbol.asyncDispose]());

// A list adds two, and rules are allowed down to 500.
const levels = 240;
const fields = 20_000;

function fieldsOf(value: JsonValue): JsonObject {
  return Object.fromEntries(Array.from({ length: fields }, (_, index) => [`f${index}`, value]));
}

/** One schema or value inside another. */
function nested(inner: JsonObject, around: (inside: JsonObject, level: number) => JsonObject): JsonObject {
  let made = inner;
  for (let level = 0; level < levels; level++) made = around(made, level);
  return made;
}

interface Attack {
  readonly schema: (inside: JsonObject, level: number) => JsonObject;
  readonly value?: (inside: JsonObject) => JsonObject;
}

const type = "object";
const rules = { "x-kubernetes-validations": [{ rule: "true" }] };
const resource = { apiVersion: "v1", kind: "A", metadata: { name: "a" } };

const attacks: Record<string, Attack> = {
  Defaults: { schema: (a) => ({ type, properties: { a }, default: {} }) },
  Ruled: { schema: (a) => ({ type, properties: { a }, ...rules }) },
  Both: { schema: (a) => ({ type, properties: { a }, default: {}, ...rules }) },
  Below: { schema: (a, level) => ({ type, properties: { a }, default: {}, ...(level === 0 && rules) }) },
  Untyped: {
    schema: (a, level) => {
      const properties = { a };
      if (level % 2 === 1) return { "x-kubernetes-preserve-unknown-fields": true, properties };
      return { type, properties, default: {}, ...rules };
    },
  },
  Selecting: {
    schema: (a) => {
      const rule = { rule: "has(self.a)", fieldPath: ".a", messageExpression: "string(has(self.a))" };
      return { type, properties: { a }, "x-kubernetes-validations": [rule] };
    },
  },
  Nullable: { schema: (a) => ({ type, properties: { a }, nullable: true, default: null }) },
  Maps: { schema: (a) => ({ type, additionalProperties: a, ...rules }) },
  Lists: {
    schema: (items) => ({
      type,
      properties: { a: { type: "array", items, "x-kubernetes-list-type": "atomic", default: [] } },
    }),
    value: (a) => ({ a: [a] }),
  },
  Embedded: {
    schema: (a) => ({
      type,
      properties: { apiVersion: { type: "string" }, kind: { type: "string" }, metadata: { type }, a },
      "x-kubernetes-embedded-resource": true,
      default: resource,
    }),
    value: (a) => ({ ...resource, a }),
  },
  Combined: { schema: (a) => ({ type, properties: { a }, allOf: [{ properties: { a: { minProperties: 1 } } }] }) },
};

for (const [kind, { schema, value = (a: JsonObject): JsonObject => ({ a }) }] of Object.entries(attacks)) {
  test(`${kind}: ${levels} levels around ${fields} fields`, async () => {
    const outer = nested({ type, properties: fieldsOf({ type: "string" }) }, schema);
    await server.during(`define ${kind}`, () => define(server.target, kind, definition(kind, { a: outer })));
    const object = objectNamed(kind, "one", { a: nested(fieldsOf("v"), value) });
    await server.during(`create ${kind}`, async () => {
      const { code, text } = await sendJson(server.target, ["POST", objectsOf(kind)], object);
      assert.equal(code, 201, text.slice(0, 1000));
    });
    await server.during(`apply ${kind}`, async () => {
      const path = `${objectsOf(kind)}/one?fieldManager=hostile&force=true`;
      const { code, text } = await sendJson(server.target, ["PATCH", path], object, "application/apply-patch+yaml");
      assert.equal(code, 200, text.slice(0, 1000));
    });
  });
}

test("defaults inside each other are still checked, each where it is", async () => {
  const wrong = { type, properties: { a: { type: "string", default: 1 } }, default: { b: 1 } };
  const spec = { a: nested(wrong, (a) => ({ type, properties: { a }, default: {} })) };
  await server.during("wrong defaults", async () => {
    const { code, text } = await sendJson(server.target, ["POST", definitions], definition("Wrong", spec));
    assert.equal(code, 422);
    assert.match(text, /default: Invalid value: \{\\"b\\":1\}: must not have unknown fields/);
    assert.match(text, /default: Invalid value: \\"integer\\": {2}in body must be of type string/);
  });
});

test("memory stays bounded", () => {
  server.requireBoundedMemory();
});
