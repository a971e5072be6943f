// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { SourceMap } from "node:module";
import { test } from "node:test";
import fc from "fast-check";
import { functionProject, functionSource } from "../../test/function-project.ts";
import { bundleFunction, decodeMappings, encodeMappings, type Segment } from "./bundle-function.ts";

test("the same sources give the same bundle, wherever they are", async () => {
  using one = functionProject({ "fn.ts": functionSource("hello") });
  using two = functionProject({ "fn.ts": functionSource("hello") });
  const [first, second] = [await bundleFunction(`${one.path}/fn.ts`), await bundleFunction(`${two.path}/fn.ts`)];
  assert.ok(Buffer.from(first.code).equals(Buffer.from(second.code)));
  assert.deepEqual(first.warnings, []);
  assert.ok(!Buffer.from(first.code).includes(one.path), "no path of this machine");
});

const refused: { what: string; files: Record<string, string>; problem: RegExp }[] = [
  { what: "a file that is not there", files: {}, problem: /fn\.ts: no such file/ },
  { what: "broken syntax", files: { "fn.ts": "export default (" }, problem: /fn\.ts cannot be bundled: fn\.ts:1:17: / },
  {
    what: "an import of nothing",
    files: { "fn.ts": 'import "./missing.ts"; export default 1;' },
    problem: /cannot be bundled: fn\.ts:1:8: Could not resolve "\.\/missing\.ts"/,
  },
];

for (const { what, files, problem } of refused) {
  test(`refused: ${what}`, async () => {
    using project = functionProject(files);
    await assert.rejects(bundleFunction(`${project.path}/fn.ts`), problem);
  });
}

const plain = { noNullPrototype: true };
const number = fc.nat({ max: 100_000 });
const original = fc.option(fc.record({ source: fc.nat({ max: 2 }), line: number, column: number }, plain), {
  nil: undefined,
});
const line = fc
  .uniqueArray(fc.record({ column: number, original }, plain), { selector: ({ column }) => column, maxLength: 8 })
  .map((segments): Segment[] => segments.toSorted((a, b) => a.column - b.column));
const lines = fc.array(line, { minLength: 1, maxLength: 5 });

test("mappings are read as they were written", () => {
  fc.assert(fc.property(lines, (all) => assert.deepEqual(decodeMappings(encodeMappings(all)), all)));
});

test("Node reads the same places from them", () => {
  fc.assert(
    fc.property(lines, (all) => {
      const sources = ["a.ts", "b.ts", "c.ts"];
      const payload = { file: "", version: 3, sources, sourcesContent: [], names: [], sourceRoot: "" };
      const map = new SourceMap({ ...payload, mappings: encodeMappings(all) });
      for (const [at, segments] of all.entries()) {
        for (const { column, original: from } of segments) {
          if (from === undefined) continue;
          const { originalSource, originalLine, originalColumn } = map.findEntry(at, column) as Record<string, unknown>;
          assert.deepEqual(
            [originalSource, originalLine, originalColumn],
            [sources[from.source], from.line, from.column],
          );
        }
      }
    }),
  );
});
