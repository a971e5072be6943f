// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { readYaml } from "./yaml-body.ts";

// Answers of kube-apiserver 1.36.3 to bodies that are not YAML.
const texts: Readonly<Record<string, string>> = {
  "{": "yaml: line 1: did not find expected node content",
  "[": "yaml: line 1: did not find expected node content",
  "{a: b": "yaml: line 1: did not find expected ',' or '}'",
  "[a": "yaml: line 1: did not find expected ',' or ']'",
  "a: [b, c": "yaml: line 1: did not find expected ',' or ']'",
  "a: {b: [c], d": "yaml: line 1: did not find expected ',' or '}'",
  "a: b: c": "yaml: mapping values are not allowed in this context",
  "x: 1\na: b: c\n": "yaml: line 2: mapping values are not allowed in this context",
  "a: 'x": "yaml: found unexpected end of stream",
  'x: 1\na: "x': "yaml: line 2: found unexpected end of stream",
  'a: "\\q"': "yaml: found unknown escape character",
  "a: *b": "yaml: unknown anchor 'b' referenced",
  "x: 1\na: *b": "yaml: unknown anchor 'b' referenced",
  "a: >9x\n": "yaml: did not find expected comment or line break",
  "!<x": "yaml: did not find the expected '>'",
  "\u0000": "yaml: control characters are not allowed",
  "a: \u0001": "yaml: control characters are not allowed",
  "<<: 5": "yaml: map merge requires map or sequence of maps as the value",
  "a: .nan": "json: unsupported value: NaN",
  "a: .inf": "json: unsupported value: +Inf",
  "a: -.inf": "json: unsupported value: -Inf",
};

for (const [text, want] of Object.entries(texts)) {
  test(`not YAML: ${JSON.stringify(text)}`, () => {
    assert.throws(() => readYaml(text), { message: `error converting YAML to JSON: ${want}` });
  });
}
