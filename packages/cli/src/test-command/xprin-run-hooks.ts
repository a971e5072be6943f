// SPDX-License-Identifier: Apache-2.0
// Runs the hooks of suites of xprin, with copies of the inputs and of what was rendered as files.
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { cp, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, parse, resolve } from "node:path";
import { isJsonArray, type JsonObject, type JsonValue } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";
import { explain } from "../files/read-text.ts";
import type { Io } from "../io.ts";
import { readManifests } from "../manifests/manifest.ts";
import { UserError } from "../user-error.ts";
import { documents, type OutputFiles, writeOutputs } from "./case-outputs.ts";
import type { InputReader } from "./inputs.ts";
import type { CaseResult } from "./run-case.ts";
import type { TestCase } from "./test-file.ts";
import { type Hook, templatePattern, valueIn } from "./xprin-hooks.ts";

/** Inputs of a case by the names that templates of hooks have for them. */
const templateNames = {
  xr: "XR",
  claim: "Claim",
  composition: "Composition",
  functions: "Functions",
  schemas: "CRDs",
  observed: "ObservedResources",
  required: "ExtraResources",
  credentials: "FunctionCredentials",
} as const;

/** A copy of an input, and what it was before the hooks ran. */
interface Copy {
  readonly from: string;
  readonly path: string;
  readonly digest: string;
}

const maxOutput = 64 * 1024;

/** Runs cases with the hooks around them. Its files are gone when it is disposed. */
export class HookRunner implements AsyncDisposable {
  readonly #inputs: InputReader;
  readonly #io: Io;
  /** What templates know of tests above, by file and id. */
  readonly #tests = new Map<string, Record<string, JsonValue>>();
  #folder: Promise<string> | undefined;

  constructor(inputs: InputReader, io: Io) {
    this.#inputs = inputs;
    this.#io = io;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#folder !== undefined) await rm(await this.#folder, { recursive: true, force: true });
  }

  /** Runs a case between its hooks. A hook that fails fails the case. */
  async around(test: TestCase, limitMs: number, run: (test: TestCase) => Promise<CaseResult>): Promise<CaseResult> {
    const hooks = test.xprin?.hooks;
    if (hooks === undefined || test.skip !== undefined) return await run(test);
    this.#folder ??= mkdtemp(join(tmpdir(), "purlin-hooks-"));
    const folder = await mkdtemp(join(await this.#folder, "test-"));
    const copies = await this.#copyInputs(test, join(folder, "inputs"));
    const values = { Inputs: this.#inputValues(test, copies), Tests: this.#testsOf(test) };
    const before = await this.#runHooks(hooks, "pre-test", { limitMs, values });
    if (before !== undefined) return { lines: [before] };
    const result = await run(await withCopies(test, copies));
    if (result.outputs === undefined) return result;
    const outputs = await writeOutputs(result.outputs, join(folder, "outputs"));
    if (test.xprin?.id !== undefined) this.#testsOf(test)[test.xprin.id] = { Outputs: outputs };
    const after = await this.#runHooks(hooks, "post-test", { limitMs, values: { ...values, Outputs: outputs } });
    const lines = after === undefined ? result.lines : [...result.lines, after];
    return { ...result, lines, outputs: await this.#readOutputs(outputs) };
  }

  #testsOf({ file }: TestCase): Record<string, JsonValue> {
    const known = this.#tests.get(file) ?? {};
    this.#tests.set(file, known);
    return known;
  }

  /** Copies of what the test names, by input. An output of a test above is written as a file. */
  async #copyInputs(test: TestCase, folder: string): Promise<ReadonlyMap<string, readonly Copy[]>> {
    const copies = new Map<string, readonly Copy[]>();
    const named = { ...test.inputs, ...contextInputs(test) };
    for (const [input, value] of Object.entries(named)) {
      if (!(input in templateNames || input.startsWith(contextPrefix))) continue;
      const list = (isJsonArray(value as JsonValue) ? (value as JsonValue[]) : [value]) as string[];
      const made: Copy[] = [];
      for (const from of list)
        made.push(await this.#copy(String(from), test, { folder: join(folder, encodeURIComponent(input)), made }));
      copies.set(input, made);
    }
    return copies;
  }

  async #copy(
    from: string,
    test: TestCase,
    { folder, made }: { readonly folder: string; readonly made: readonly Copy[] },
  ): Promise<Copy> {
    await mkdir(folder, { recursive: true });
    if (test.xprin?.outputOf(from) !== undefined) {
      const path = join(folder, "output.yaml");
      await writeFile(path, documents(await this.#inputs.objects(from, test, "inputs")));
      return { from, path, digest: await digestOf(path) };
    }
    const { name, ext } = parse(from);
    const same = made.filter((one) => parse(one.from).name === name).length;
    const path = join(folder, `${name}${same === 0 ? "" : `_${same}`}${ext}`);
    try {
      await cp(resolve(this.#io.cwd, dirname(test.file), from), path, { recursive: true });
    } catch (error) {
      throw new UserError(`${test.at}: case "${test.name}": cannot read ${from}: ${explain(error)}`, { exitCode: 2 });
    }
    return { from, path, digest: await digestOf(path) };
  }

  #inputValues(test: TestCase, copies: ReadonlyMap<string, readonly Copy[]>): JsonObject {
    const paths = (input: string): string[] => (copies.get(input) ?? []).map(({ path }) => path);
    const single = Object.entries(templateNames).flatMap(([input, name]) =>
      copies.has(input) ? [[name, input === "schemas" ? paths(input) : (paths(input)[0] ?? "")] as const] : [],
    );
    const context = Object.keys(contextInputs(test)).map((input) => [
      input.slice(contextPrefix.length),
      paths(input)[0] ?? "",
    ]);
    return { ...Object.fromEntries(single), ContextFiles: Object.fromEntries(context) as JsonObject };
  }

  /** Runs hooks in order, until one fails. */
  async #runHooks(
    hooks: readonly Hook[],
    when: Hook["when"],
    { limitMs, values }: { readonly limitMs: number; readonly values: JsonObject },
  ): Promise<{ readonly text: string; readonly at: string } | undefined> {
    for (const hook of hooks.filter((one) => one.when === when)) {
      const problem = await this.#runHook(hook, values, limitMs);
      const title = `${when} hook${hook.name === undefined ? "" : ` ${JSON.stringify(hook.name)}`}`;
      if (problem !== undefined) return { text: `${title} ${problem}`, at: hook.at };
    }
    return undefined;
  }

  async #runHook({ run, folder }: Hook, values: JsonObject, limitMs: number): Promise<string | undefined> {
    const unknown: string[] = [];
    const program = run.replaceAll(templatePattern, (whole, inner: string) => {
      const value = valueIn(inner.trim(), values);
      if (value === undefined) unknown.push(whole);
      return typeof value === "string" ? value : JSON.stringify(value ?? null);
    });
    if (unknown.length > 0) return `is not run: ${unknown[0]} is not known`;
    const signal = AbortSignal.any([this.#io.signal, AbortSignal.timeout(limitMs)]);
    const { code, output } = await runShell(program, { folder, env: this.#io.env, signal });
    this.#io.signal.throwIfAborted();
    if (signal.aborted) return `did not end within ${limitMs / 1000}s`;
    return code === 0 ? undefined : `failed with exit code ${code}${output === "" ? "" : `: ${output}`}`;
  }

  /** A hook may have changed a file: what tests below take is read again. */
  async #readOutputs(outputs: OutputFiles): Promise<KubeObject[]> {
    const { XR: xr, Rendered } = outputs;
    const [, ...others] = Object.values(Rendered) as string[];
    const manifests = await readManifests([xr, ...others], this.#io, { nameless: true, keepsNulls: true });
    return manifests.map(({ object }) => object);
  }
}

const contextPrefix = "context-file:";

function contextInputs({ xprin }: TestCase): JsonObject {
  return Object.fromEntries(
    Object.entries(xprin?.contextFiles ?? {}).map(([key, file]) => [`${contextPrefix}${key}`, file as JsonValue]),
  );
}

/** The test with each input that a hook changed; the others are read where they are. */
async function withCopies(test: TestCase, copies: ReadonlyMap<string, readonly Copy[]>): Promise<TestCase> {
  const inputs: Record<string, JsonValue> = { ...(test.inputs as Record<string, JsonValue>) };
  const contextFiles: Record<string, JsonValue> = {};
  for (const [input, list] of copies) {
    const used: string[] = [];
    for (const { from, path, digest } of list) used.push((await digestOf(path)) === digest ? from : path);
    if (input.startsWith(contextPrefix)) contextFiles[input.slice(contextPrefix.length)] = used[0] ?? "";
    else inputs[input] = input === "schemas" ? used : (used[0] ?? "");
  }
  return { ...test, inputs, ...(test.xprin && { xprin: { ...test.xprin, contextFiles } }) };
}

/** What files hold, with their names. Nothing for what a hook removed. */
async function digestOf(path: string): Promise<string> {
  const hash = createHash("sha256");
  const names = await filesIn(path);
  for (const name of names) hash.update(name).update(await readFile(join(path, name)));
  return hash.digest("hex");
}

async function filesIn(path: string): Promise<string[]> {
  try {
    if (!(await stat(path)).isDirectory()) return [""];
    const found = await readdir(path, { recursive: true, withFileTypes: true });
    return found
      .filter((one) => one.isFile())
      .map((one) => join(one.parentPath, one.name).slice(path.length))
      .sort();
  } catch {
    return [];
  }
}

/** Runs a program, and ends it with what it started when the signal says so. */
async function runShell(
  program: string,
  { folder, env, signal }: { readonly folder: string; readonly env: Io["env"]; readonly signal: AbortSignal },
): Promise<{ readonly code: number; readonly output: string }> {
  const child = spawn("sh", ["-c", program], { cwd: folder, env, detached: true, stdio: ["ignore", "pipe", "pipe"] });
  const end = (): void => {
    if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
  };
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text: string) => {
      if (output.length < maxOutput) output += text.slice(0, maxOutput - output.length);
    });
  signal.addEventListener("abort", end, { once: true });
  try {
    const [code] = (await once(child, "close")) as [number | null];
    return { code: code ?? 1, output: output.trim().replaceAll("\n", "\n        ") };
  } finally {
    signal.removeEventListener("abort", end);
  }
}
