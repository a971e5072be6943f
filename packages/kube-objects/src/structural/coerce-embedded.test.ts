// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject, JsonValue } from "../json/json-value.ts";
import { TypedFormError } from "../typed/special-forms.ts";
import { coerceEmbedded } from "./coerce-embedded.ts";

const embedded = { type: "object", "x-kubernetes-embedded-resource": true };
const schema: JsonObject = {
  type: "object",
  properties: {
    t: embedded,
    list: { type: "array", items: embedded },
    map: { type: "object", additionalProperties: embedded },
    plain: { type: "object" },
  },
};
const resource = (metadata: JsonValue): JsonObject => ({ apiVersion: "v1", kind: "X", metadata });

test("metadata keeps its own fields only, wherever the resource is", () => {
  const odd = { name: "a", nope: 1, creationTimestamp: null };
  const { object, unknown } = coerceEmbedded(
    { t: resource(odd), list: [resource(odd)], map: { k: resource(odd) }, plain: resource(odd) },
    schema,
  );
  const even = resource({ name: "a" });
  assert.deepEqual(object, { t: even, list: [even], map: { k: even }, plain: resource(odd) });
  assert.deepEqual(unknown, ["list[0].metadata.nope", "map[k].metadata.nope", "t.metadata.nope"]);
});

test("null is empty metadata", () => {
  assert.deepEqual(coerceEmbedded({ t: resource(null) }, schema).object, { t: resource({}) });
});

test("an object in order comes back itself, as does one without embedded resources", () => {
  const object = { t: resource({ name: "a", labels: { a: "b" } }), list: [], other: 7 };
  assert.equal(coerceEmbedded(object, schema).object, object);
  const odd = { t: resource({ nope: 1 }) };
  assert.equal(coerceEmbedded(odd, { type: "object" }).object, odd);
});

const refused: Readonly<Record<string, { value: JsonObject; message: string; dropped: JsonObject }>> = {
  Name: {
    value: resource({ name: 7, labels: { a: "b" } }),
    message:
      't.metadata: Invalid value: {"labels":{"a":"b"},"name":7}: json: cannot unmarshal number into Go struct field ObjectMeta.name of type string',
    dropped: resource({ labels: { a: "b" } }),
  },
  Metadata: {
    value: resource("x"),
    message: 't.metadata: Invalid value: "x": json: cannot unmarshal string into Go value of type v1.ObjectMeta',
    dropped: resource("x"),
  },
  Kind: {
    value: { apiVersion: "v1", kind: 7 },
    message: "t.kind: Invalid value: 7: must be a string",
    dropped: { apiVersion: "v1" },
  },
};

for (const [name, { value, message, dropped }] of Object.entries(refused)) {
  test(`what is of another type is refused, or dropped where it was stored: ${name}`, () => {
    assert.throws(() => coerceEmbedded({ t: value }, schema), { message });
    assert.throws(() => coerceEmbedded({ t: value }, schema), TypedFormError);
    assert.deepEqual(coerceEmbedded({ t: value }, schema, { dropsInvalid: true }).object, { t: dropped });
  });
}
