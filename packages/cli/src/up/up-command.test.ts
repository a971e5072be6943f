// SPDX-License-Identifier: Apache-2.0
// Whole control planes in processes of their own: from the start to the end.
import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync, rmSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { tempFolder } from "@purlin/base/testing/temp-folder";
import { claimsExample, edit, image, purlin, untilSettings, up } from "../../test/function-folder.ts";
import { spawnPurlin } from "../../test/spawn-purlin.ts";

test("the example with claims becomes ready, prints commands to try, and each of these works", async () => {
  using folder = claimsExample();
  await using running = up(folder, "claims");
  await running.next("stdout", /control plane at https:\/\/127\.0\.0\.1:\d+ \(kubeconfig \.purlin\/kubeconfig\)/);
  await running.next("stdout", /applied 8 objects of claims\n/);
  await running.next("stdout", /Everything is ready\.\n/);
  await running.next("stdout", /npx purlin trace -o tree app shop/);

  const namespace = await purlin(folder, "get", "namespace", "crossplane-system", "-o", "name");
  assert.equal(namespace.stdout, "namespace/crossplane-system\n", "the namespace that guides and packages expect");
  const traced = await purlin(folder, "trace", "-o", "tree", "app", "shop");
  assert.equal(traced.stderr, "");
  assert.match(
    traced.stdout,
    /^✓ App default\/shop {2}Ready.*\n└─ ✓ XApp shop-\w+ {2}Ready.*\n {3}├─ ✓ XDatabase shop-\S+ {2}Ready\n {3}│ {2}└─ · ConfigMap default\/shop-\S+\n/,
  );
  assert.match(traced.stdout, / {3}└─ · Secret default\/shop-login\n/);
  assert.match(traced.stdout, /\nImageFound +True +Available\n/);
  const data = JSON.parse((await purlin(folder, "trace", "app/shop", "-o", "json")).stdout) as Record<string, unknown>;
  const { object, purlin: own } = data as { object: { kind: string; metadata: { name: string } }; purlin: object };
  assert.deepEqual([object.kind, object.metadata.name], ["App", "shop"]);
  assert.deepEqual(own, { state: "ready", reasons: [], functionRevisions: [] });
  assert.deepEqual(JSON.parse((await purlin(folder, "trace", "-o", "json")).stdout), { items: [data] });
  const { stdout: table } = await purlin(folder, "trace", "app/shop");
  assert.match(
    table,
    /^NAME +SYNCED +READY +STATUS\nApp\/shop \(default\) +True +True +Available\n└─ XApp\/shop-\w+ +True +True +Available\n/,
  );
  assert.match(
    table,
    /\n {3}├─ Secret\/shop-login \(default\) +- +- +\n| {3}└─ Secret\/shop-login \(default\) +- +- +\n/,
  );
  const part = await purlin(folder, "trace", "-o", "tree", "configmap", "shop-settings");
  assert.equal(part.stdout, "· ConfigMap default/shop-settings\n", "what composes nothing is not said to wait");

  assert.equal((await purlin(folder, "patch", "app", "shop", image("shop-v9"))).stdout, "App shop patched\n");
  await running.nextAll("stdout", [
    /App default\/shop: Ready.*: ImageFound: NotFound: There is no image "shop-v9"\./,
    /XApp shop-\w+: Failing: .*Synced: ReconcileError: .*There is no image "shop-v9"\./,
  ]);
  const broken = await purlin(folder, "trace", "-o", "tree", "app", "shop");
  assert.match(broken.stdout, /^! App default\/shop {2}Ready, DatabaseReady\n/);
  assert.match(broken.stdout, /\nWarning +ReconcileError.*There is no image "shop-v9"/);
  await purlin(folder, "patch", "app", "shop", image("shop-v2"));
  await running.next("stdout", /App default\/shop: Ready, (ImageFound, DatabaseReady|DatabaseReady, ImageFound)\n/);
  await untilSettings(folder, /registry\.example\.org\/shop:v2/);

  assert.equal((await purlin(folder, "delete", "app", "shop")).stdout, "App shop deleted\n");
  await running.next("stdout", /Secret default\/shop-login: gone/);
  assert.equal((await purlin(folder, "apply", "claims/claim.yaml")).stdout, "App default/shop created\n");
  await running.next("stdout", /App default\/shop: Ready, /);
  assert.equal(await running.stop(), 0);
  await running.next("stdout", /Stopping\. Stored data is kept\./);
});

test("a $KUBECONFIG that other commands would use instead is reported", async () => {
  using folder = tempFolder({ "other.yaml": "" });
  const own = join(folder.path, ".purlin/kubeconfig");
  for (const [variable, isReported] of [
    ["other.yaml", true],
    [own, false],
  ] as const) {
    await using running = spawnPurlin(["up"], { cwd: folder.path, env: { KUBECONFIG: variable } });
    const [text] = await running.next("stdout", /registry at[\s\S]*The control plane is ready\./);
    const warning =
      /! \$KUBECONFIG is set: other commands use it .*"unset KUBECONFIG" there, or add --data-dir \.purlin\n/;
    assert.equal(warning.test(text), isReported, text);
  }
});

test("--wait ends with 0 when all is ready, and everything is there the next time", async () => {
  using folder = claimsExample();
  for (const _ of [1, 2]) {
    await using running = up(folder, "claims", "--wait");
    await running.next("stdout", /everything is ready/);
    await once(running.child, "close");
    assert.equal(running.child.exitCode, 0);
  }
});

test("--wait ends with 1 and the reasons when the time is up", async () => {
  using folder = claimsExample();
  edit(folder, "claim.yaml", (text) => text.replace("shop-v1", "shop-v7"));
  await using running = up(folder, "claims");
  await running.next("stdout", /App default\/shop: Waiting: .*ImageFound: NotFound: There is no image "shop-v7"\./);
  assert.equal(await running.stop(), 0);
  await using waiting = up(folder, "--wait", "--timeout", "3s");
  const closed = once(waiting.child, "close");
  await waiting.next("stderr", /not ready after 3s:\n/);
  await waiting.next(
    "stderr",
    /^ {2}App default\/shop: Waiting: .*ImageFound: NotFound: There is no image "shop-v7"\./m,
  );
  await waiting.next("stderr", /^ {2}XApp shop-\w+: Failing: .*There is no image "shop-v7"\./m);
  await closed;
  assert.equal(waiting.child.exitCode, 1);
});

test("a folder has one control plane, and a second one fails with an error", async () => {
  using folder = claimsExample();
  await using first = up(folder);
  await first.next("stdout", /The control plane is ready\./);
  await using second = up(folder);
  const closed = once(second.child, "close");
  await second.next("stderr", /^error: --data-dir .*\.purlin: .*in use.*\n/);
  await closed;
  assert.equal(second.child.exitCode, 1);
});

test("Ctrl-C ends it in good order, also when npm sends it on", async () => {
  using folder = tempFolder();
  await using running = up(folder);
  await running.next("stdout", /The control plane is ready\./);
  const closed = once(running.child, "close");
  for (let i = 0; i < 2; i++) running.child.kill("SIGINT");
  await running.next("stdout", /Stopping\. Stored data is kept\./);
  await closed;
  assert.deepEqual([running.child.exitCode, running.child.signalCode], [0, null]);
});

test("a port in use is an error", async (t) => {
  using folder = tempFolder();
  const taken = createServer().listen({ host: "127.0.0.1", port: 0 });
  await once(taken, "listening");
  t.after(() => taken.close());
  const { port } = taken.address() as AddressInfo;
  await using running = up(folder, "--port", String(port));
  const closed = once(running.child, "close");
  await running.next(
    "stderr",
    new RegExp(`^error: --port ${port} is in use by another program: choose another port with --port`),
  );
  await closed;
  assert.equal(running.child.exitCode, 1);
});

test("kill -9 leaves no function behind, and the next start continues where it was", async () => {
  using folder = claimsExample();
  edit(
    folder,
    "src/app.ts",
    (text) => `import { writeFileSync } from "node:fs";\nwriteFileSync("pid", String(process.pid));\n${text}`,
  );
  const running = up(folder, "claims");
  await running.next("stdout", /Everything is ready\./);
  const pid = Number(readFileSync(join(folder.path, "pid"), "utf8"));
  assert.ok(isAlive(pid));
  running.child.kill("SIGKILL");
  await once(running.child, "close");
  while (isAlive(pid)) await setTimeout(20);
  rmSync(join(folder.path, "pid"));
  await using again = up(folder, "--wait");
  await again.next("stdout", /everything is ready/);
});

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
