// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { finish } from "@purlin/base";
import type { JsonObject } from "@purlin/kube-objects/json";
import { swaggerProtobuf as encoding } from "./swagger-protobuf.ts";

const swaggerProtobuf = (document: JsonObject): Uint8Array => finish(encoding(document));

/** A message as its fields in the order of the wire: number and value, bytes not looked into. */
function fieldsOf(bytes: Uint8Array): [number, bigint | number | Buffer][] {
  const buffer = Buffer.from(bytes);
  const fields: [number, bigint | number | Buffer][] = [];
  let at = 0;
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = buffer[at++] ?? 0;
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  };
  while (at < buffer.length) {
    const tag = Number(varint());
    const number = tag >> 3;
    if ((tag & 7) === 0) fields.push([number, varint()]);
    else if ((tag & 7) === 1) {
      fields.push([number, buffer.readDoubleLE(at)]);
      at += 8;
    } else {
      const length = Number(varint());
      fields.push([number, buffer.subarray(at, at + length)]);
      at += length;
    }
  }
  return fields;
}

/** What is found by going down by field numbers, the first of each. */
function at(bytes: Uint8Array, ...path: number[]): bigint | number | Buffer | undefined {
  let found: bigint | number | Buffer | undefined = Buffer.from(bytes);
  for (const number of path) {
    found = Buffer.isBuffer(found) ? fieldsOf(found).find(([one]) => one === number)?.[1] : undefined;
  }
  return found;
}

const text = (bytes: Uint8Array, ...path: number[]): string | undefined => at(bytes, ...path)?.toString();
const schema = (definition: JsonObject): Uint8Array => swaggerProtobuf({ definitions: { A: definition } });
const inSchema = [9, 1, 2];

const members: Record<string, { schema: JsonObject; path: number[]; want: bigint | number | string }> = {
  "a reference": { schema: { $ref: "#/definitions/B" }, path: [1], want: "#/definitions/B" },
  "a format": { schema: { format: "int32" }, path: [2], want: "int32" },
  "a type": { schema: { type: "object" }, path: [22, 1], want: "object" },
  "a fraction": { schema: { maximum: 1.5 }, path: [7], want: 1.5 },
  "a length": { schema: { maxLength: 300 }, path: [11], want: 300n },
  "a switch": { schema: { exclusiveMinimum: true }, path: [10], want: 1n },
  "a required name": { schema: { required: ["x", "y"] }, path: [19], want: "x" },
  "a value of a list of values": { schema: { enum: ["x"] }, path: [20, 2], want: '"x"\n' },
  "a schema of members": { schema: { additionalProperties: { type: "string" } }, path: [21, 1, 22, 1], want: "string" },
  "any members": { schema: { additionalProperties: true }, path: [21, 2], want: 1n },
  "a schema of items": { schema: { items: { type: "string" } }, path: [23, 1, 22, 1], want: "string" },
  "the name of a property": { schema: { properties: { p: { type: "string" } } }, path: [25, 1, 1], want: "p" },
  "the schema of a property": {
    schema: { properties: { p: { type: "string" } } },
    path: [25, 1, 2, 22, 1],
    want: "string",
  },
  "the name of an extension": {
    schema: { "x-kubernetes-map-type": "atomic" },
    path: [31, 1],
    want: "x-kubernetes-map-type",
  },
  "the value of an extension": { schema: { "x-kubernetes-map-type": "atomic" }, path: [31, 2, 2], want: '"atomic"\n' },
  "a link": { schema: { externalDocs: { url: "https://example.org" } }, path: [29, 2], want: "https://example.org" },
};

for (const [name, { schema: definition, path, want }] of Object.entries(members)) {
  test(`the schema with ${name}`, () => {
    const found = at(schema(definition), ...inSchema, ...path);
    assert.equal(Buffer.isBuffer(found) ? found.toString() : found, want);
  });
}

test("paths, operations, parameters and answers are where Go looks for them", () => {
  const parameters = [
    { name: "body", in: "body", required: true, schema: { $ref: "#/definitions/A" } },
    { name: "dryRun", in: "query", type: "string", uniqueItems: true },
    { name: "name", in: "path", type: "string", required: true },
  ];
  const bytes = swaggerProtobuf({
    swagger: "2.0",
    info: { title: "Kubernetes", version: "1.36" },
    paths: {
      "/a": {
        patch: {
          operationId: "patchA",
          parameters,
          responses: { "200": { description: "OK", schema: { $ref: "#/definitions/A" } } },
        },
        parameters: [{ name: "pretty", in: "query", type: "string" }],
      },
    },
    security: [{ BearerToken: [] }],
    securityDefinitions: { BearerToken: { type: "apiKey", name: "authorization", in: "header" } },
  });
  assert.equal(text(bytes, 1), "2.0");
  assert.equal(text(bytes, 2, 2), "1.36");
  assert.equal(text(bytes, 8, 2, 1), "/a");
  const operation = at(bytes, 8, 2, 2, 8) as Buffer;
  assert.equal(text(operation, 5), "patchA");
  const [body, query, path] = fieldsOf(operation).flatMap(([number, value]) => (number === 8 ? [value as Buffer] : []));
  assert.equal(text(body ?? Buffer.alloc(0), 1, 1, 5, 1), "#/definitions/A");
  assert.equal(text(query ?? Buffer.alloc(0), 1, 2, 3, 4), "dryRun");
  assert.equal(text(path ?? Buffer.alloc(0), 1, 2, 4, 4), "name");
  assert.equal(at(path ?? Buffer.alloc(0), 1, 2, 4, 1), 1n);
  assert.equal(text(operation, 9, 1, 1), "200");
  assert.equal(text(operation, 9, 1, 2, 1, 2, 1, 1), "#/definitions/A");
  assert.equal(text(bytes, 8, 2, 2, 9, 1, 2, 3, 4), "pretty");
  assert.equal(text(bytes, 12, 1, 1), "BearerToken");
  assert.equal(text(bytes, 13, 1, 2, 2, 2), "authorization");
});

test("lengths of any size are in front of what they count", () => {
  for (const length of [0, 1, 127, 128, 16_383, 16_384, 200_000]) {
    const description = "ü".repeat(length / 2) + "x".repeat(length % 2);
    const bytes = schema({ description, properties: { p: { description } } });
    assert.equal(text(bytes, ...inSchema, 4), description);
    assert.equal(text(bytes, ...inSchema, 25, 1, 2, 4), description);
  }
});

test("integers beyond 2^53 are exact", () => {
  const bytes = schema({ maxLength: 9007199254740993n, enum: [9007199254740993n] });
  assert.equal(at(bytes, ...inSchema, 11), 9007199254740993n);
  assert.equal(text(bytes, ...inSchema, 20, 2), "9007199254740993\n");
});

test("a document is encoded a path and a definition at a time", () => {
  const names = ["A", "B", "C"];
  const definitions = Object.fromEntries(names.map((name) => [name, { type: "object" }]));
  const paths = Object.fromEntries(names.map((name) => [`/${name}`, { get: { operationId: name } }]));
  assert.equal([...encoding({ paths, definitions })].length, 6);
});
