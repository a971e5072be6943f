// SPDX-License-Identifier: Apache-2.0

import { dirname, resolve } from "node:path";
import { forEachLimited } from "@purlin/base";
import { compositionCrds, deriveCrds, keptCrds } from "@purlin/composition";
import { printJson } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";
import { packageCrds } from "@purlin/package-manager";
import { createSessionBase, type SessionBase } from "@purlin/preview";
import { readText } from "../files/read-text.ts";
import type { Io } from "../io.ts";
import { isUserError, textOf } from "../user-error.ts";
import { CaseOutputs, OutputsNotReadyError } from "./case-outputs.ts";
import type { Coverage } from "./coverage.ts";
import type { Goldens } from "./goldens.ts";
import { InputReader } from "./inputs.ts";
import type { CaseOutcome, Reporter } from "./report-cases.ts";
import { type CaseDeps, type CaseKinds, type CaseProgress, type CaseResult, runCase } from "./run-case.ts";
import type { TestCase } from "./test-file.ts";
import { openTestFunctions, type TestFunctions } from "./test-functions.ts";
import { type TestOptions, usage } from "./test-options.ts";
import { HookRunner } from "./xprin-run-hooks.ts";

interface Running {
  readonly options: TestOptions;
  readonly io: Io;
  readonly reporter: Reporter;
  readonly goldens: Goldens;
  readonly coverage: Coverage;
}

/** Runs cases, several at a time, and prints each when it and those before it have ended: the order is the same in every run. */
export async function runAll(cases: readonly TestCase[], running: Running): Promise<CaseOutcome[]> {
  const { options, io, reporter, goldens, coverage } = running;
  await using closing = new AsyncDisposableStack();
  const functions = closing.use(openTestFunctions(options.input, io));
  const expecting = {
    golden: (file: string, text: string, test: TestCase) => goldens.compare(file, text, test),
    readFile: (name: string, { file }: TestCase) =>
      readText(resolve(io.cwd, dirname(file), name), io, { what: "expected file" }),
  };
  const outputs = new CaseOutputs();
  for (const test of cases) outputs.expect(test);
  const inputs = new InputReader(io, outputs);
  const hooks = closing.use(new HookRunner(inputs, io));
  const deps = { functions, inputs, hooks, baseOf: sharedBases(closing), expecting, coverage };
  const runner = new CaseRunner(deps, { options, io });
  const all = new Map<TestCase, CaseOutcome>();
  const unprinted = [...cases];
  const doubtful: TestCase[] = [];
  const isEnough = (): boolean =>
    all
      .values()
      .filter(({ status }) => status === "failed")
      .toArray().length >= options.bail;
  const print = (outcome: CaseOutcome | undefined): void => void (outcome && io.stdout.write(reporter.ended(outcome)));
  const ended = (outcome: CaseOutcome): void => {
    all.set(outcome.test, outcome);
    const left = unprinted.findIndex((test) => !all.has(test));
    for (const test of unprinted.splice(0, left === -1 ? unprinted.length : left)) print(all.get(test));
  };
  const runOne = async (test: TestCase): Promise<CaseOutcome | "doubtful"> => {
    const outcome = await runner.run(test);
    outputs.ended(test, outcome === "doubtful" ? outcome : (outcome.outputs ?? "failed"));
    return outcome;
  };
  // A hook may make what a test below needs.
  const parallel = options.allowHooks ? 1 : options.parallel;
  await forEachLimited(cases, parallel, async (test) => {
    if (isEnough()) return;
    const outcome = await runOne(test);
    if (outcome === "doubtful") doubtful.push(test);
    else ended(outcome);
  });
  for (const test of doubtful) outputs.expect(test);
  for (const test of doubtful) {
    if (isEnough()) break;
    const outcome = await runOne(test);
    if (outcome !== "doubtful") ended(outcome);
  }
  for (const test of unprinted) print(all.get(test));
  return cases.flatMap((test) => all.get(test) ?? []);
}

type SharedDeps = Omit<CaseDeps, "signal" | "progress" | "onStart"> & { readonly hooks: HookRunner };

interface Started {
  readonly progress: CaseProgress;
  /** Whether a process that the case waited for was ended because of another case. */
  isDisturbed: boolean;
}

/** Runs cases within their time limits. A function that does not answer in time is ended, and started again for the next call. */
class CaseRunner {
  readonly #deps: SharedDeps;
  readonly #functions: TestFunctions;
  readonly #io: Io;
  readonly #timeoutMs: number;
  readonly #running = new Set<Started>();

  constructor(deps: SharedDeps, { options, io }: { readonly options: TestOptions; readonly io: Io }) {
    this.#deps = deps;
    this.#functions = deps.functions;
    this.#io = io;
    this.#timeoutMs = options.timeoutMs;
  }

  /**
   * A case that timed out while others waited for the same function is doubtful: the function may have been busy with those. So is one
   * that failed after its function was ended because of another case.
   */
  async run(test: TestCase): Promise<CaseOutcome | "doubtful"> {
    this.#io.signal.throwIfAborted();
    if (test.skip !== undefined) return { test, status: "skipped", lines: [{ text: test.skip }], ms: 0 };
    const started: Started = { progress: {}, isDisturbed: false };
    this.#running.add(started);
    const began = performance.now();
    const limitMs = test.timeoutMs ?? this.#timeoutMs;
    const limit = new AbortController();
    const { signal } = limit;
    let timer: NodeJS.Timeout | undefined;
    try {
      const deps: CaseDeps = {
        ...this.#deps,
        progress: started.progress,
        signal: AbortSignal.any([signal, this.#io.signal]),
        onStart() {
          timer = setTimeout(() => limit.abort(), limitMs);
        },
      };
      const result = await this.#deps.hooks.around(test, limitMs, async (prepared) => {
        const rendered = await runCase(prepared, deps);
        clearTimeout(timer);
        return rendered;
      });
      if (started.isDisturbed && result.lines.length > 0) return "doubtful";
      return outcomeOf(test, result, performance.now() - began);
    } catch (error) {
      if (isUserError(error) && error.exitCode === 2 && !signal.aborted) throw error;
      if (!signal.aborted && (started.isDisturbed || error instanceof OutputsNotReadyError)) return "doubtful";
      if (!signal.aborted) return outcomeOf(test, { lines: [{ text: textOf(error) }] }, performance.now() - began);
      this.#running.delete(started);
      const text = await this.#timedOut(started, limitMs);
      return text === undefined ? "doubtful" : outcomeOf(test, { lines: [{ text }] }, performance.now() - began);
    } finally {
      clearTimeout(timer);
      this.#running.delete(started);
    }
  }

  async #timedOut(started: Started, limitMs: number): Promise<string | undefined> {
    const { call } = started.progress;
    const text = `timed out after ${limitMs / 1000}s`;
    if (call === undefined) return text;
    const { step, functionName } = call;
    const others = [...this.#running].filter(({ progress }) => progress.call?.functionName === functionName);
    for (const other of others) other.isDisturbed = true;
    const isEnded = await this.#functions.replace(functionName);
    if (others.length > 0 || started.isDisturbed) return undefined;
    return `${text}: step "${step}": ${functionName} did not answer${isEnded ? "; its process was ended" : ""}`;
  }
}

function outcomeOf(test: TestCase, { lines, tree, outputs }: CaseResult, ms: number): CaseOutcome {
  return { test, status: lines.length === 0 ? "passed" : "failed", lines, tree, outputs, ms };
}

/** Cases with the same kinds begin from one server. */
function sharedBases(closing: AsyncDisposableStack): (kinds: CaseKinds) => Promise<SessionBase> {
  const bases = new Map<string, Promise<SessionBase>>();
  const settings = { developmentFunctions: true, functionRevisionSelectors: true, functionRollouts: true };
  return ({ definitions, crds, isNamespaced, openDefinitions }) => {
    const key = printJson([definitions, crds, isNamespaced, [...openDefinitions]]);
    const known = bases.get(key);
    if (known !== undefined) return known;
    const serving = [...compositionCrds(), ...keptCrds(), ...packageCrds(settings), ...crds];
    const made = makeBase(definitions, serving, openDefinitions);
    closing.defer(() => made.then((base) => base[Symbol.asyncDispose](), ignored));
    bases.set(key, made);
    return made;
  };
}

/** A base that could not be made has failed its cases. */
const ignored = (): void => {};

/** Definitions are stored first: the CRDs that they become are theirs. */
async function makeBase(
  definitions: readonly KubeObject[],
  crds: readonly KubeObject[],
  openDefinitions: ReadonlySet<string>,
): Promise<SessionBase> {
  const base = await createSessionBase(crds);
  for (const definition of definitions) {
    try {
      const stored = await base.client.create(definition, { fieldValidation: "Strict" });
      await base.define(deriveCrds(stored, { functionRevisions: false, openDefinitions }));
    } catch (error) {
      throw usage(`definition ${definition.metadata.name ?? ""}: ${textOf(error)}`);
    }
  }
  return base;
}
