// SPDX-License-Identifier: Apache-2.0
import { createHash } from "node:crypto";
import { mkdir, rm, stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import { writeOutput } from "../files/output-file.ts";
import { explain, readTextIfThere } from "../files/read-text.ts";
import { replaceFile } from "../files/write-files.ts";
import { harmlessLine } from "../harmless.ts";
import type { Io } from "../io.ts";
import { findManifests, isTestFile } from "../manifests/manifest.ts";
import { type CommandInput, isSet } from "../options/command-spec.ts";
import { KeyPrompt, keysOf, onKeys, quitKeys } from "../terminal/screen.ts";
import { createStyle } from "../terminal/style.ts";
import { runOnSaves } from "../up/watch-files.ts";
import { asInput, isUserError, textOf } from "../user-error.ts";
import { cacheFolder } from "../validate/packages.ts";
import { Coverage } from "./coverage.ts";
import { Goldens, obsoleteGoldens } from "./goldens.ts";
import { type CaseOutcome, junitXml, reporters } from "./report-cases.ts";
import { runAll } from "./run-all.ts";
import { readTestFile, type TestCase } from "./test-file.ts";
import { caseId, patternOf, readOptions, selected, type TestOptions, usage } from "./test-options.ts";
import { isXprinFile, readXprinFile, type SuiteOptions } from "./xprin-file.ts";

/** `purlin test [PATH…]` */
export async function run(input: CommandInput, io: Io): Promise<number> {
  const options = readOptions(input, io);
  const paths = input.args.length === 0 ? ["."] : input.args;
  if (isSet(input, "watch") && options.allowHooks)
    throw usage("--allow-hooks cannot be used with --watch: what a hook writes would run the tests again");
  return isSet(input, "watch") ? await watchTests(paths, options, io) : await testOnce(paths, options, io);
}

const keyHelp = "a all, f failed, u update golden files, t filter by name, q quit";

/** Runs on each save, and as keys say. What a key chose stays until another key. */
async function watchTests(paths: readonly string[], options: TestOptions, io: Io): Promise<number> {
  const quitting = new AbortController();
  const watching = { ...io, signal: AbortSignal.any([io.signal, quitting.signal]) };
  const chosen = new ChosenTests(options, io);
  const keys = keysOf(io);
  const prompt = new KeyPrompt("filter", io, (text) => chosen.filter(text));
  const quit = (): void => quitting.abort();
  using _keys =
    keys &&
    onKeys(
      keys,
      {
        a: () => chosen.choose({ pattern: undefined, tags: [], onlyFailed: false }),
        f: () => chosen.choose({ onlyFailed: true }),
        u: () => chosen.updateOnce(),
        t: () => prompt.open(),
        q: quit,
        ...quitKeys(quit),
      },
      (key) => prompt.type(key),
    );
  const written = new Set<string>();
  const onWritten = (file: string): void => void written.add(resolve(io.cwd, file));
  return await runOnSaves(paths, watching, {
    async run() {
      written.clear();
      await testOnce(paths, { ...chosen.take(), passWithNoTests: true, onWritten }, watching);
      if (keys !== undefined) io.stdout.write(`\nkeys: ${keyHelp}\n`);
    },
    // Functions may write files of their own while they are tested.
    wrote: (path) => !isInput.test(path) || [...written].some((file) => path.startsWith(file)),
    onStart: (wake) => chosen.onChange(wake),
  });
}

/** Files that tests and functions are made of. */
const isInput = /\.(ya?ml|json|[cm]?[jt]sx?|xpkg)$/;

/** Which tests run next, and how. */
class ChosenTests {
  readonly #options: TestOptions;
  readonly #io: Io;
  #current: TestOptions;
  #isUpdating = false;
  #wake = (): void => {};

  constructor(options: TestOptions, io: Io) {
    this.#options = options;
    this.#current = options;
    this.#io = io;
  }

  onChange(wake: () => void): void {
    this.#wake = wake;
  }

  choose(change: Partial<TestOptions>): void {
    this.#current = { ...this.#options, ...change };
    this.#wake();
  }

  filter(text: string): void {
    try {
      this.choose({ pattern: patternOf(text) });
    } catch (error) {
      this.#io.stdout.write(`error: ${textOf(error)}\n`);
    }
  }

  updateOnce(): void {
    this.#isUpdating = true;
    this.#wake();
  }

  take(): TestOptions {
    const taken = this.#isUpdating ? { ...this.#current, update: "all" as const } : this.#current;
    this.#isUpdating = false;
    return taken;
  }
}

interface OneRun extends TestOptions {
  /** Called with each file that the run writes. */
  readonly onWritten?: (file: string) => void;
}

async function testOnce(paths: readonly string[], options: OneRun, io: Io): Promise<number> {
  const started = performance.now();
  const all = await readCases(await testFiles(paths, io), options, io);
  const failures = failuresFile(io);
  const cases = selected(all, options, options.onlyFailed ? await lastFailures(failures) : new Set());
  if (options.listsOnly) {
    for (const { file, name } of cases) io.stdout.write(`${harmlessLine(file)}: ${harmlessLine(name)}\n`);
    return 0;
  }
  if (cases.length === 0) return noTests(paths, all.length, { options, io });
  const reporter = reporters[options.reporter]?.(createStyle(io.stdout, io.env));
  if (reporter === undefined) throw new Error(`no reporter ${options.reporter}`);
  const goldens = new Goldens(options.update, io);
  const coverage = new Coverage();
  const outcomes = await runAll(cases, { options, io, reporter, goldens, coverage });
  for (const file of goldens.written) {
    options.onWritten?.(file);
    io.stderr.write(`wrote ${file}\n`);
  }
  const report = options.coverage === undefined ? undefined : coverage.report();
  io.stdout.write(reporter.summary(outcomes, performance.now() - started, report));
  if (options.junit !== undefined) await writeOutput(options.junit, junitXml(outcomes), { io, exitCode: 2 });
  await keepFailures(failures, outcomes);
  const isObsolete = await reportObsolete(all, paths, { options, io });
  const isUncovered = report !== undefined && report.percent < (options.coverage ?? 0);
  if (isUncovered) io.stderr.write(`coverage: ${report.percent} % is below the minimum of ${options.coverage} %\n`);
  return isObsolete || isUncovered || outcomes.some(({ status }) => status === "failed") ? 1 : 0;
}

/** Where the failures of the last run in this folder are kept; undefined when the user has no folder for caches. */
function failuresFile(io: Io): string | undefined {
  const folder = cacheFolder(io, "tests");
  return folder && join(folder, `${createHash("sha256").update(io.cwd).digest("hex")}.json`);
}

async function lastFailures(file: string | undefined): Promise<ReadonlySet<string>> {
  const text = file && (await readTextIfThere(file, file));
  try {
    return new Set(text ? (JSON.parse(text) as string[]) : []);
  } catch {
    return new Set();
  }
}

/** A run of some cases forgets nothing about the others. */
async function keepFailures(file: string | undefined, outcomes: readonly CaseOutcome[]): Promise<void> {
  if (file === undefined) return;
  const before = await lastFailures(file);
  const failed = new Set(before);
  for (const { test, status } of outcomes) {
    if (status === "failed") failed.add(caseId(test));
    else failed.delete(caseId(test));
  }
  if (failed.symmetricDifference(before).size === 0) return;
  await mkdir(resolve(file, ".."), { recursive: true, mode: 0o700 });
  await replaceFile(file, JSON.stringify([...failed]));
}
/** Golden files that no case names: removed with `--update all`, a failure where CI is set, otherwise a note. */
async function reportObsolete(
  cases: readonly TestCase[],
  paths: readonly string[],
  { options, io }: { readonly options: TestOptions; readonly io: Io },
): Promise<boolean> {
  const roots: string[] = [];
  for (const path of paths.map(folderName)) {
    const whole = resolve(io.cwd, path);
    if (await isDirectory(whole, path)) roots.push(whole);
  }
  const files = await obsoleteGoldens(cases, roots, io);
  for (const file of files) {
    if (options.update === "all") await rm(resolve(io.cwd, file), { force: true });
    const what = options.update === "all" ? "removed" : "no case names";
    const advice = options.update === "all" ? "" : ": remove it, or run with --update all";
    io.stderr.write(`${what} ${file}${advice}\n`);
  }
  return files.length > 0 && options.isCi && options.update !== "all";
}

/** `DIR/...` is how xprin writes a folder with those below it. */
const folderName = (path: string): string => path.replace(/(?<=[^/])\/\.\.\.$/, "");

/** One file after another: a hook of a suite may make what a later suite needs. */
async function readCases(files: readonly string[], { allowHooks }: TestOptions, io: Io): Promise<TestCase[]> {
  const suites: SuiteOptions = { hooks: [], allowHooks };
  const cases: TestCase[] = [];
  for (const file of files)
    cases.push(
      ...(await asInput(() => (isXprinFile(file) ? readXprinFile(file, io, suites) : readTestFile(file, io)))),
    );
  return cases;
}

function noTests(
  paths: readonly string[],
  found: number,
  { options, io }: { readonly options: TestOptions; readonly io: Io },
): number {
  const isNamed = paths.some((path) => /\.ya?ml$/.test(path));
  const none = isNamed ? "no cases" : "no files ending in .test.yaml found";
  const why = found === 0 ? `${none} in ${paths.join(", ")}` : `none of ${found} cases is selected`;
  io.stderr.write(`no tests: ${why}\n`);
  return options.passWithNoTests ? 0 : 1;
}

/** The test files that paths stand for. A file that is named is one whatever its name. */
async function testFiles(paths: readonly string[], io: Io): Promise<string[]> {
  const files: string[] = [];
  for (const path of paths.map(folderName)) {
    const isFolder = await isDirectory(resolve(io.cwd, path), path);
    if (!isFolder) files.push(path);
    else
      files.push(
        ...(await findManifests([path], io, { tests: true }).catch(noneFound)).filter((file) => isTestFile(file)),
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
