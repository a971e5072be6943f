// SPDX-License-Identifier: Apache-2.0
// What Kubernetes' own libraries answered to the same questions; recorded by `npm run record -- schemas`.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { parseJson } from "../json/json-text.ts";
import type { JsonObject, JsonValue } from "../json/json-value.ts";
import { checkSchema, findUnknownFields } from "./check-schema.ts";

interface Recorded {
  readonly reason: string;
  readonly schema: JsonObject;
  readonly value: JsonValue;
  readonly errors: readonly { readonly field: string; readonly type: string; readonly body: string }[];
  readonly unknown?: readonly string[];
}

const url = new URL("./testdata/reference-answers.jsonl", import.meta.url);
const [, ...lines] = readFileSync(url, "utf8").trimEnd().split("\n");
const recorded = lines.map((line) => parseJson(line) as unknown as Recorded);

// The reference walks objects in random order; only the set of findings is fixed.
const inOrder = (findings: Recorded["errors"]): string[] =>
  findings.map(({ field, type, body }) => `${field} | ${type} | ${body}`).sort();

for (const { reason, schema, value, errors, unknown } of recorded) {
  test(`answered as by the reference: ${reason}`, () => {
    assert.deepEqual(inOrder(checkSchema(value, schema)), inOrder(errors));
    if (unknown)
      assert.deepEqual(
        findUnknownFields(value, schema).map(({ path }) => path),
        unknown,
      );
  });
}

test("the recording covers every kind of finding", () => {
  const types = new Set(recorded.flatMap(({ errors }) => errors.map(({ type }) => type)));
  assert.deepEqual([...types].sort(), [
    "FieldValueDuplicate",
    "FieldValueInvalid",
    "FieldValueNotSupported",
    "FieldValueRequired",
    "FieldValueTooLong",
    "FieldValueTooMany",
    "FieldValueTypeInvalid",
  ]);
});
