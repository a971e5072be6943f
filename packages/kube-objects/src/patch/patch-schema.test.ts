// SPDX-License-Identifier: Apache-2.0
// What a schema says about merging its fields, and the texts of patches that do not fit it.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { StatusError } from "../errors/status-error.ts";
import { badRequest } from "../errors/status-error-constructors.ts";
import type { JsonObject, JsonValue } from "../json/json-value.ts";
import {
  asPatchFailure,
  badDirective,
  badType,
  fieldMeta,
  itemKind,
  listMeta,
  listOfLists,
  noMergeKey,
  type PatchSchema,
  patchSchemaOf,
  unknownDirective,
} from "./patch-schema.ts";

const components: Readonly<Record<string, JsonObject>> = {
  "io.k8s.api.core.v1.Container": { type: "object", properties: { name: { type: "string" } } },
  "io.k8s.api.core.v1.PodSpec": {
    type: "object",
    properties: {
      containers: {
        type: "array",
        items: { allOf: [{ $ref: "#/components/schemas/io.k8s.api.core.v1.Container" }], default: {} },
        "x-kubernetes-patch-merge-key": "name",
        "x-kubernetes-patch-strategy": "merge",
      },
    },
  },
};
const schemaOf = (schema: JsonObject): PatchSchema => patchSchemaOf(schema, (name) => components[name]);
const object = (properties: JsonObject): PatchSchema => schemaOf({ type: "object", properties });
const podSpec = schemaOf({ $ref: "#/components/schemas/io.k8s.api.core.v1.PodSpec" });

describe("fields", () => {
  const strategies: readonly (readonly [written: JsonValue | undefined, strategy: string])[] = [
    [undefined, ""],
    ["merge", "merge"],
    ["replace", "replace"],
    ["retainKeys", ""],
    ["merge,retainKeys", "merge"],
    ["retainKeys,merge", "merge"],
    [5, ""],
  ];
  for (const [written, strategy] of strategies) {
    test(`the strategy ${JSON.stringify(written)} is ${JSON.stringify(strategy)}`, () => {
      const field = written === undefined ? {} : { "x-kubernetes-patch-strategy": written };
      assert.equal(fieldMeta(object({ a: field }), "a").strategy, strategy);
    });
  }

  test("the merge key, and none", () => {
    const schema = object({ a: { "x-kubernetes-patch-merge-key": "name" }, b: {} });
    assert.equal(fieldMeta(schema, "a").mergeKey, "name");
    assert.equal(fieldMeta(schema, "b").mergeKey, "");
  });

  test("a field that is not declared names the type", () => {
    assert.throws(() => fieldMeta(podSpec, "nope"), {
      message: 'unable to find api field in struct PodSpec for the json field "nope"',
    });
    assert.throws(() => fieldMeta(podSpec, "toString"), /in struct PodSpec for the json field "toString"$/);
  });

  test("a map has no fields", () => {
    assert.throws(() => fieldMeta(schemaOf({ type: "object", additionalProperties: { type: "string" } }), "a"), {
      message: "merging an object in json but data type is not struct, instead is: map",
    });
  });
});

describe("references", () => {
  test("a reference is followed, and names the type by its last part", () => {
    assert.equal(podSpec.name, "PodSpec");
    assert.equal(podSpec.schema, components["io.k8s.api.core.v1.PodSpec"]);
  });

  test("a reference in allOf is followed too", () => {
    const { field, mergeKey, strategy } = listMeta(podSpec, "containers");
    assert.deepEqual(
      { name: field.name, mergeKey, strategy },
      { name: "Container", mergeKey: "name", strategy: "merge" },
    );
    assert.equal(field.schema, components["io.k8s.api.core.v1.Container"]);
  });

  test("a reference to what does not exist is refused", () => {
    assert.throws(() => schemaOf({ $ref: "#/components/schemas/a.b.Nope" }), {
      message: "schema error: no type found matching: a.b.Nope",
    });
  });

  test("a list without items has a schema without fields", () => {
    assert.deepEqual(listMeta(object({ l: { type: "array" } }), "l").field.schema, {});
  });
});

describe("what messages call things", () => {
  test("items of a list", () => {
    assert.equal(itemKind(schemaOf({ type: "object" })), "struct");
    assert.equal(itemKind(schemaOf({ type: "string" })), "string");
    assert.equal(itemKind(schemaOf({})), "");
  });

  const wrongTypes: readonly (readonly [JsonValue, string])[] = [
    ["a", "string"],
    [true, "bool"],
    [1, "int64"],
    [1.5, "float64"],
    [[], "[]interface {}"],
    [{}, "map[string]interface {}"],
    [null, "%!s(<nil>)"],
  ];
  for (const [value, name] of wrongTypes) {
    test(`a value of the wrong type: ${JSON.stringify(value)}`, () => {
      assert.equal(badType("map", value).message, `expected a map[string]interface {}, but received a ${name}`);
      assert.equal(badType("list", value).message, `expected a []interface {}, but received a ${name}`);
    });
  }

  test("an item without its merge key", () => {
    assert.equal(
      noMergeKey({ b: 1, a: "x" }, "name").message,
      "map: map[a:x b:1] does not contain declared merge key: name",
    );
  });

  test("a directive that does not exist", () => {
    const text = (directive: JsonValue): string => unknownDirective(directive, { a: 1 }).message;
    assert.equal(text("nope"), "unknown patch type: nope in map: map[a:1]");
    assert.equal(text(5), "unknown patch type: %!s(int64=5) in map: map[a:1]");
    assert.equal(text(true), "unknown patch type: %!s(bool=true) in map: map[a:1]");
    assert.equal(text(null), "unknown patch type: %!s(<nil>) in map: map[a:1]");
  });
});

describe("what a failure is answered with", () => {
  test("a directive of the wrong form is a bad request", () => {
    const { code, message } = badDirective("retainKeys").status;
    assert.deepEqual({ code, message }, { code: 400, message: "invalid patch format of retainKeys" });
  });

  test("a list of lists cannot be processed", () => {
    const { code, reason, message } = listOfLists().status;
    assert.deepEqual(
      { code, reason, message },
      { code: 422, reason: "Invalid", message: "the server rejected our request due to an error in our request" },
    );
  });

  test("a status stays, also inside another error", () => {
    const status = badRequest("x");
    assert.equal(asPatchFailure(status), status);
    assert.equal(asPatchFailure(new Error("outer", { cause: status })), status);
  });

  test("other errors are 500 with their text", () => {
    const cause = new Error("text");
    const failure = asPatchFailure(cause);
    assert.ok(failure instanceof StatusError);
    assert.deepEqual([failure.status.code, failure.status.message, failure.cause], [500, "text", cause]);
    assert.equal(asPatchFailure("plain").status.message, "plain");
  });
});
