// SPDX-License-Identifier: Apache-2.0
// Runs one of the repository's test suites: `node tools/run-tests.ts unit|command|interop|clients|conformance|chaos|hostile|e2e [file…]`, options last.
// A word selects the files whose path contains it; `--test-…` goes to Node, any other option to the suite through the environment.
import { spawnSync } from "node:child_process";
import { availableParallelism } from "node:os";
import { builtCommand } from "./publish/built-command.ts";
import { failedGroupText, groupLine, summary } from "./test-runner/report.ts";
import { ownProcesses, runGroups, sharedProcess } from "./test-runner/schedule.ts";
import { type Suite, suites } from "./test-runner/suites.ts";
import type { Group, GroupResult, ProcessOptions } from "./test-runner/test-process.ts";

/**
 * What random properties draw from: every commit tries other values than the last, and the same commit the same ones wherever it
 * is tested. Set PROPERTY_SEED to try others.
 */
function propertySeed(): string {
  const { stdout } = spawnSync("git", ["rev-parse", "--short=7", "HEAD"], { encoding: "utf8" });
  const fromCommit = Number.parseInt(stdout ?? "", 16);
  return process.env["PROPERTY_SEED"] ?? String(Number.isNaN(fromCommit) ? 1 : fromCommit);
}

/** `--server=real` of the suite e2e becomes E2E_SERVER=real. */
function exportOptions(suiteName: string, options: readonly string[]): void {
  for (const option of options) {
    const [name = "", value = "1"] = option.slice(2).split("=");
    process.env[`${suiteName}_${name}`.toUpperCase().replaceAll("-", "_")] = value;
  }
}

/** Suites that start commands. Those of `hostile` also run as other users, who cannot read the built command. */
const spawning: ReadonlySet<string> = new Set(["unit", "command", "interop", "clients", "chaos", "e2e"]);

/** A whole suite starts the command as it is published, which loads in half the time; a selected file starts the sources. */
function commandToTest(): string | undefined {
  const named = options.find((option) => option.startsWith("--command="))?.slice("--command=".length);
  return named ?? (only.length === 0 && spawning.has(name) ? builtCommand() : undefined);
}

/** Functions of packages then run as on a machine without bubblewrap, by the product's own lookup. */
const withoutSandbox = { name: "PURLIN_SANDBOX", value: "none" } as const;

function fail(message: string): never {
  console.error(message);
  process.exit(2);
}

function selectSuite(name: string, words: readonly string[]): Suite {
  const suite = suites[name];
  if (!suite) fail(`unknown suite "${name}": expected one of ${Object.keys(suites).join(", ")}`);
  const selected = (file: string): boolean => words.some((word) => file.includes(word));
  const found = suite(words.length === 0 ? undefined : selected, availableParallelism());
  if (allGroups(found).length === 0) fail(`no test file matches ${words.join(" ") || `the ${name} suite`}`);
  return found;
}

const allGroups = ({ groups, alone = [] }: Suite): readonly Group[] => [...groups, ...alone];

/** Runs all groups, a few at a time, and prints each result as soon as it is there. */
async function runAll(suite: Suite, options: ProcessOptions): Promise<GroupResult[]> {
  const results: GroupResult[] = [];
  const total = allGroups(suite).length;
  const report = (result: GroupResult): void => {
    results.push(result);
    console.log(groupLine(result, results.length, total));
    if (result.failures.length > 0) console.log(failedGroupText(result));
  };
  const createRunner = suite.sharesProcesses === true ? sharedProcess : ownProcesses;
  await runGroups(suite, () => createRunner(options, report));
  return results;
}

const [name = "unit", ...words] = process.argv.slice(2);
const only = words.filter((word) => !word.startsWith("--"));
const options = words.filter((word) => word.startsWith("--"));
const selected = selectSuite(name, only);
// Figures that are measured by the clock have no neighbors.
const suite = options.includes("--quiet") ? { ...selected, atOnce: 1 } : selected;
exportOptions(
  name,
  options.filter((option) => !option.startsWith("--test-")),
);
process.env["PROPERTY_SEED"] = propertySeed();
const command = commandToTest();
if (command !== undefined) process.env["TEST_COMMAND"] = command;
if (options.includes("--sandbox=none")) process.env[withoutSandbox.name] = withoutSandbox.value;
const started = performance.now();
const groups = allGroups(suite);
const files = groups.reduce((sum, group) => sum + group.files.length, 0);
console.log(`Suite ${name}: ${files} files in ${groups.length} groups, ${suite.atOnce} at a time.`);
console.log(`Random properties draw from PROPERTY_SEED=${process.env["PROPERTY_SEED"]}.`);
const results = await runAll(suite, {
  nodeOptions: options.filter((option) => option.startsWith("--test-")),
  showOutput: only.length > 0,
});
console.log(`\n${summary(results, (performance.now() - started) / 1000)}`);
process.exitCode = results.some((result) => result.failures.length > 0) ? 1 : 0;
