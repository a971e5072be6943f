// SPDX-License-Identifier: Apache-2.0
// Runs one of the repository's test suites: `node tools/run-tests.ts unit|interop|clients|conformance|chaos|e2e [file…]`, options last.
import { spawnSync } from "node:child_process";
import { globSync } from "node:fs";
import { availableParallelism } from "node:os";

// A process a file is what costs time, so packages without I/O share one process; the rest are isolated.
const purePackages = ["cel", "certificates", "function-protocol", "kube-objects"];

interface Run {
  readonly title: string;
  readonly files: string[];
  readonly flags: string[];
}

const isPure = (file: string): boolean => purePackages.some((name) => file.startsWith(`packages/${name}/`));

function unitRuns(): Run[] {
  const files = globSync(
    ["packages/*/src/**/*.test.ts", "examples/*/**/*.test.ts", "tools/**/*.test.ts", "bench/src/**/*.test.ts"],
    {
      exclude: (path) => path.includes("node_modules"),
    },
  ).sort();
  return [
    { title: "pure packages", files: files.filter(isPure), flags: ["--test-isolation=none"] },
    // Node's own default leaves a core to the runner, which does little: on two cores that is half of them.
    {
      title: "packages with I/O",
      files: files.filter((file) => !isPure(file)),
      flags: [`--test-concurrency=${availableParallelism()}`],
    },
  ];
}

function interopRuns(): Run[] {
  return [
    {
      title: "interop",
      files: globSync(["test/interop/*.test.ts", "test/interop/packages/*.test.ts"]).sort(),
      flags: ["--test-concurrency=1"],
    },
  ];
}

function clientRuns(): Run[] {
  const files = globSync("test/interop/apiserver/**/*.test.ts").sort();
  return [{ title: "clients of the API server", files, flags: ["--test-concurrency=1"] }];
}

function conformanceRuns(): Run[] {
  return [
    { title: "conformance", files: globSync("test/conformance/**/*.test.ts").sort(), flags: ["--test-concurrency=1"] },
  ];
}

/** Two hundred crashes take longer than any other test. */
const chaosTimeoutMs = 3_600_000;

function chaosRuns(): Run[] {
  const flags = ["--test-concurrency=1", `--test-timeout=${chaosTimeoutMs}`];
  return [{ title: "chaos", files: globSync("test/chaos/**/*.test.ts").sort(), flags }];
}

function endToEndRuns(): Run[] {
  return [{ title: "end to end", files: globSync("test/e2e/**/*.test.ts").sort(), flags: ["--test-concurrency=1"] }];
}

const preload = new URL("./property-seed.ts", import.meta.url).href;

function run({ title, files, flags }: Run): boolean {
  if (files.length === 0) return true;
  console.log(`\n# ${title}: ${files.length} files`);
  const reporter = process.env["CI"] ? "spec" : "dot";
  const args = [
    "--import",
    preload,
    "--test",
    `--test-reporter=${reporter}`,
    "--test-timeout=300000",
    ...flags,
    ...files,
  ];
  return spawnSync(process.execPath, args, { stdio: "inherit" }).status === 0;
}

/**
 * What random properties draw from: every commit tries other values than the last, and the same commit the same ones wherever it
 * is tested. Set PROPERTY_SEED to try others.
 */
function propertySeed(): string {
  const { stdout } = spawnSync("git", ["rev-parse", "--short=7", "HEAD"], { encoding: "utf8" });
  const fromCommit = Number.parseInt(stdout ?? "", 16);
  return process.env["PROPERTY_SEED"] ?? String(Number.isNaN(fromCommit) ? 1 : fromCommit);
}

/** Options of a suite reach its files through the environment: the test runner passes no arguments on. */
function exportOptions(suiteName: string, options: readonly string[]): void {
  for (const option of options) {
    const [name = "", value = "1"] = option.slice(2).split("=");
    process.env[`${suiteName}_${name}`.toUpperCase().replaceAll("-", "_")] = value;
  }
}

const [suite = "unit", ...words] = process.argv.slice(2);
const only = words.filter((word) => !word.startsWith("--"));
const suites: Record<string, () => Run[]> = {
  unit: unitRuns,
  interop: interopRuns,
  clients: clientRuns,
  conformance: conformanceRuns,
  chaos: chaosRuns,
  e2e: endToEndRuns,
};
const runs = suites[suite];
if (!runs) {
  console.error(`unknown suite "${suite}": expected one of ${Object.keys(suites).join(", ")}`);
  process.exit(2);
}
exportOptions(
  suite,
  words.filter((word) => word.startsWith("--")),
);
const selected = runs().map((one) => ({
  ...one,
  files: only.length === 0 ? one.files : one.files.filter((file) => only.some((part) => file.includes(part))),
}));
if (selected.every((one) => one.files.length === 0)) {
  console.error(`no test file matches ${only.join(" ") || `the ${suite} suite`}`);
  process.exit(2);
}
process.env["PROPERTY_SEED"] = propertySeed();
console.log(`Random properties draw from PROPERTY_SEED=${process.env["PROPERTY_SEED"]}.`);
const passed = selected.map(run).every(Boolean);
console.log(passed ? `\nAll ${suite} tests passed.` : `\nSome ${suite} tests failed; scroll up to the first ✖.`);
process.exit(passed ? 0 : 1);
