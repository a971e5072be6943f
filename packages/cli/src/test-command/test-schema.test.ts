// SPDX-License-Identifier: Apache-2.0
// The JSON Schema of test files: it has the fields that files are read with, refuses all others, and says what each is for.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { tempFolder } from "@purlin/base/testing/temp-folder";
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "@purlin/kube-objects/json";
import { TestIo } from "../../test/test-io.ts";
import { readTestFile } from "./test-file.ts";
import { type TestKind, testApiVersion, testFields, testFileSchema, testKinds } from "./test-schema.ts";

const at = (value: JsonValue | undefined, ...path: readonly (string | number)[]): JsonValue | undefined =>
  path.reduce<JsonValue | undefined>((found, key) => {
    if (isJsonArray(found)) return found[Number(key)];
    return isJsonObject(found) ? found[String(key)] : undefined;
  }, value);

const schemaOf = (kind: TestKind): JsonObject => {
  const found = at(testFileSchema(), "oneOf", testKinds.indexOf(kind));
  return isJsonObject(found) ? found : assert.fail(kind);
};

/** Every schema in a schema, with its path. */
function* schemasIn(
  value: JsonValue | undefined,
  path: string,
): Generator<readonly [path: string, schema: JsonObject]> {
  if (!isJsonObject(value)) return;
  yield [path, value];
  const { properties, items, additionalProperties } = value;
  for (const [name, one] of Object.entries(isJsonObject(properties) ? properties : {})) {
    yield* schemasIn(one, `${path}.${name}`);
  }
  yield* schemasIn(items, `${path}[]`);
  yield* schemasIn(additionalProperties, `${path}.*`);
}

for (const kind of testKinds) {
  describe(`the schema of ${kind}`, () => {
    const schema = schemaOf(kind);

    test("names its apiVersion and kind, and needs both with the spec", () => {
      assert.deepEqual(at(schema, "properties", "apiVersion"), { const: testApiVersion });
      assert.deepEqual(at(schema, "properties", "kind"), { const: kind });
      assert.deepEqual(schema["required"], ["apiVersion", "kind", "spec"]);
      assert.deepEqual(at(schema, "properties", "spec", "required"), ["cases"]);
      assert.deepEqual(at(schema, "properties", "spec", "properties", "cases", "items", "required"), ["name"]);
    });

    test("refuses fields that it does not list, wherever it lists some", () => {
      for (const [path, one] of schemasIn(schema, kind)) {
        if (one["properties"] !== undefined) assert.equal(one["additionalProperties"], false, path);
      }
    });

    test("says of every field what it is for, in a sentence", () => {
      const isBare = (path: string): boolean => /\[\]$|\.\*$|\.(apiVersion|kind)$/.test(path);
      for (const [path, { description }] of schemasIn(schema, kind)) {
        if (isBare(path)) continue;
        assert.match(String(description), /^[A-Z].+\.$/, path);
      }
    });

    test("has the same fields in all places where inputs and expectations are", () => {
      const names = (...path: readonly string[]): string[] => Object.keys((at(schema, ...path) ?? {}) as JsonObject);
      const fields = testFields[kind];
      const one = ["properties", "spec", "properties", "cases", "items", "properties"];
      assert.deepEqual(names("properties", "spec", "properties", "inputs", "properties"), Object.keys(fields.inputs));
      assert.deepEqual(names(...one, "inputs", "properties"), Object.keys(fields.inputs));
      assert.deepEqual(names(...one, "expect", "properties"), Object.keys(fields.expect));
      assert.deepEqual(
        names(...one, "each", "items", "properties", "expect", "properties"),
        Object.keys(fields.expect),
      );
      const reconcile = [...one, "reconciles", "items", "properties"];
      assert.deepEqual(names(...reconcile, "expect", "properties"), Object.keys(fields.expect));
      assert.deepEqual(names(...reconcile, "change", "properties"), Object.keys(fields.change));
    });
  });
}

describe("a test file", () => {
  const read = async (kind: TestKind, spec: object) => {
    const file = { apiVersion: testApiVersion, kind, spec };
    using folder = tempFolder({ "a.test.yaml": JSON.stringify(file) });
    return await readTestFile("a.test.yaml", new TestIo({ cwd: folder.path }));
  };

  for (const kind of testKinds) {
    test(`of ${kind} may have every expectation and input of the schema`, async () => {
      const { inputs, expect } = testFields[kind];
      for (const name of Object.keys(inputs)) {
        const value = name === "context" ? {} : name === "asCrossplane" ? at(inputs[name], "enum", 0) : "file.yaml";
        await read(kind, { inputs: { [name]: value }, cases: [{ name: "a" }] });
      }
      for (const [name, schema] of Object.entries(expect)) {
        const { type } = schema;
        const value = { boolean: true, integer: 1, array: [], object: {}, string: "text" }[
          String(isJsonArray(type) ? type[0] : type)
        ];
        await read(kind, { cases: [{ name: "a", expect: { [name]: value ?? {} } }] });
      }
    });

    test(`of ${kind} with a field that the schema does not have is refused with its place`, async () => {
      await assert.rejects(read(kind, { cases: [{ name: "a", expect: { nonsense: 1 } }] }), {
        name: "UserError",
        message: /^a\.test\.yaml:1:\d+: .*nonsense/,
      });
      await assert.rejects(read(kind, { inputs: { nonsense: "x" }, cases: [{ name: "a" }] }), /nonsense/);
    });
  }
});
