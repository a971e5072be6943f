// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { SourceMap } from "node:module";
import { test } from "node:test";
import fc from "fast-check";
import { decodeMappings, encodeMappings, type Segment } from "./source-map-mappings.ts";

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
