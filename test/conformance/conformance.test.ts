// SPDX-License-Identifier: Apache-2.0
// Each case runs on the embedded server and on a real kube-apiserver: `npm run conformance`, or a part with
// `npm run conformance -- --only=watch`. Needs the peers: `npm run peers`.
import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { allCases } from "./cases/all-cases.ts";
import { type Case, namespaceOf } from "./harness/case.ts";
import { compareTranscripts, describeDifferences } from "./harness/compare.ts";
import { startEmbedded } from "./harness/embedded-server.ts";
import { prepareServer } from "./harness/fixtures.ts";
import { isWanted, readOptions } from "./harness/options.ts";
import { startReference } from "./harness/reference-server.ts";
import { runCase } from "./harness/run-case.ts";
import type { ServerUnderTest } from "./harness/server-under-test.ts";
import { judge } from "./harness/verdict.ts";
import { acceptedDifferences, notBuiltYet } from "./known-differences.ts";

const options = readOptions(process.argv.slice(2), process.env);
const cases = allCases.filter((one) => isWanted(one, options));
const known = options.referenceOnly ? [] : [...acceptedDifferences, ...notBuiltYet];

let ours: ServerUnderTest;
let theirs: ServerUnderTest;

before(async () => {
  [ours, theirs] = await Promise.all([options.referenceOnly ? startReference() : startEmbedded(), startReference()]);
  await Promise.all([prepareServer(ours), prepareServer(theirs)]);
});

after(() => Promise.all([ours?.stop(), theirs?.stop()]));

test("every case has a unique title, and every known difference names a case", () => {
  const names = allCases.map(({ title }) => title);
  assert.deepEqual([...new Set(names)], names);
  assert.equal(new Set(allCases.map(namespaceOf)).size, names.length);
  assert.deepEqual(
    known.map((entry) => entry.case).filter((name) => !names.includes(name)),
    [],
  );
});

test("the list of rules of admission names cases that exist", () => {
  const titles = new Set(allCases.map(({ title }) => title));
  const rows = readFileSync(join(import.meta.dirname, "admission.md"), "utf8").split("\n");
  const cells = rows.filter((row) => row.startsWith("| ")).map((row) => row.split("|").map((cell) => cell.trim()));
  const named = cells.filter(([, , rule = "", file = ""]) => rule !== "Rule" && !file.includes("/"));
  assert.deepEqual(
    named.map(([, , , , title = ""]) => title).filter((title) => !titles.has(title)),
    [],
  );
  const numbers = Object.entries({ W: 47, P: 28, C: 14, R: 24 }).flatMap(([letter, count]) =>
    Array.from({ length: count }, (_, index) => `${letter}${index + 1}`),
  );
  assert.deepEqual(
    cells.map(([, number = ""]) => number).filter((number) => /^[A-Z]\d/.test(number)),
    numbers,
  );
});

async function compareServers(one: Case): Promise<void> {
  const [mine, other] = await Promise.all([runCase(one, ours), runCase(one, theirs)]);
  if (options.transcripts !== undefined) save(options.transcripts, one, { ours: mine, theirs: other });
  const failure = other.find(({ asked }) => asked === "the case failed");
  assert.equal(failure, undefined, `the case does not work on the reference: ${String(failure?.answer)}`);
  const listed = known.filter((entry) => entry.case === one.title);
  const { unexpected, outdated } = judge(compareTranscripts(mine, other), listed);
  assert.equal(unexpected.length, 0, `${unexpected.length} differences\n${describeDifferences(unexpected)}`);
  assert.deepEqual(outdated, [], "these known differences no longer exist: remove them from the list");
}

function save(directory: string, one: Case, transcripts: object): void {
  mkdirSync(directory, { recursive: true });
  const raw = (_: string, value: unknown): unknown => (typeof value === "bigint" ? `${value}n` : value);
  writeFileSync(join(directory, `${namespaceOf(one)}.json`), `${JSON.stringify(transcripts, raw, 1)}\n`);
}

/** Those that wait begin first, and have places beside the others. */
function concurrent(title: string, wanted: readonly Case[]): void {
  const waiting = wanted.filter((one) => one.waits);
  const others = wanted.filter((one) => !one.waits);
  describe(title, { concurrency: waiting.length + 6 }, () => {
    for (const one of [...waiting, ...others]) test(one.title, () => compareServers(one));
  });
}

concurrent(
  "cases",
  cases.filter((one) => !one.alone),
);
concurrent(
  "cases that change the whole server",
  cases.filter((one) => one.alone),
);
