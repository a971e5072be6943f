// SPDX-License-Identifier: Apache-2.0
// Random valid and near-valid objects of every built-in kind: both servers give the same answer. `npm run compare-kinds` asks more.
import assert from "node:assert/strict";
import { test } from "node:test";
import { readOptions } from "./harness/options.ts";
import { unexplained } from "./random-kinds/known-gaps.ts";
import { describeFindings } from "./random-kinds/report.ts";
import { compareRandomKinds } from "./random-kinds/run.ts";

const { seed, runs, only, referenceOnly } = readOptions(process.argv.slice(2), process.env);
const skip = only.length > 0 && !only.includes("random");
const requestsPerRun = 600;

test(`random objects of built-in kinds, from seed ${seed}`, { skip }, async () => {
  const findings = await compareRandomKinds({ seed, requests: requestsPerRun * runs, referenceOnly });
  const unknown = unexplained(findings);
  assert.equal(unknown.length, 0, `${unknown.length} answers differ\n${describeFindings(unknown, 10)}`);
});
