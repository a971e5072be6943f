// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  create,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  maxMessageDepth,
  Resource,
  RunFunctionResponse,
  State,
  Struct,
} from "@purlin/function-protocol";
import fc from "fast-check";
import { defaultAnswerLimits, measureStruct, problemOf } from "./check-answer.ts";

/** How many messages lie inside one another: every member is an entry and a value, every item a value. */
function depthOf(object: JsonObject): number {
  const members = Object.values(object).map((member) => 2 + depthOfValue(member));
  return 1 + Math.max(0, ...members);
}

function depthOfValue(value: JsonValue): number {
  if (Array.isArray(value)) return 1 + Math.max(0, ...value.map((item) => 1 + depthOfValue(item)));
  return isJsonObject(value) ? depthOf(value) : 0;
}

const json = fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 6 }), { minKeys: 1, maxKeys: 5 });

test("the depth that is measured without decoding is the depth of the object", () => {
  fc.assert(
    fc.property(json, (object) => {
      const { bytes } = Struct.from(object);
      const depth = depthOf(object as JsonObject);
      assert.equal(measureStruct(bytes, { depth, values: 1e6 }), undefined);
      assert.equal(measureStruct(bytes, { depth: depth - 1, values: 1e6 }), "depth");
    }),
  );
});

/** Members and items, at every level. */
function valuesIn(value: JsonValue): number {
  const inner = Array.isArray(value) ? value : isJsonObject(value) ? Object.values(value) : [];
  return inner.reduce<number>((sum, one) => sum + 1 + valuesIn(one), 0);
}

test("the values that are counted without decoding are those of the object", () => {
  fc.assert(
    fc.property(json, (object) => {
      const { bytes } = Struct.from(object);
      const values = valuesIn(object as JsonObject);
      assert.equal(measureStruct(bytes, { depth: 100, values }), undefined);
      assert.equal(measureStruct(bytes, { depth: 100, values: values - 1 }), "values");
    }),
  );
});

test("fields that are not part of a Struct count, however many", () => {
  const bytes = new Uint8Array(20_000).map((_, index) => (index % 2 === 0 ? 0x18 : 0));
  assert.equal(measureStruct(bytes, { depth: 100, values: 1000 }), "values");
  assert.equal(measureStruct(bytes, { depth: 100, values: 3000 }), undefined);
});

test("malformed bytes are not too deep: the decoder reports what is wrong", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), fc.integer({ min: 200, max: 400 }), (bytes, limit) => {
      assert.equal(measureStruct(bytes, { depth: limit, values: limit }), undefined);
    }),
  );
});

function chain(levels: number): Struct {
  let object: JsonObject = {};
  for (let level = 0; level < levels; level++) object = { a: object };
  return Struct.from(object);
}

/** Deeper than can be encoded, so it is put together from an encoded object and what goes around it. */
function tooDeep(): Struct {
  let { bytes } = chain(Math.floor((maxMessageDepth - 1) / 3));
  const varint = (size: number): number[] =>
    size < 0x80 ? [size] : [(size & 0x7f) | 0x80, ...varint(Math.floor(size / 128))];
  for (const tag of [0x2a, 0x12, 0x0a]) bytes = Uint8Array.from([tag, ...varint(bytes.length), ...bytes]);
  return Struct.fromBytes(bytes);
}

const resource = (struct: Struct): Resource => create(Resource, { resource: struct });
const places: Readonly<Record<string, { response: Partial<RunFunctionResponse>; want: string | undefined }>> = {
  Composite: {
    response: { desired: create(State, { composite: resource(tooDeep()) }) },
    want: "desired.composite.resource",
  },
  Resource: {
    response: {
      desired: create(State, {
        resources: new Map([
          ["ok", resource(chain(3))],
          ['a"b', resource(tooDeep())],
        ]),
      }),
    },
    want: 'desired.resources["a\\"b"].resource',
  },
  Context: { response: { context: tooDeep() }, want: "context" },
  Output: { response: { output: tooDeep() }, want: "output" },
  DeepButReadable: { response: { output: chain(Math.floor((maxMessageDepth - 1) / 3)) }, want: undefined },
  LargeButFlat: { response: { output: Struct.from({ text: "x".repeat(100_000) }) }, want: undefined },
  Nothing: { response: {}, want: undefined },
};

for (const [name, { response, want }] of Object.entries(places)) {
  test(`what is nested too deeply in a response is named: ${name}`, async () => {
    const problem = await problemOf(create(RunFunctionResponse, response), defaultAnswerLimits);
    assert.equal(problem?.text, want && `the function's answer is nested too deeply in ${want}`);
  });
}
