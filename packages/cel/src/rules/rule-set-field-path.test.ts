// SPDX-License-Identifier: Apache-2.0

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Schema } from "@purlin/kube-objects/schema";
import { RulePathError, resolveFieldPath } from "./rule-set.ts";

const text: Schema = { type: "string" };
const schema: Schema = {
  type: "object",
  properties: {
    spec: { type: "object", properties: { a: { type: "integer" }, "b.c": text } },
    tags: { type: "object", additionalProperties: text },
    any: { type: "object", additionalProperties: true },
  },
};

const found: Readonly<Record<string, readonly [path: string, type: string]>> = {
  ".spec": ["spec", "object"],
  ".spec.a": ["spec.a", "integer"],
  ".spec['b.c']": ["spec.b.c", "string"],
  ".tags.x": ["tags[x]", "string"],
  ".tags['x\\'y']": ["tags[x'y]", "string"],
};

for (const [path, want] of Object.entries(found)) {
  test(`a path that names a field: ${path}`, () => {
    const field = resolveFieldPath(path, schema);
    assert.deepEqual([field.path, field.schema.type], want);
  });
}

test("values of any kind can be named, but nothing inside them", () => {
  assert.equal(resolveFieldPath(".any.x", schema).path, "any[x]");
  assert.throws(() => resolveFieldPath(".any.x.y", schema), { message: "does not refer to a valid field" });
});

const refused: Readonly<Record<string, string>> = {
  spec: "expected [ or . but got: spec",
  ".": "unexpected end of JSON path",
  ".spec.": "unexpected end of JSON path",
  ".spec.nope": "does not refer to a valid field",
  ".spec.a.b": "does not refer to a valid field",
  ".spec[0]": "expected single quoted string but got 0",
  ".spec['a'": "unexpected end of JSON path",
  ".spec['a'.": "expected ] but got .",
  ".spec['\\x']": "invalid string literal: invalid escape char \\x",
};

for (const [path, message] of Object.entries(refused)) {
  test(`a path that names none: ${path}`, () => {
    assert.throws(() => resolveFieldPath(path, schema), { message });
    assert.throws(() => resolveFieldPath(path, schema), RulePathError);
  });
}

test("brackets can be forbidden", () => {
  assert.equal(resolveFieldPath(".spec.a", schema, { brackets: false }).path, "spec.a");
  assert.throws(() => resolveFieldPath(".spec['a']", schema, { brackets: false }), {
    message: "array notation is not allowed",
  });
});
