// SPDX-License-Identifier: Apache-2.0
// Runs the commands of the guide on previews as it shows them, against the quickstart example.
import assert from "node:assert/strict";
import { once } from "node:events";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { tempFolder } from "@purlin/base/testing/temp-folder";
import { functionPackage } from "../test/function-folder.ts";
import { guideBlocks, guideEnv, guideFiles, playBlock } from "../test/play-guide.ts";
import { spawnPurlin } from "../test/spawn-purlin.ts";
import { runInProcess } from "../test/test-io.ts";

const root = fileURLToPath(new URL("../../..", import.meta.url));
const page = "docs/guide/preview-a-change.md";

test("the guide on previews does what it says, in every format and with every exit code", async () => {
  const url = new URL(`../../../${page}`, import.meta.url);
  using folder = tempFolder();
  const files = guideFiles(url);
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder.path, name), text);
  const data = join(folder.path, "data");
  const more = ["--data-dir", data] as const;
  await using running = spawnPurlin(["up", "examples/quickstart", ...more], { cwd: root });
  await running.next("stdout", /^✓ Everything is ready\.$/m);
  const [setup, ...blocks] = guideBlocks(url);
  assert.deepEqual(Object.keys(guideEnv(setup)), ["PURLIN_DATA_DIR"]);
  assert.equal(blocks.length, 5);
  const own = (word: string): string => (Object.hasOwn(files, word) ? join(folder.path, word) : word);
  for (const block of blocks) await playBlock(block, { page, cwd: root, more, own });

  const purlin = (...args: string[]) => runInProcess([...args, ...more], { cwd: root });
  const large = join(folder.path, "large.yaml");
  const json = await purlin("diff", large, "-o", "json", "--exit-code", "terraform");
  const report = JSON.parse(json.stdout) as {
    hash: string;
    summary: object;
    xrs: readonly { changes: readonly object[] }[];
  };
  assert.equal(json.exitCode, 2);
  assert.equal(report.xrs.length, 2);
  assert.deepEqual(report.summary, {
    added: 0,
    modified: 4,
    removed: 0,
    replaced: 0,
    recreated: 0,
    refused: 0,
    pending: 0,
    destructive: 0,
  });

  writeFileSync(join(folder.path, "copy.yaml"), files["large.yaml"] ?? "");
  const twice = await purlin("diff", large, join(folder.path, "copy.yaml"));
  assert.equal(twice.exitCode, 2);
  assert.match(twice.stderr, /App "shop" is also at .*large\.yaml:\d+/);
  const failed = await purlin("diff", join(folder.path, "composition.yaml"), "-o", "json");
  assert.equal(failed.exitCode, 1);
  assert.ok((JSON.parse(failed.stdout) as { errors: readonly object[] }).errors.length > 0);
  assert.equal((await purlin("diff", large, "--function", "none=./missing.ts")).exitCode, 2);

  // What a preview can be asked for beside its files.
  const rights = await purlin("diff", large, "--print-rbac");
  assert.equal(rights.exitCode, 0, rights.stderr);
  assert.match(rights.stdout, /kind: ClusterRole\n/);
  assert.match(rights.stdout, /- apps\n\s+- databases\n\s+verbs:\n\s+- get\n\s+- list\n\s+- patch\n/);
  assert.doesNotMatch(rights.stdout, /- delete\n/);
  const visitor = await purlin("diff", large, "--as", "visitor");
  assert.equal(visitor.exitCode, 1);
  assert.match(visitor.stderr, /User "visitor" cannot list resource/);
  writeFileSync(join(folder.path, "ignored"), "# not of interest\nspec\nConfigMap:data\nmetadata\n");
  const ignored = await purlin("diff", large, "--ignore-file", join(folder.path, "ignored"));
  assert.deepEqual([ignored.exitCode, ignored.stdout], [0, "No changes in 2 composite resources.\n"]);
  const unpruned = await purlin("diff", large, "--prune");
  assert.deepEqual([unpruned.exitCode, unpruned.stderr.includes("--prune: needs -l")], [2, true]);
  await purlin("patch", "app", "shop", '{"metadata": {"labels": {"set": "guide"}}}');
  const pruned = await purlin("diff", join(folder.path, "kiosk.yaml"), "--prune", "-l", "set=guide");
  assert.match(pruned.stdout, /- App default\/shop\n[\s\S]*\+ App default\/kiosk\n/);
  await purlin("patch", "app", "shop", '{"metadata": {"labels": {"set": null}}}');
  const selected = await purlin(
    "diff",
    join(folder.path, "composition.yaml"),
    "-l",
    "set=guide",
    "--minimize-composition",
  );
  assert.match(selected.stdout, /^~ Composition apps\n\nPlan: 0 to add, 1 to change, 0 to destroy\.\n$/);

  await refuseSources(folder.path, purlin);
  await previewPackage(folder.path, purlin);
  await interruptPreview(folder.path, more);

  // Nothing was changed so far; a plan is applied only as it was approved.
  assert.match((await purlin("get", "app", "shop", "-o", "yaml")).stdout, /image: shop-v1/);
  const wrong = await purlin("apply", large, "--confirm", "0".repeat(64));
  assert.deepEqual([wrong.exitCode, wrong.stderr.includes("the plan has changed")], [1, true]);
  const { hash } = JSON.parse(failed.stdout) as { hash: string };
  const incomplete = await purlin("apply", join(folder.path, "composition.yaml"), "--confirm", hash);
  assert.deepEqual([incomplete.exitCode, incomplete.stderr.includes("the preview has errors")], [1, true]);
  const right = await purlin("apply", large, "--confirm", report.hash);
  assert.equal(right.exitCode, 0, right.stderr);
  assert.match(right.stdout, /App default\/shop configured|App shop configured/);
  assert.equal(await running.stop(), 0);
});

type Purlin = (...args: string[]) => ReturnType<typeof runInProcess>;

/** Sources of functions that cannot run are one line each, at once. */
async function refuseSources(folder: string, purlin: Purlin): Promise<void> {
  const file = join(folder, "wrong.xpkg");
  writeFileSync(file, "not a package");
  const wrong = await purlin("diff", "--function", `quickstart-app=${file}`);
  assert.equal(wrong.exitCode, 2);
  assert.match(wrong.stderr, /^error: --function quickstart-app: .*wrong\.xpkg is not a package file: .*\n$/);
  const refused = await purlin("diff", "--function", "quickstart-app=127.0.0.1:1");
  assert.equal(refused.exitCode, 1);
  assert.match(
    refused.stderr,
    /^error: --function quickstart-app: cannot call 127\.0\.0\.1:1: connection refused: .*\n$/,
  );
  const unknown = await purlin("diff", "--xr", "sho");
  assert.equal(unknown.exitCode, 2);
  assert.match(unknown.stderr, /^error: --xr sho: no composite resource of this name .*\n$/);
}

/** A package that composes nothing takes the place of a function, on this machine and in the preview alone. */
async function previewPackage(folder: string, purlin: Purlin): Promise<void> {
  using source = functionPackage();
  const file = join(folder, "hello.xpkg");
  const built = await runInProcess(["xpkg", "build", "-o", file], { cwd: source.path, env: { ...process.env } });
  assert.equal(built.exitCode, 0, built.stderr);
  const plan = await purlin("diff", "--function", `quickstart-app=${file}`, "-o", "json");
  assert.equal(plan.exitCode, 3, plan.stdout);
  const { summary, functions } = JSON.parse(plan.stdout) as {
    summary: { removed: number };
    functions: readonly { name: string }[];
  };
  assert.equal(summary.removed, 4, "everything that the App is composed of");
  assert.ok(functions.some(({ name }) => name === "quickstart-app"));
  // The recorded request of a run, answered by the package.
  const runs = JSON.parse((await purlin("runs", "ls", "app/shop", "-o", "json")).stdout) as {
    items: readonly { id: string }[];
  };
  const replayed = await purlin("runs", "replay", runs.items[0]?.id ?? "", "--step", "compose", "--with", file);
  assert.deepEqual([replayed.exitCode, replayed.stderr], [3, ""]);
  assert.match(replayed.stdout, /compose: the response differs from the recorded one/);
  const missing = await purlin("diff", "--function", "quickstart-app=revision:none");
  assert.deepEqual([missing.exitCode, missing.stderr.includes('FunctionRevision "none" not found')], [2, true]);
}

/** Ctrl-C ends a preview with the functions that it has started. */
async function interruptPreview(folder: string, more: readonly string[]): Promise<void> {
  const marker = join(folder, "called");
  writeFileSync(
    join(folder, "hang.mjs"),
    `import { once } from "node:events";
import { existsSync, readFileSync, writeFileSync } from "node:fs";\nexport default () => { writeFileSync(${JSON.stringify(marker)}, String(process.pid)); return new Promise(() => {}); };\n`,
  );
  const args = ["diff", "--function", `quickstart-app=${join(folder, "hang.mjs")}`, ...more];
  await using running = spawnPurlin(args, { cwd: root });
  const exited = once(running.child, "exit");
  while (!existsSync(marker)) await delay(20);
  running.child.kill("SIGINT");
  assert.deepEqual(await exited, [130, null]);
  const pid = Number(readFileSync(marker, "utf8"));
  assert.ok(pid > 0);
  assert.throws(() => process.kill(pid, 0), { code: "ESRCH" }, "the function has ended with the preview");
}
