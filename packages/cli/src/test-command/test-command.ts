// SPDX-License-Identifier: Apache-2.0
import { stat } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { resolve } from "node:path";
import { forEachLimited } from "@purlin/base";
import { evaluateExpression } from "@purlin/cel";
import { compositionCrds, deriveCrds, keptCrds } from "@purlin/composition";
import type { JsonObject } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";
import { packageCrds } from "@purlin/package-manager";
import { createSessionBase, type SessionBase } from "@purlin/preview";
import { explain } from "../files/read-text.ts";
import { replaceFile } from "../files/write-files.ts";
import type { Io } from "../io.ts";
import { findManifests } from "../manifests/find-manifests.ts";
import { type CommandInput, isSet, listOption, textOption } from "../options/command-spec.ts";
import { parseDuration } from "../options/duration.ts";
import { createStyle } from "../terminal/style.ts";
import { runOnSaves } from "../up/run-on-saves.ts";
import { isUserError, textOf, UserError } from "../user-error.ts";
import { Goldens, type UpdateMode } from "./goldens.ts";
import { InputReader } from "./inputs.ts";
import { type CaseOutcome, junitXml, type Reporter, reporters } from "./report-cases.ts";
import { runCase } from "./run-case.ts";
import { readTestFile, type TestCase } from "./test-file.ts";
import { openTestFunctions } from "./test-functions.ts";

const ending = /\.test\.ya?ml$/;
const defaultTimeout = "30s";

/** `purlin test [PATH…]` */
export async function run(input: CommandInput, io: Io): Promise<number> {
  const options = readOptions(input, io);
  const paths = input.args.length === 0 ? ["."] : input.args;
  if (!isSet(input, "watch")) return await testOnce(paths, options, io);
  return await runOnSaves(paths, io, () => testOnce(paths, options, io));
}

interface TestOptions {
  readonly reporter: string;
  readonly junit: string | undefined;
  readonly pattern: RegExp | undefined;
  readonly tags: readonly string[];
  readonly bail: number;
  readonly update: UpdateMode;
  readonly parallel: number;
  readonly timeoutMs: number;
  readonly isCi: boolean;
  readonly listsOnly: boolean;
  readonly passWithNoTests: boolean;
}

function readOptions(input: CommandInput, io: Io): TestOptions {
  const isCi = Boolean(io.env["CI"]) && io.env["CI"] !== "false";
  const reporter = textOption(input, "reporter") ?? "spec";
  if (reporters[reporter] === undefined)
    throw usage(`--reporter ${reporter}: expected ${Object.keys(reporters).join(", ")}`);
  const update = textOption(input, "update") ?? (isCi ? "none" : "new");
  if (!isUpdateMode(update)) throw usage(`--update ${update}: expected new, all or none`);
  return {
    reporter,
    junit: textOption(input, "junit"),
    pattern: patternOf(textOption(input, "testNamePattern")),
    tags: listOption(input, "tag"),
    bail: isSet(input, "bail") ? 1 : Number.POSITIVE_INFINITY,
    update,
    parallel: numberOf(textOption(input, "parallel"), "--parallel") ?? availableParallelism(),
    timeoutMs: durationOf(textOption(input, "timeout") ?? defaultTimeout),
    isCi,
    listsOnly: isSet(input, "list"),
    passWithNoTests: isSet(input, "passWithNoTests"),
  };
}

const usage = (text: string): UserError => new UserError(text, { exitCode: 2 });
const isUpdateMode = (value: string): value is UpdateMode => ["new", "all", "none"].includes(value);

function patternOf(text: string | undefined): RegExp | undefined {
  try {
    return text === undefined ? undefined : new RegExp(text);
  } catch (error) {
    throw usage(`--test-name-pattern: ${textOf(error)}`);
  }
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

async function testOnce(paths: readonly string[], options: TestOptions, io: Io): Promise<number> {
  const started = performance.now();
  const all = (await Promise.all((await testFiles(paths, io)).map((file) => readTestFile(file, io)))).flat();
  const cases = selected(all, options);
  if (options.listsOnly) {
    for (const { file, name } of cases) io.stdout.write(`${file}: ${name}\n`);
    return 0;
  }
  if (cases.length === 0) return noTests(paths, all.length, { options, io });
  const style = createStyle(io.stdout, io.env);
  const reporter = reporters[options.reporter]?.(style);
  if (reporter === undefined) throw new Error(`no reporter ${options.reporter}`);
  const goldens = new Goldens(options.update, io);
  const outcomes = await runAll(cases, { options, io, reporter, goldens });
  for (const file of goldens.written) io.stderr.write(`wrote ${file}\n`);
  io.stdout.write(reporter.summary(outcomes, performance.now() - started));
  if (options.junit !== undefined) await replaceFile(resolve(io.cwd, options.junit), junitXml(outcomes));
  return outcomes.some(({ status }) => status === "failed") ? 1 : 0;
}

function noTests(
  paths: readonly string[],
  found: number,
  { options, io }: { readonly options: TestOptions; readonly io: Io },
): number {
  const why =
    found === 0 ? `no files ending in .test.yaml found in ${paths.join(", ")}` : `none of ${found} cases is selected`;
  io.stderr.write(`no tests: ${why}\n`);
  return options.passWithNoTests ? 0 : 1;
}

function selected(cases: readonly TestCase[], { pattern, tags, isCi }: TestOptions): readonly TestCase[] {
  const only = cases.filter(({ isOnly }) => isOnly);
  const [first] = only;
  if (first !== undefined && isCi)
    throw usage(`${first.at}: case "${first.name}": only: remove it; CI is set, and the other cases would not run`);
  const chosen = only.length > 0 ? only : cases;
  return chosen.filter(
    ({ name, tags: own }) =>
      (pattern === undefined || pattern.test(name)) && (tags.length === 0 || tags.some((tag) => own.includes(tag))),
  );
}

/** The test files that paths stand for. A file that is named is one whatever its name. */
async function testFiles(paths: readonly string[], io: Io): Promise<string[]> {
  const files: string[] = [];
  for (const path of paths) {
    const isFolder = await isDirectory(resolve(io.cwd, path), path);
    if (!isFolder) files.push(path);
    else
      files.push(
        ...(await findManifests([path], io, { tests: true }).catch(noneFound)).filter((file) => ending.test(file)),
      );
  }
  return [...new Set(files)];
}

async function isDirectory(path: string, shown: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory();
  } catch (error) {
    throw usage(`cannot read ${shown}: ${explain(error)}`);
  }
}

function noneFound(error: unknown): string[] {
  if (isUserError(error)) return [];
  throw error;
}

interface Running {
  readonly options: TestOptions;
  readonly io: Io;
  readonly reporter: Reporter;
  readonly goldens: Goldens;
}

async function runAll(cases: readonly TestCase[], { options, io, reporter, goldens }: Running): Promise<CaseOutcome[]> {
  await using closing = new AsyncDisposableStack();
  const functions = closing.use(openTestFunctions(io));
  const inputs = new InputReader(io);
  const baseOf = sharedBases(closing);
  const expecting = {
    golden: (file: string, text: string, test: TestCase) => goldens.compare(file, text, test),
    cel: judgeExpression,
  };
  const outcomes: CaseOutcome[] = [];
  let failed = 0;
  await forEachLimited(cases, options.parallel, async (test) => {
    if (failed >= options.bail) return;
    io.signal.throwIfAborted();
    const deps = { functions, inputs, baseOf, expecting };
    const outcome = await outcomeOf(test, options.timeoutMs, (signal) =>
      runCase(test, { ...deps, signal: AbortSignal.any([signal, io.signal]) }),
    );
    if (outcome.status === "failed") failed += 1;
    outcomes.push(outcome);
    io.stdout.write(reporter.ended(outcome));
  });
  return outcomes;
}

async function outcomeOf(
  test: TestCase,
  defaultMs: number,
  runIt: (signal: AbortSignal) => Promise<string[]>,
): Promise<CaseOutcome> {
  if (test.skip !== undefined) return { test, status: "skipped", lines: [test.skip], ms: 0 };
  const started = performance.now();
  const limitMs = test.timeoutMs ?? defaultMs;
  const signal = AbortSignal.timeout(limitMs);
  const lines = await runIt(signal).catch((error: unknown) => {
    if (signal.aborted) return [`timed out after ${limitMs / 1000}s`];
    if (isUserError(error) && error.exitCode === 2) throw error;
    return [textOf(error)];
  });
  return { test, status: lines.length === 0 ? "passed" : "failed", lines, ms: performance.now() - started };
}

/** Cases with the same definitions begin from one server. */
function sharedBases(
  closing: AsyncDisposableStack,
): (definitions: readonly KubeObject[], crds: readonly KubeObject[]) => Promise<SessionBase> {
  const bases = new Map<string, Promise<SessionBase>>();
  const settings = { developmentFunctions: true, functionRevisionSelectors: true };
  return (definitions, crds) => {
    const key = JSON.stringify([definitions, crds]);
    const known = bases.get(key);
    if (known !== undefined) return known;
    const made = makeBase(definitions, [...compositionCrds(), ...keptCrds(), ...packageCrds(settings), ...crds]);
    closing.defer(() => made.then((base) => base[Symbol.asyncDispose](), ignored));
    bases.set(key, made);
    return made;
  };
}

/** A base that could not be made has failed its cases. */
const ignored = (): void => {};

/** Definitions are stored first: the CRDs that they become are theirs. */
async function makeBase(definitions: readonly KubeObject[], crds: readonly KubeObject[]): Promise<SessionBase> {
  const base = await createSessionBase(crds);
  for (const definition of definitions) {
    try {
      const stored = await base.client.create(definition, { fieldValidation: "Strict" });
      await base.define(deriveCrds(stored, { functionRevisions: false }));
    } catch (error) {
      throw usage(`definition ${definition.metadata.name ?? ""}: ${textOf(error)}`);
    }
  }
  return base;
}

function judgeExpression(expression: string, variables: JsonObject): string | undefined {
  const outcome = evaluateExpression(expression, variables);
  if ("problem" in outcome) return `cel: ${expression}: ${outcome.problem}`;
  return outcome.value === true ? undefined : `cel: ${expression}: expected true, got ${JSON.stringify(outcome.value)}`;
}
