// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject } from "@purlin/kube-objects/json";
import { shapeProblems, transformedType } from "./patch-checks.ts";

const problems = (patch: JsonObject): string[] =>
  shapeProblems(patch).map(({ path, text }) => `${path.join(".")}: ${text}`);
const withTransform = (...transforms: JsonObject[]): JsonObject => ({ fromFieldPath: "a", transforms });

test("each type of patch needs its fields", () => {
  for (const type of [
    "FromCompositeFieldPath",
    "ToCompositeFieldPath",
    "FromEnvironmentFieldPath",
    "ToEnvironmentFieldPath",
  ]) {
    assert.deepEqual(problems({ type, fromFieldPath: "a" }), [], type);
    assert.deepEqual(problems({ type, toFieldPath: "a" }), [`: a patch of type ${type} needs fromFieldPath`]);
  }
  for (const type of ["CombineFromComposite", "CombineToComposite", "CombineFromEnvironment", "CombineToEnvironment"]) {
    assert.deepEqual(problems({ type, combine: {}, toFieldPath: "a" }), [], type);
    assert.deepEqual(problems({ type }), [
      `: a patch of type ${type} needs combine`,
      `: a patch of type ${type} needs toFieldPath`,
    ]);
  }
  assert.deepEqual(problems({ type: "PatchSet", patchSetName: "a" }), []);
  assert.deepEqual(problems({ type: "PatchSet" }), [": a patch of type PatchSet needs patchSetName"]);
  assert.deepEqual(
    problems({}),
    [": a patch of type FromCompositeFieldPath needs fromFieldPath"],
    "the type of a patch without one",
  );
});

test("an unknown type is reported with the closest one, or all of them", () => {
  assert.deepEqual(problems({ type: "FromCompositeFieldPaths" }), [
    "type: unknown patch type FromCompositeFieldPaths: did you mean FromCompositeFieldPath?",
  ]);
  assert.deepEqual(problems(withTransform({ type: "x-y-z" })), [
    "transforms.0.type: unknown transform type x-y-z: expected one of convert, map, match, math, string",
  ]);
  assert.deepEqual(problems(withTransform({ type: "string", string: { type: "Fromat" } })), [
    "transforms.0.string.type: unknown string transform Fromat: did you mean Format?",
  ]);
  assert.deepEqual(problems(withTransform({ type: "convert", convert: { toType: "integer" } })), [
    "transforms.0.convert.toType: unknown type to convert to integer: expected one of string, int, int64, bool, float64, object, array",
  ]);
  assert.deepEqual(problems(withTransform({})), [
    "transforms.0.type: unknown transform type undefined: expected one of convert, map, match, math, string",
  ]);
});

test("names that every JavaScript object has are not types", () => {
  for (const patch of [
    { type: "constructor" },
    withTransform({ type: "toString" }),
    withTransform({ type: "convert", convert: { toType: "constructor" } }),
    withTransform({ type: "string", string: { type: "valueOf" } }),
  ] as JsonObject[]) {
    assert.match(problems(patch)[0] ?? "", /: unknown /, JSON.stringify(patch));
  }
});

test("a transform needs the member of its type", () => {
  for (const type of ["convert", "map", "match", "math", "string"]) {
    assert.deepEqual(problems(withTransform({ type })), [
      `transforms.0: a transform of type ${type} needs the field ${type}`,
    ]);
    assert.deepEqual(problems(withTransform({ type, [type]: "text" })), [
      `transforms.0: a transform of type ${type} needs the field ${type}`,
    ]);
  }
  assert.deepEqual(problems(withTransform({ type: "map", map: { a: "b" } }, { type: "math" })), [
    "transforms.1: a transform of type math needs the field math",
  ]);
});

test("a string transform needs the field of its type; without one, it formats", () => {
  const cases: Readonly<Record<string, string>> = {
    ...{ Format: "fmt", Convert: "convert", TrimPrefix: "trim", TrimSuffix: "trim", Regexp: "regexp", Join: "join" },
    Replace: "replace",
  };
  for (const [type, field] of Object.entries(cases)) {
    assert.deepEqual(problems(withTransform({ type: "string", string: { type, [field]: "x" } })), [], type);
    assert.deepEqual(problems(withTransform({ type: "string", string: { type } })), [
      `transforms.0.string: a string transform of type ${type} needs ${field}`,
    ]);
  }
  assert.deepEqual(problems(withTransform({ type: "string", string: { fmt: "%s" } })), []);
  assert.deepEqual(problems(withTransform({ type: "string", string: {} })), [
    "transforms.0.string: a string transform of type Format needs fmt",
  ]);
});

test("transforms that are not a list, or not objects, are left to the schema of the input", () => {
  assert.deepEqual(problems({ fromFieldPath: "a", transforms: "x" }), []);
  assert.deepEqual(problems({ fromFieldPath: "a", transforms: ["x"] }), []);
});

test("the type of a value follows its transforms", () => {
  const after = (source: string | undefined, ...transforms: JsonObject[]): string | undefined =>
    transformedType(withTransform(...transforms), source);
  const convert = (toType: string): JsonObject => ({ type: "convert", convert: { toType } });
  assert.equal(after("integer"), "integer");
  assert.equal(after("integer", { type: "string" }), "string");
  assert.equal(after("integer", { type: "math" }), "integer");
  assert.equal(after("string", { type: "map" }), undefined);
  assert.equal(after("string", { type: "match" }), undefined);
  for (const [toType, type] of Object.entries({
    int: "integer",
    int64: "integer",
    bool: "boolean",
    float64: "number",
    string: "string",
    object: "object",
    array: "array",
  }))
    assert.equal(after("string", convert(toType)), type, toType);
  assert.equal(after("string", { type: "map" }, convert("int"), { type: "math" }), "integer");
  assert.equal(after("string", convert("constructor")), undefined);
  assert.equal(after("string", { type: "convert" }), undefined);
  assert.equal(transformedType({ fromFieldPath: "a", transforms: ["x"] }, "string"), undefined);
});

test("what is combined is a string, whatever it is combined from", () => {
  assert.equal(transformedType({ combine: {} }, "integer"), "string");
  assert.equal(
    transformedType({ combine: {}, transforms: [{ type: "convert", convert: { toType: "int" } }] }, undefined),
    "integer",
  );
});
