// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { functionProject, functionSource } from "../testing/function-project.ts";
import { bundleFunction } from "./bundle-function.ts";

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
