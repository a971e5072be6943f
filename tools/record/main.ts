// SPDX-License-Identifier: Apache-2.0
// Records the test data that came from real peers again: `npm run record -- [SUBJECT…] [--check] [--sample=0.1] [--seed=N]`.
// A subject is a name such as `cel`, or a part of a file's path. `--check` writes nothing and fails when an answer has changed.
import { readFileSync, writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { compareEntries, sampleOf } from "./check.ts";
import { Peers } from "./peers.ts";
import type { Recording } from "./recording.ts";
import { allRecordings } from "./recordings.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    check: { type: "boolean", default: false },
    sample: { type: "string", default: "1" },
    seed: { type: "string", default: String(Math.floor(Math.random() * 2 ** 31)) },
  },
});
const share = Number(values.sample);
const seed = Number(values.seed);
if (!(share > 0 && share <= 1) || !Number.isSafeInteger(seed))
  fail("--sample is a number in (0, 1], --seed an integer");
if (share < 1 && !values.check) fail("--sample needs --check: a recording is made whole or not at all");

const isSelected = ({ subject, file, isOnRequest = false }: Recording): boolean =>
  positionals.length === 0 ? !isOnRequest : positionals.some((word) => word === subject || file.includes(word));
const selected = allRecordings.filter(isSelected);
if (selected.length === 0) {
  const subjects = [...new Set(allRecordings.map(({ subject }) => subject))];
  fail(`nothing matches ${positionals.join(" ")}: expected ${subjects.join(", ")} or part of a file's path`);
}

function fail(message: string): never {
  console.error(message);
  process.exit(2);
}

async function record(recording: Recording, peers: Peers): Promise<void> {
  const previous = readFileSync(recording.file, "utf8");
  const before = recording.parse(previous);
  const after = await recording.answer(before, peers);
  const differences = compareEntries(recording, before, after);
  if (differences.length > 0) writeFileSync(recording.file, recording.print(after, previous));
  console.log(`${recording.file}: ${after.length} answers, ${differences.length} changed`);
}

async function check(recording: Recording, peers: Peers): Promise<boolean> {
  const all = recording.parse(readFileSync(recording.file, "utf8"));
  const asked = recording.isSequence ? all : sampleOf(all, share, seed);
  const differences = compareEntries(recording, asked, await recording.answer(asked, peers));
  console.log(`${recording.file}: ${asked.length} of ${all.length} asked, ${differences.length} differ`);
  for (const difference of differences) console.log(difference);
  return differences.length === 0;
}

const peers = new Peers();
try {
  if (values.check) console.log(`Checking a share of ${share} with --seed=${seed}.`);
  for (const recording of selected) {
    if (!values.check) await record(recording, peers);
    else if (!(await check(recording, peers))) process.exitCode = 1;
  }
} finally {
  await peers.stop();
}
