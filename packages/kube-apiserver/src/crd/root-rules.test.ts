// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { fieldErrorText } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import { rootProblems } from "./schema-rules.ts";

const problems = (schema: JsonObject): string[] => [...rootProblems(schema, "s")].map(fieldErrorText);

test("a root beside a status may say what holds for its fields alone", () => {
  const fine = { type: "object", description: "d", required: ["spec"], properties: { spec: { type: "object" } } };
  assert.deepEqual(problems(fine), []);
  assert.deepEqual(problems({ ...fine, "x-kubernetes-validations": [{ rule: "true" }] }), []);
  assert.deepEqual(problems({ ...fine, nullable: false, default: null }), [], "as good as absent");
});

test("a root of another type is refused for that alone", () => {
  const detail = 'only "object" is allowed as the type at the root of the schema if the status subresource is enabled';
  assert.deepEqual(problems({ type: "string", maxProperties: 1 }), [`s.type: Invalid value: "string": ${detail}`]);
});

for (const [member, value] of Object.entries({
  ...{ nullable: true, default: {}, enum: [1], maxProperties: 1, minProperties: 1 },
  ...{ allOf: [{}], oneOf: [{}], anyOf: [{}], not: {}, additionalProperties: true },
  ...{ "x-kubernetes-embedded-resource": true, "x-kubernetes-list-type": "set", "x-kubernetes-map-type": "atomic" },
})) {
  test(`a root beside a status may not have ${member}`, () => {
    const [problem = "", ...others] = problems({ type: "object", [member]: value });
    assert.match(
      problem,
      /^s: Invalid value: \{"ID":"",.*\}: only \[Description Type .* XValidations\] fields are allowed/,
    );
    assert.deepEqual(others, []);
  });
}
