// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { parseFieldPath } from "./yaml-position.ts";

const cases: Record<string, { readonly path: string; readonly segments: readonly (string | number)[] }> = {
  Empty: { path: "", segments: [] },
  Members: { path: "observed.composite.resource", segments: ["observed", "composite", "resource"] },
  Index: { path: "meta.capabilities[1]", segments: ["meta", "capabilities", 1] },
  Quoted: { path: 'data["a.b"].c["say \\"hi\\""][0]', segments: ["data", "a.b", "c", 'say "hi"', 0] },
  QuotedFirst: { path: '["a/b"].c', segments: ["a/b", "c"] },
  Dash: { path: "spec.my-field", segments: ["spec", "my-field"] },
  ControlCharacter: { path: 'a["\u0000"].b', segments: ["a"] },
  BrokenEnd: { path: "a.b[", segments: ["a", "b"] },
};
for (const [name, { path, segments }] of Object.entries(cases)) {
  test(`field paths: ${name}`, () => assert.deepEqual(parseFieldPath(path), segments));
}
