// SPDX-License-Identifier: Apache-2.0
// Runs the steps of the page on debugging, with a debugger that uses the protocol of editors.
import assert from "node:assert/strict";
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync, realpathSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { tempFolder } from "@purlin/base/testing/temp-folder";
import { attachInspector, connectInspector, guideFiles, type Inspector, playPage } from "../test/play-guide.ts";
import { runInProcess } from "../test/test-io.ts";

const root = fileURLToPath(new URL("../../..", import.meta.url));
const page = "docs/guide/debugging.md";
const url = new URL(`../../../${page}`, import.meta.url);
const source = guideFiles(url)["src/function.ts"] ?? "";
const breakpointLine = source.split("\n").findIndex((line) => line.includes("console.log"));

interface Configuration {
  readonly name: string;
  readonly program?: string;
  readonly args?: readonly string[];
}

/** A debug configuration of the page's launch.json. */
function configuration(name: string): Configuration {
  const { configurations } = JSON.parse(guideFiles(url)[".vscode/launch.json"] ?? "{}") as {
    readonly configurations: readonly Configuration[];
  };
  return configurations.find((one) => one.name === name) ?? assert.fail(`there is no configuration "${name}"`);
}

/** Starts the program of a configuration as an editor does: it waits for the debugger. */
function launch({ program = "", args = [] }: Configuration, folder: string): ChildProcessWithoutNullStreams {
  const file = program
    .replace(/\$\{workspaceFolder\}/, folder)
    .replace(/\$\{file\}/, join(folder, "src/function.test.ts"));
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  return spawn(process.execPath, ["--inspect-wait=127.0.0.1:0", file, ...args], { cwd: folder, env });
}

/** Sets the breakpoint of this test, and lets a program that waits for the debugger run. */
async function setBreakpoint(inspector: Inspector): Promise<void> {
  await inspector.call("Debugger.enable");
  const urlRegex = ".*/src/function\\.ts$";
  await inspector.call("Debugger.setBreakpointByUrl", { lineNumber: breakpointLine, urlRegex });
  await inspector.call("Runtime.runIfWaitingForDebugger");
}

/** The line, counted from 0, at which the function stops next. Stops elsewhere, such as before the first line, are passed. */
async function nextStop(inspector: Inspector): Promise<number> {
  for (;;) {
    const { callFrames } = (await inspector.next("Debugger.paused")) as {
      readonly callFrames: readonly { readonly location: { readonly scriptId: string; readonly lineNumber: number } }[];
    };
    const { scriptId = "", lineNumber = -1 } = callFrames[0]?.location ?? {};
    if (inspector.scripts.get(scriptId)?.endsWith("/src/function.ts")) return lineNumber;
    await inspector.call("Debugger.resume");
  }
}

/** Starts a reconcile of the App, as the page says. */
async function requestReconcile(cwd: string, token: string): Promise<void> {
  const metadata = { annotations: { "crossplane.io/reconcile-requested-at": token } };
  const { exitCode, stderr } = await runInProcess(["patch", "app", "shop", JSON.stringify({ metadata })], { cwd });
  assert.equal(exitCode, 0, stderr);
}

/** The process that runs the source file; any other than the one given. */
async function functionProcess(folder: string, other?: number): Promise<number> {
  for (;;) {
    for (const name of readdirSync("/proc").filter((entry) => /^\d+$/.test(entry))) {
      try {
        const words = readFileSync(`/proc/${name}/cmdline`, "utf8").split("\0");
        const isNode = realpathSync(`/proc/${name}/exe`) === realpathSync(process.execPath);
        if (isNode && words[2] === join(folder, "src/function.ts") && Number(name) !== other) return Number(name);
      } catch {
        // It has ended meanwhile.
      }
    }
    await setTimeout(100);
  }
}

/**
 * Opens the inspector of a function of `purlin up` that is not the process `other`; `purlin logs` shows its address. Port 9229 may be in use
 * for a moment, and a process that was just found may be replaced: two changes of a file start the function twice.
 */
async function attach(cwd: string, other?: number): Promise<Inspector> {
  for (;;) {
    try {
      process.kill(await functionProcess(cwd, other), "SIGUSR1");
    } catch {
      continue;
    }
    await setTimeout(1000);
    const { stdout } = await runInProcess(["logs", "compose-app"], { cwd });
    const last = [...stdout.matchAll(/^Debugger listening on (ws:\S+)$|^Debugger ending/gm)].at(-1)?.[1];
    if (last === undefined) continue;
    return connectInspector(last);
  }
}

test("the test of the page stops at a breakpoint", async () => {
  using folder = tempFolder({ ...guideFiles(url), "package.json": '{"type":"module"}' });
  symlinkSync(join(root, "node_modules"), join(folder.path, "node_modules"));
  const child = launch(configuration("Debug the test in this file"), folder.path);
  const exited = once(child, "exit");
  await using inspector = await attachInspector(child.stderr);
  child.stdout.resume();
  await setBreakpoint(inspector);
  assert.equal(await nextStop(inspector), breakpointLine);
  await inspector.call("Debugger.disable");
  await inspector[Symbol.asyncDispose]();
  assert.deepEqual(await exited, [0, null]);
});

test("the page on debugging does what it says", async () => {
  await playPage(page, {
    async finally(folder) {
      const files = ["app.yaml", "platform/platform.yaml", "platform/function.yaml"];
      const rendered = await runInProcess(["render", ...files], { cwd: folder });
      assert.match(
        rendered.stderr,
        /^compose-app: image: registry\.example\.org\/shop:v1$/m,
        "console.log of a render",
      );
      const first = await functionProcess(folder);
      {
        await using attached = await attach(folder);
        await setBreakpoint(attached);
        await requestReconcile(folder, "first");
        assert.equal(await nextStop(attached), breakpointLine);
        await attached.call("Debugger.disable");
      }
      await pauseEndlessLoop(folder, first);
      await stopInLaunchedFunction(folder);
    },
  });
});

/** A loop without end is found by pausing. */
async function pauseEndlessLoop(folder: string, before: number): Promise<void> {
  const loops = source.replace(/^ {2}console\.log.*$/m, "  while (app.name !== '');");
  writeFileSync(join(folder, "src/function.ts"), loops);
  await using looping = await attach(folder, before);
  await looping.call("Debugger.enable");
  await requestReconcile(folder, "second");
  const stopped = nextStop(looping);
  const isStopped = stopped.then(() => true);
  // Until the call has come, pausing stops elsewhere.
  do await looping.call("Debugger.pause");
  while (!(await Promise.race([isStopped, setTimeout(500, false)])));
  assert.equal(await stopped, breakpointLine);
  writeFileSync(join(folder, "src/function.ts"), source);
}

/** The function in a debugger, called by the control plane. */
async function stopInLaunchedFunction(folder: string): Promise<void> {
  const { args = [], ...rest } = configuration("Debug the function");
  const addresses = ["--address=localhost:0", "--metrics-address="];
  const child = launch({ ...rest, args: [...args, ...addresses] }, folder);
  const exited = once(child, "exit");
  await using inspector = await attachInspector(child.stderr);
  await setBreakpoint(inspector);
  const [, port = ""] = await nextMatch(child, /(?:127\.0\.0\.1|localhost|\[::1\]):(\d+)/);
  const [, manifest = ""] =
    /^```yaml\n(apiVersion[\s\S]*?Development[\s\S]*?)^```$/m.exec(readFileSync(url, "utf8")) ?? [];
  assert.match(manifest, /localhost:9443/);
  writeFileSync(join(folder, "platform/function.yaml"), manifest.replace("9443", port));
  assert.equal(await nextStop(inspector), breakpointLine);
  await inspector.call("Debugger.disable");
  child.kill("SIGKILL");
  await exited;
}

async function nextMatch(child: ChildProcessWithoutNullStreams, pattern: RegExp): Promise<RegExpExecArray> {
  let text = "";
  for await (const chunk of child.stderr.iterator({ destroyOnReturn: false })) {
    text += String(chunk);
    const match = pattern.exec(text);
    if (match) return match;
  }
  return assert.fail(text);
}
