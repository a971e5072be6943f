// SPDX-License-Identifier: Apache-2.0
// A control plane whose files are edited while it runs: what a save would do is shown before it is done.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { stripVTControlCharacters } from "node:util";
import { type TempFolder, tempFolder } from "@purlin/base/testing/temp-folder";
import { eventually } from "@purlin/kube-controller/testing";
import { purlinCommand } from "../../test/spawn-purlin.ts";
import { runInProcess } from "../../test/test-io.ts";
import type { Io, TextSink } from "../io.ts";
import { run } from "../run.ts";

const sdk = fileURLToPath(new URL("../../../function-sdk", import.meta.url));

const functionSource = (word: string): string => `
import { response } from "@purlin/function-sdk";
export default (req) => {
  const rsp = response.to(req);
  const { spec } = req.observed.composite.resource.value;
  const add = (name, data) => response.setDesiredComposedResource(rsp, name, { apiVersion: "v1", kind: "ConfigMap", data }, { ready: true });
  add("map", { text: spec.text, word: "${word}" });
  if (spec.extra) add("extra", { text: "extra" });
  return rsp;
};
`;

/** Notes its process, and does not answer. */
const hangingSource = (marker: string): string => `
import { writeFileSync } from "node:fs";
export default () => {
  writeFileSync(${JSON.stringify(marker)}, String(process.pid));
  return new Promise(() => {});
};
`;

/** A version that starts once, for its preview. */
const onceSource = (marker: string, word: string): string => `
import { existsSync, writeFileSync } from "node:fs";
if (existsSync(${JSON.stringify(marker)})) throw new Error("started before");
writeFileSync(${JSON.stringify(marker)}, "");
${functionSource(word)}`;

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

const definition = (required: string): string => `
apiVersion: apiextensions.crossplane.io/v2
kind: CompositeResourceDefinition
metadata: {name: notes.example.org}
spec:
  group: example.org
  names: {kind: Note, plural: notes}
  versions:
    - name: v1
      served: true
      referenceable: true
      schema:
        openAPIV3Schema:
          type: object
          properties:
            spec:
              type: object
              required: [${required}]
              properties: {text: {type: string}, extra: {type: boolean}, owner: {type: string}}
`;

const platform = `
apiVersion: pkg.crossplane.io/v1
kind: Function
metadata:
  name: notes
  annotations: {purlin.dev/source: ./fn.ts}
spec: {package: example.org/notes:v1}
---
apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: {name: notes}
spec:
  compositeTypeRef: {apiVersion: example.org/v1, kind: Note}
  mode: Pipeline
  pipeline: [{step: compose, functionRef: {name: notes}}]
`;

const note = (spec: string): string => `
apiVersion: example.org/v1
kind: Note
metadata: {name: first, namespace: default}
spec: ${spec}
`;

function project(): TempFolder {
  const folder = tempFolder({
    "package.json": '{"type":"module"}',
    "p/definition.yaml": definition("text"),
    "p/platform.yaml": platform,
    "p/note.yaml": note("{text: one, extra: true}"),
    "p/fn.ts": functionSource("first"),
  });
  mkdirSync(join(folder.path, "node_modules/@purlin"), { recursive: true });
  symlinkSync(sdk, join(folder.path, "node_modules/@purlin/function-sdk"));
  return folder;
}

interface Running extends AsyncDisposable {
  readonly keys: PassThrough;
  /** Waits for a text that was not waited for before. */
  next(pattern: RegExp): Promise<string>;
  /** What was printed since the last text that was waited for. */
  rest(): string;
  stop(): Promise<number>;
}

/** Runs `purlin dev` in this process, on a terminal or not. */
function dev(folder: TempFolder, args: readonly string[], isTTY: boolean): Running {
  const stopping = new AbortController();
  const keys = Object.assign(new PassThrough(), { isTTY });
  let text = "";
  const out: TextSink = {
    isTTY,
    columns: 200,
    rows: 60,
    write(more) {
      text += stripVTControlCharacters(more);
    },
    move() {},
  };
  const io: Io = {
    stdin: keys,
    stdout: out,
    stderr: out,
    env: { PATH: process.env["PATH"], NO_COLOR: "1" },
    cwd: folder.path,
    signal: stopping.signal,
  };
  const ended = run(["dev", "p", ...args], io);
  const stop = (): Promise<number> => {
    stopping.abort();
    return ended;
  };
  return {
    keys,
    rest: () => text,
    async next(pattern) {
      for (const limit = Date.now() + 90_000; ; await delay(20)) {
        const found = pattern.exec(text);
        if (found !== null) {
          text = text.slice(found.index + found[0].length);
          return found[0];
        }
        if (Date.now() > limit) assert.fail(`${pattern} was not printed: ${text}`);
      }
    },
    stop,
    [Symbol.asyncDispose]: async () => void (await stop()),
  };
}

/** The composed ConfigMap, as stored. */
async function stored(folder: TempFolder): Promise<string> {
  const { stdout } = await runInProcess(["get", "configmaps", "-o", "yaml"], { cwd: folder.path });
  return stdout;
}

async function until(folder: TempFolder, pattern: RegExp): Promise<void> {
  for (const limit = Date.now() + 90_000; !pattern.test(await stored(folder)); await delay(50))
    if (Date.now() > limit) assert.fail(`${pattern} was not stored`);
}

test("saves are previewed and wait for a key", async () => {
  using folder = project();
  await using running = dev(folder, [], true);
  await running.next(/Keys: y apply/);
  await running.next(/Everything is ready\./);
  await until(folder, /word: first/);

  folder.write("p/note.yaml", note("{text: two, extra: true}"));
  await running.next(/p\/note\.yaml:\n/);
  await running.next(/~ ConfigMap map .*\n\s+data\.text {2}"one" -> "two"/);
  await running.next(/Plan: 0 to add, 2 to change, 0 to destroy in 1 of 1 composite resource\.\n/);
  await running.next(/Apply\? {3}y apply/);
  assert.match(await stored(folder), /text: one/, "nothing is applied before the key");
  running.keys.write("y");
  await running.next(/✓ applied 1 object of p\/note\.yaml/);
  await until(folder, /text: two/);

  // The function that serves stays as it is until its saved version is applied.
  folder.write("p/fn.ts", functionSource("second"));
  await running.next(/Function notes:\n/);
  await running.next(/data\.word {2}"first" -> "second"/);
  await running.next(/Apply\?/);
  running.keys.write("n");
  await running.next(/Held: nothing was applied/);
  assert.match(await stored(folder), /word: first/);

  // A save while another is previewed cancels that preview, and the process that it waited for ends.
  const marker = join(folder.path, "called");
  folder.write("p/fn.ts", hangingSource(marker));
  const pid = await eventually("the saved version is called", () => Number(readFileSync(marker, "utf8")) || undefined);
  folder.write("p/fn.ts", functionSource("other"));
  await running.next(/data\.word {2}"first" -> "other"/);
  await eventually("the process of the cancelled preview has ended", () => !isAlive(pid));

  // A mistake changes nothing; the corrected file is previewed again.
  folder.write("p/fn.ts", "export default (req) => {");
  await running.next(/error: Function notes: [\s\S]*fn\.ts[\s\S]*Nothing was applied/);
  // Also not another save, or the same one again: the version before must not stand in for it.
  running.keys.write("r");
  await running.next(/error: Function notes: [\s\S]*fn\.ts[\s\S]*Nothing was applied/);
  folder.write("p/note.yaml", "spec: [");
  await running.next(/error: p\/note\.yaml:\d+:\d+[\s\S]*Nothing was applied/);
  folder.write("p/note.yaml", note("{text: two, extra: true}"));
  folder.write("p/fn.ts", functionSource("third"));
  await running.next(/data\.word {2}"first" -> "third"/);
  await running.next(/Apply\?/);
  running.keys.write("d");
  await running.next(/Plan: 0 to add, 1 to change/);
  running.keys.write("y");
  await running.next(/✓ Function notes: starting its saved version/);
  await until(folder, /word: third/);

  // A definition that live composite resources do not fit is shown before it is applied.
  folder.write("p/definition.yaml", definition("text, owner"));
  await running.next(/breaking: notes\.example\.org .*owner.*Note default\/first/);
  await running.next(/Breaking: 1\. Apply\?/);
  folder.write("p/definition.yaml", definition("text"));
  await running.next(/p\/definition\.yaml:\nNo changes in 1 composite resource/);

  // Two saves at once are one preview.
  folder.write("p/note.yaml", note("{text: three, extra: true}"));
  folder.write("p/note.yaml", note("{text: four, extra: true}"));
  const shown = await running.next(/p\/note\.yaml:\n[\s\S]*?Apply\?/);
  assert.match(shown, /"two" -> "four"/);
  assert.doesNotMatch(`${shown}${running.rest()}`, /"three"|Apply\?[\s\S]*p\/note\.yaml:/);
  running.keys.write("e");
  await running.next(/[Nn]othing|healthy/);

  // A renamed file deletes nothing.
  running.keys.write("y");
  await until(folder, /text: four/);
  renameSync(join(folder.path, "p/note.yaml"), join(folder.path, "p/renamed.yaml"));
  await running.next(/p\/renamed\.yaml:\nNo changes/);
  await running.next(/✓ applied 1 object of p\/renamed\.yaml/);

  // Neither does a removed one: its object is named.
  rmSync(join(folder.path, "p/renamed.yaml"));
  await running.next(
    /Note default\/first is no longer in the files\. To delete it: \S+ delete note\.example\.org first/,
  );
  assert.match(await stored(folder), /text: four/);
  running.keys.write("q");
  await running.next(/Stopping\. Stored data is kept\./);
  assert.equal(await running.stop(), 0);
});

test("on a terminal --apply on-save applies a save at once, and asks before one that destroys something", async () => {
  using folder = project();
  await using running = dev(folder, ["--apply", "on-save"], true);
  await running.next(/Everything is ready\./);
  await until(folder, /text: one/);
  folder.write("p/note.yaml", note("{text: two, extra: true}"));
  await running.next(/✓ applied 1 object of p\/note\.yaml/);
  await until(folder, /text: two/);
  folder.write("p/note.yaml", note("{text: three}"));
  await running.next(/Destructive: 1\. Apply\?/);
  assert.match(await stored(folder), /text: two/);
  running.keys.write("y");
  await running.next(/✓ applied 1 object of p\/note\.yaml/);
  await until(folder, /text: three/);
  assert.equal(await running.stop(), 0);
});

test("a function that hangs ends a preview after --timeout, and its correction can be applied", async () => {
  using folder = project();
  await using running = dev(folder, ["--timeout", "4s"], true);
  await running.next(/Everything is ready\./);
  await until(folder, /word: first/);
  const marker = join(folder.path, "called");
  folder.write("p/fn.ts", hangingSource(marker));
  await running.next(/Previewing Function notes… {3}q quit/);
  await running.next(
    /error: the timeout passed: 1 object is not finished \(.*notes.*\): correct it and save again, or raise --timeout/,
  );
  await running.next(/Failed: \d\. Apply\?/);
  const previewed = readFileSync(marker, "utf8");
  running.keys.write("y");
  await running.next(/✓ Function notes: starting its saved version/);
  await eventually("the version that was applied is called", () => readFileSync(marker, "utf8") !== previewed);
  folder.write("p/fn.ts", functionSource("second"));
  await running.next(/data\.word {2}"first" -> "second"/);
  await running.next(/warning: a running function does not respond/);
  await running.next(/Apply\?/);
  running.keys.write("y");
  await until(folder, /word: second/);
  assert.equal(await running.stop(), 0);
});

test("a saved version that was not applied never takes over by itself", async () => {
  using folder = project();
  await using running = dev(folder, [], true);
  await running.next(/Everything is ready\./);
  await until(folder, /word: first/);
  // The version that was applied does not start, so the one before serves; what is saved then waits for its key all the same.
  folder.write("p/fn.ts", "export default 1;");
  await running.next(/error: Function notes/);
  folder.write("p/note.yaml", note("{text: two, extra: true}"));
  await running.next(/error: Function notes/);
  folder.write("p/fn.ts", onceSource(join(folder.path, "started"), "second"));
  await running.next(/data\.word {2}"first" -> "second"/);
  await running.next(/Apply\?/);
  running.keys.write("y");
  await running.next(/the last working version keeps serving/);
  folder.write("p/fn.ts", functionSource("third"));
  await running.next(/data\.word {2}"first" -> "third"/);
  await running.next(/Apply\?/);
  await delay(2_000);
  assert.match(await stored(folder), /word: first/);
  assert.equal(await running.stop(), 0);
});

test("a version that is saved between its preview and the key is previewed before it is applied", async () => {
  using folder = project();
  await using running = dev(folder, [], true);
  await running.next(/Everything is ready\./);
  await until(folder, /word: first/);
  folder.write("p/fn.ts", functionSource("second"));
  folder.write("p/note.yaml", note("{text: two, extra: true}"));
  await running.next(/data\.word {2}"first" -> "second"/);
  await running.next(/Apply\?/);
  folder.write("p/fn.ts", functionSource("third"));
  running.keys.write("y");
  await running.next(/Function notes: saved after its preview: not applied/);
  await running.next(/data\.word {2}"first" -> "third"/);
  await running.next(/Apply\?/);
  assert.match(await stored(folder), /text: one[\s\S]*word: first/, "nothing of the save was applied");
  running.keys.write("y");
  await until(folder, /text: two[\s\S]*word: third/);
  assert.equal(await running.stop(), 0);
});

test("tests run at the start, with each preview, and when only a test file is saved", async () => {
  using folder = project();
  const inputs = "{xr: note.yaml, xrd: definition.yaml, composition: platform.yaml, functions: function.yaml}";
  const testFile = (text: string): string => `
apiVersion: test.purlin.dev/v1alpha1
kind: CompositionTest
spec:
  inputs: ${inputs}
  cases: [{name: map, expect: {resource: {map: {data: {text: ${text}}}}}}]
`;
  const [fn = "", composition = ""] = platform.split("---");
  folder.write("p/function.yaml", fn);
  folder.write("p/platform.yaml", composition);
  folder.write("p/map.test.yaml", testFile("one"));
  await using running = dev(folder, ["--test"], true);
  await running.next(/tests: \.\s+1 passed in 1 file/);
  folder.write("p/map.test.yaml", testFile("two"));
  await running.next(/tests: F[\s\S]*expected "two", got "one"[\s\S]*1 failed, 0 passed/);
  assert.doesNotMatch(running.rest(), /Apply\?|✓ applied/);
  folder.write("p/note.yaml", note("{text: two, extra: true}"));
  await running.next(/data\.text {2}"one" -> "two"/);
  await running.next(/tests: \.\s+1 passed in 1 file/);
});

test("outside of a terminal a save is a line, and one that destroys something is held", async () => {
  using folder = project();
  await using running = dev(folder, ["--apply", "on-save", "--test"], false);
  await running.next(/Everything is ready\./);
  folder.write("p/note.yaml", note("{text: two, extra: true}"));
  await running.next(/tests: no tests: no files ending in \.test\.yaml found in p|p\/note\.yaml: Plan/);
  await running.next(/✓ applied 1 object of p\/note\.yaml/);
  await until(folder, /text: two/);
  folder.write("p/note.yaml", note("{text: three}"));
  await running.next(/p\/note\.yaml: Plan: 0 to add, 2 to change, 1 to destroy .*Destructive: 1\./);
  await running.next(/held: not applied: Destructive: 1/);
  assert.match(await stored(folder), /text: two/);
  assert.equal(await running.stop(), 3);
});

test("on a pseudo-terminal keys are read without Enter, and the terminal is left as it was", async () => {
  using folder = project();
  const command = [process.execPath, purlinCommand, "dev", "p", "--fresh"].join(" ");
  const env = { ...process.env, NODE_TEST_CONTEXT: undefined, NO_COLOR: "1", TERM: "xterm" };
  const child = spawn("script", ["-qec", `stty -echo; ${command}; stty -a | grep -o -- '-\\?icanon'`, "/dev/null"], {
    cwd: folder.path,
    env,
    stdio: ["pipe", "pipe", "inherit"],
  });
  const ended = once(child, "exit");
  using _killed = { [Symbol.dispose]: () => void child.kill("SIGKILL") };
  let text = "";
  child.stdout.setEncoding("utf8").on("data", (more: string) => {
    text += stripVTControlCharacters(more);
  });
  const next = async (pattern: RegExp): Promise<void> => {
    for (const limit = Date.now() + 90_000; !pattern.test(text); await delay(20))
      if (Date.now() > limit) assert.fail(`${pattern} was not printed: ${text}`);
    text = "";
  };
  await next(/Everything is ready\./);
  folder.write("p/note.yaml", note("{text: two, extra: true}"));
  await next(/Apply\? {3}y apply/);
  child.stdin.write("y");
  await next(/applied 1 object of p\/note\.yaml/);
  child.stdin.write("q");
  await next(/Stopping[\s\S]*\sicanon/);
  assert.deepEqual(await ended, [0, null]);
});
