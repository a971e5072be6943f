// SPDX-License-Identifier: Apache-2.0
import { createHash } from "node:crypto";
import { availableParallelism } from "node:os";
import type { Io } from "../io.ts";
import { type CommandInput, isSet, listOption, parseDuration, textOption } from "../options/command-spec.ts";
import { textOf, UserError } from "../user-error.ts";
import type { UpdateMode } from "./goldens.ts";
import { reporters } from "./report-cases.ts";
import type { TestCase } from "./test-file.ts";

const defaultTimeout = "30s";

/** How the command was called. */
export interface TestOptions {
  readonly input: CommandInput;
  readonly reporter: string;
  readonly junit: string | undefined;
  readonly pattern: RegExp | undefined;
  readonly tags: readonly string[];
  readonly onlyFailed: boolean;
  readonly bail: number;
  /** Which part of the cases to run, from 0, and of how many. */
  readonly shard: { readonly index: number; readonly count: number } | undefined;
  /** What the order of the cases is drawn from; undefined for the order of the files. */
  readonly seed: number | undefined;
  readonly update: UpdateMode;
  readonly parallel: number;
  readonly timeoutMs: number;
  readonly isCi: boolean;
  readonly listsOnly: boolean;
  readonly passWithNoTests: boolean;
  /** Whether hooks of suites of xprin run. */
  readonly allowHooks: boolean;
  /** The least coverage in percent; undefined when coverage is not reported. */
  readonly coverage: number | undefined;
}

export function readOptions(input: CommandInput, io: Io): TestOptions {
  const isCi = Boolean(io.env["CI"]) && io.env["CI"] !== "false";
  const reporter = textOption(input, "reporter") ?? "spec";
  if (!Object.hasOwn(reporters, reporter))
    throw usage(`--reporter ${reporter}: expected ${Object.keys(reporters).join(", ")}`);
  const seed = numberOf(textOption(input, "seed"), "--seed");
  const allowHooks = isSet(input, "allowHooks");
  if (seed !== undefined && allowHooks) throw usage("--seed and --allow-hooks: hooks need the order of their file");
  const update = textOption(input, "update") ?? (isCi ? "none" : "new");
  if (!isUpdateMode(update)) throw usage(`--update ${update}: expected new, all or none`);
  return {
    input,
    reporter,
    junit: textOption(input, "junit"),
    pattern: patternOf(textOption(input, "testNamePattern")),
    tags: listOption(input, "tag"),
    onlyFailed: isSet(input, "onlyFailed"),
    bail: bailOf(input),
    shard: shardOf(textOption(input, "shard")),
    seed,
    update,
    parallel: numberOf(textOption(input, "parallel"), "--parallel") ?? availableParallelism(),
    timeoutMs: durationOf(textOption(input, "timeout") ?? defaultTimeout),
    isCi,
    listsOnly: isSet(input, "list"),
    passWithNoTests: isSet(input, "passWithNoTests"),
    allowHooks,
    coverage: coverageOf(input),
  };
}

/** An error of the command line or of a file. */
export const usage = (text: string): UserError => new UserError(text, { exitCode: 2 });
const isUpdateMode = (value: string): value is UpdateMode => ["new", "all", "none"].includes(value);

/** The value of an option that may be a switch; undefined when it is not set. */
function switchValue(input: CommandInput, name: string): string | undefined {
  const value = input.options[name];
  if (value === undefined || value === false) return undefined;
  return value === true ? "true" : String(value);
}

function bailOf(input: CommandInput): number {
  const value = switchValue(input, "bail");
  if (value === undefined) return Number.POSITIVE_INFINITY;
  return value === "true" ? 1 : (numberOf(value, "--bail") ?? 1);
}

function coverageOf(input: CommandInput): number | undefined {
  const value = switchValue(input, "coverage");
  if (value === undefined || value === "true") return value && 0;
  const percent = /^\d+(\.\d+)?%?$/.test(value) ? Number.parseFloat(value) : Number.NaN;
  if (percent >= 0 && percent <= 100) return percent;
  throw usage(`--coverage ${value}: expected a percentage from 0 to 100, such as 80%`);
}

/** The pattern of the names of cases. */
export function patternOf(text: string | undefined): RegExp | undefined {
  try {
    return text === undefined ? undefined : new RegExp(text);
  } catch (error) {
    throw usage(`--test-name-pattern: ${textOf(error)}`);
  }
}

function shardOf(text: string | undefined): TestOptions["shard"] {
  if (text === undefined) return undefined;
  const [, index = 0, count = 0] = (/^(\d{1,5})\/(\d{1,5})$/.exec(text) ?? []).map(Number);
  if (index < 1 || index > count) throw usage(`--shard ${text}: expected INDEX/COUNT, such as 1/4`);
  return { index: index - 1, count };
}

function durationOf(text: string): number {
  const ms = parseDuration(text);
  if (ms !== undefined) return ms;
  throw usage(`--timeout ${text}: expected a duration, such as 5s or 1m30s`);
}

function numberOf(text: string | undefined, flag: string): number | undefined {
  if (text === undefined) return undefined;
  const number = Number(text);
  if (Number.isInteger(number) && number > 0) return number;
  throw usage(`${flag} ${text}: expected an integer of at least 1`);
}

/** The cases to run. `failed` are those that failed in the last run. */
export function selected(
  cases: readonly TestCase[],
  { pattern, tags, isCi, shard, seed, onlyFailed }: TestOptions,
  failed: ReadonlySet<string>,
): readonly TestCase[] {
  const only = cases.filter(({ isOnly }) => isOnly);
  const [first] = only;
  if (first !== undefined && isCi)
    throw usage(`${first.at}: case "${first.name}": only: remove it; CI is set, and the other cases would not run`);
  const chosen = only.length > 0 ? only : cases;
  const named = chosen.filter(
    (test) =>
      (pattern === undefined || pattern.test(test.name)) &&
      (tags.length === 0 || tags.some((tag) => test.tags.includes(tag))) &&
      (!onlyFailed || failed.has(caseId(test))),
  );
  const part = shard === undefined ? named : named.filter((_, at) => at % shard.count === shard.index);
  return seed === undefined ? part : shuffled(part, seed);
}

/** The cases in an order that depends on the seed and on their names alone. */
function shuffled(cases: readonly TestCase[], seed: number): readonly TestCase[] {
  const keyed = cases.map((test) => ({
    test,
    key: createHash("sha256")
      .update(`${seed} ${caseId(test)}`)
      .digest("hex"),
  }));
  return keyed.toSorted((a, b) => (a.key < b.key ? -1 : 1)).map(({ test }) => test);
}

/** What a case is known by from run to run. */
export const caseId = ({ file, name }: TestCase): string => `${file}: ${name}`;
