// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { existsSync, globSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { compareEntries, sampleOf } from "./check.ts";
import type { Recording } from "./recording.ts";
import { allRecordings } from "./recordings.ts";

const entries = Array.from({ length: 200 }, (_, n) => ({ n }));

test("a seed chooses the same sample each time, about as large as asked, in order", () => {
  const sample = sampleOf(entries, 0.1, 7);
  assert.deepEqual(sampleOf(entries, 0.1, 7), sample);
  assert.notDeepEqual(sampleOf(entries, 0.1, 8), sample);
  assert.ok(sample.length > 5 && sample.length < 45, `${sample.length} of 200`);
  assert.deepEqual(
    sample,
    sample.toSorted((a, b) => Number(a["n"]) - Number(b["n"])),
  );
});

test("a sample is never empty, and a share of 1 is everything", () => {
  assert.equal(sampleOf(entries.slice(0, 1), 0.001, 1).length, 1);
  assert.deepEqual(sampleOf(entries, 1, 1), entries);
});

const recording: Recording = {
  subject: "x",
  file: "x",
  parse: () => [],
  print: () => "",
  answer: async () => [],
  comparable: ({ uid: _uid, ...rest }) => rest,
};

test("a changed answer is found and shown down to the member; what is not comparable is not", () => {
  assert.deepEqual(compareEntries(recording, [{ a: { b: 1 }, uid: "1" }], [{ a: { b: 1 }, uid: "2" }]), []);
  const [text = ""] = compareEntries(recording, [{ a: { b: 1 } }], [{ a: { b: 2 } }]);
  assert.match(text, /\.a\.b\n\s+recorded 1\n\s+now {6}2/);
  assert.equal(compareEntries(recording, [{ a: 1 }], []).length, 1);
});

for (const { subject, file, parse, print } of allRecordings) {
  test(`${file} (${subject}) survives being read and written`, () => {
    assert.ok(existsSync(file));
    const text = readFileSync(file, "utf8");
    const parsed = parse(text);
    assert.ok(parsed.length > 0);
    assert.deepEqual(parse(print(parsed, text)), parsed);
  });
}

/** Files that hold questions only: no peer has answered them. */
const questions = [
  "packages/cel/src/testdata/subject.json",
  "packages/composition/src/definition/testdata/app-definition.json",
  "packages/composition/src/definition/testdata/cache-definition.json",
  "packages/kube-objects/src/yaml/testdata/written.json",
  "packages/kube-objects/src/apply/testdata/widget-schemas.json",
];

test("every file of test data has a recorder, or holds questions only", () => {
  const files = globSync("packages/*/src/**/testdata/*.{json,jsonl,yaml}").sort();
  const recorded = new Set(allRecordings.map(({ file }) => file));
  const known = [...recorded, ...questions];
  assert.deepEqual(files, known.toSorted());
});
