// SPDX-License-Identifier: Apache-2.0
// Does what the page on operations says, with its three examples; then what a user does with operations that fail.
import assert from "node:assert/strict";
import { cpSync, readdirSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { tempFolder } from "@purlin/base/testing/temp-folder";
import { guideBlocks, patternOf, playBlock, wordsOf } from "../test/play-guide.ts";
import { spawnPurlin } from "../test/spawn-purlin.ts";
import { type Outcome, runInProcess } from "../test/test-io.ts";

const page = "docs/guide/operations.md";
const root = fileURLToPath(new URL("../../..", import.meta.url));
type Purlin = (...argv: readonly string[]) => Promise<Outcome>;

test("the page on operations does what it says", async () => {
  using folder = tempFolder();
  const cwd = folder.path;
  cpSync(join(root, "examples/operations"), cwd, { recursive: true });
  symlinkSync(join(root, "node_modules"), join(cwd, "node_modules"));
  const purlin: Purlin = (...argv) => runInProcess(argv, { cwd });
  await using running = new AsyncDisposableStack();
  for (const block of guideBlocks(new URL(`../../../${page}`, import.meta.url))) {
    if (block.kind === "serve") {
      const server = running.use(spawnPurlin(wordsOf(block.commands[0] ?? ""), { cwd }));
      for (const line of block.output) await server.next("stdout", patternOf(line));
      continue;
    }
    assert.equal(block.kind, "test", `${page}:${block.line}`);
    await playBlock(block, { page, cwd });
  }
  // Elsewhere: the control plane applies every file of its folder.
  using other = tempFolder();
  await checkDiff(purlin, other.write);
  await checkExamples(purlin);
  await checkRuns(purlin);
  const failed = await checkFailures(purlin, other.write);
  await checkExports(purlin, cwd, failed);
});

async function field(purlin: Purlin, type: string, name: string, path: string): Promise<string> {
  return (await purlin("get", type, name, "-n", "default", "-o", `jsonpath={${path}}`)).stdout;
}

/** What an Operation would apply to the objects that exist now. */
async function checkDiff(purlin: Purlin, write: (name: string, text: string) => string): Promise<void> {
  const rotate = readFileSync(join(root, "examples/operations/rotate-secret.yaml"), "utf8");
  const file = write("again.yaml", rotate.replace("name: rotate-database-password", "name: again"));
  const before = await field(purlin, "secrets", "database", ".data.password");
  const { stdout, stderr } = await purlin("diff", file);
  assert.match(stdout, /Operation[ /]again/, stderr);
  assert.match(stdout, /Secret[ /].*database/, stderr);
  assert.equal(await field(purlin, "secrets", "database", ".data.password"), before);
}

async function checkExamples(purlin: Purlin): Promise<void> {
  const before = await field(purlin, "secrets", "database", ".data.password");
  const rotated = await purlin("operation", "run", "rotate-secret.yaml");
  assert.match(rotated.stderr, /^Operation rotate-database-password-[0-9a-f]{6} created$/m);
  assert.match(rotated.stdout, /^output of step rotate:\n {2}rotated: default\/database$/m);
  assert.match(rotated.stdout, /^applied Secret database in namespace default\nsucceeded$/m);
  assert.equal(await field(purlin, "secrets", "database", ".data.previous-password"), before);
  const backup = await purlin("operation", "run", "back-up.yaml", "-o", "json");
  assert.equal(backup.exitCode, 0, backup.stdout + backup.stderr);
  const { kind, status } = JSON.parse(backup.stdout) as { kind: string; status: { pipeline: unknown[] } };
  assert.deepEqual([kind, status.pipeline.length], ["Operation", 1]);
  assert.equal(await field(purlin, "configmaps", "backup-manual", ".data.settings\\.json"), '{"size":"3"}');
  // The WatchOperation runs by itself.
  for (let tries = 0; (await field(purlin, "configmaps", "worker", ".data.health")) !== "restarting"; tries++) {
    assert.ok(tries < 300, "the worker is repaired");
    await delay(200);
  }
}

async function checkRuns(purlin: Purlin): Promise<void> {
  const { stdout } = await purlin("runs", "ls", "-o", "json");
  type Listed = { readonly items: readonly { id: string; xr: { kind: string; name: string }; outcome: string }[] };
  const { items } = JSON.parse(stdout) as Listed;
  const backup = items.find(({ xr }) => xr.kind === "Operation" && xr.name.startsWith("nightly-backup-"));
  assert.equal(backup?.outcome, "composed");
  const shown = await purlin("runs", "show", backup?.id ?? "");
  assert.match(shown.stdout, /back-up/);
  const named = await purlin("runs", "ls", `operation/${backup?.xr.name}`);
  assert.ok(named.stdout.includes(backup?.id ?? "none"), named.stdout + named.stderr);
  const replayed = await purlin("runs", "replay", backup?.id ?? "");
  assert.deepEqual([replayed.exitCode, replayed.stdout], [0, "back-up: the response equals the recorded one\n"]);
}

/** Runs of Operations become tests: of one that applied an object, and of one that failed. */
async function checkExports(purlin: Purlin, cwd: string, failed: string): Promise<void> {
  const { stdout } = await purlin("runs", "ls", "-o", "json");
  const { items } = JSON.parse(stdout) as { readonly items: readonly { id: string; xr: { name: string } }[] };
  for (const [prefix, expected] of [
    ["rotate-database-password", /outputs:\n +rotate:\n +rotated: default\/database\n/],
    [failed, /fatal: /],
  ] as const) {
    const { id = "" } = items.findLast(({ xr }) => xr.name.startsWith(prefix)) ?? {};
    const folder = `exported/${prefix}`;
    const exported = await purlin("runs", "export", id, "--output", folder);
    assert.equal(exported.exitCode, 0, exported.stderr);
    const tested = await purlin("test", folder);
    assert.equal(tested.exitCode, 0, `${prefix}\n${tested.stdout}${tested.stderr}`);
    const [file = ""] = readdirSync(join(cwd, folder)).filter((name) => name.endsWith(".test.yaml"));
    const text = readFileSync(join(cwd, folder, file), "utf8");
    assert.match(text, /^kind: OperationTest$/m);
    assert.match(text, expected);
  }
}

/** Resolves to the name of an Operation that failed. */
async function checkFailures(purlin: Purlin, write: (name: string, text: string) => string): Promise<string> {
  const operation = (functionName: string, retryLimit: number): string =>
    JSON.stringify({
      apiVersion: "ops.crossplane.io/v1alpha1",
      kind: "Operation",
      metadata: { name: functionName },
      spec: { mode: "Pipeline", retryLimit, pipeline: [{ step: "one", functionRef: { name: functionName } }] },
    });
  const failed = await purlin("operation", "run", write("fails.yaml", operation("rotate-secret", 1)));
  assert.equal(failed.exitCode, 1);
  const text = 'pipeline step "one" returned a fatal result: the Secret does not exist: create it first';
  assert.ok(failed.stderr.includes(`attempt 1 failed: ${text}`), failed.stderr);
  assert.ok(failed.stdout.includes(`failed: failure limit of 1 reached: ${text}`), failed.stdout);
  const [, name = ""] = /^Operation (\S+) created$/m.exec(failed.stderr) ?? [];
  const explained = await purlin("explain", `operation/${name}`);
  assert.deepEqual([explained.exitCode, /E29 .*the Secret does not exist/.test(explained.stdout)], [3, true]);
  const absent = write("absent.yaml", operation("absent", 100));
  const late = await purlin("operation", "run", absent, "--timeout", "1s");
  assert.equal(late.exitCode, 1);
  assert.match(late.stderr, /Operation absent-[0-9a-f]{6} has not ended after 1s: /);
  return name;
}
