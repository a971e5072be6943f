// SPDX-License-Identifier: Apache-2.0
// Does what the pages on operating a control plane and on a second person say.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { tempFolder } from "@purlin/base/testing/temp-folder";
import { guideBlocks, guideFiles, playBlock, playPage, wordsOf } from "../test/play-guide.ts";
import { spawnPurlin } from "../test/spawn-purlin.ts";
import { runInProcess } from "../test/test-io.ts";
import { commandTable } from "./commands/command-table.ts";

const page = "docs/guide/operating.md";
const url = new URL(`../../../${page}`, import.meta.url);

const note = (name: string): string =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}, namespace: default}\n`;

test("the page on a second person does what it says", () => playPage("docs/guide/second-person.md"));

test("a backup of the page holds what was stored before it, and an export what users made", async () => {
  using folder = tempFolder({ "before.yaml": note("before"), "after.yaml": note("after") });
  const cwd = folder.path;
  const play = { page, cwd };
  const blocks = guideBlocks(url);
  assert.deepEqual(
    blocks.map(({ kind }) => kind),
    ["test", "stopped", "test"],
  );
  const [backup, restore, exported] = blocks;
  const apply = async (file: string): Promise<void> => {
    assert.equal((await runInProcess(["apply", file], { cwd })).exitCode, 0);
  };
  {
    await using up = spawnPurlin(["up"], { cwd });
    await up.next("stdout", /The control plane is ready/);
    await apply("before.yaml");
    if (backup) await playBlock(backup, play);
    await apply("after.yaml");
    const early = await runInProcess(wordsOf(restore?.commands[0] ?? ""), { cwd });
    assert.deepEqual([early.exitCode, /is in use by the process/.test(early.stderr)], [1, true]);
    assert.equal(await up.stop(), 0);
  }
  if (restore) await playBlock({ ...restore, kind: "test" }, play);
  assert.ok(existsSync(join(cwd, ".purlin.before-restore")));
  await using again = spawnPurlin(["up"], { cwd });
  await again.next("stdout", /The control plane is ready/);
  const { stdout } = await runInProcess(["get", "configmaps", "-o", "name"], { cwd });
  assert.deepEqual([stdout.includes("configmap/before"), stdout.includes("configmap/after")], [true, false]);
  if (exported) await playBlock(exported, play);
  assert.match(readFileSync(join(cwd, "platform.yaml"), "utf8"), /name: before/);
  for (const words of [["export", "--no-secrets"], ["explain"]]) {
    const { exitCode, stderr } = await runInProcess(words, { cwd });
    assert.deepEqual([exitCode, stderr], [0, ""], "no warnings about kinds without objects");
  }
  assert.equal(await again.stop(), 0);
});

test("the audit policy of the page logs writes and no reads", async () => {
  using folder = tempFolder({ ...guideFiles(url), "before.yaml": note("before") });
  const cwd = folder.path;
  await using up = spawnPurlin(["up", "--audit-policy-file", "audit-policy.yaml"], { cwd });
  await up.next("stdout", /The control plane is ready/);
  assert.equal((await runInProcess(["apply", "before.yaml"], { cwd })).exitCode, 0);
  assert.equal((await runInProcess(["get", "configmaps"], { cwd })).exitCode, 0);
  assert.equal(await up.stop(), 0);
  type Event = { readonly apiVersion: string; readonly verb: string; readonly objectRef?: { readonly name?: string } };
  const lines = readFileSync(join(cwd, ".purlin/audit.log"), "utf8").trim().split("\n");
  const events = lines.map((line) => JSON.parse(line) as Event);
  assert.ok(events.some(({ verb, objectRef }) => verb === "patch" && objectRef?.name === "before"));
  assert.ok(events.every(({ apiVersion }) => apiVersion === "audit.k8s.io/v1"));
  assert.deepEqual(
    events.filter(({ verb }) => ["get", "list", "watch"].includes(verb)),
    [],
  );
});

test("the unit of the page starts a command with flags that exist", () => {
  const [, line = ""] = /^ExecStart=\S+\/purlin (.*)$/m.exec(readFileSync(url, "utf8")) ?? [];
  const [name, ...words] = line.split(" ");
  const flags = commandTable.find((one) => one.name === name)?.options?.map((option) => option.flags.split(" ")[0]);
  const used = words.filter((word) => word.startsWith("--"));
  assert.ok(used.length > 0);
  assert.deepEqual(
    used.filter((flag) => !flags?.includes(flag)),
    [],
  );
});

test("the commands of the page on monitoring find the certificate, the token and the port", async () => {
  const text = readFileSync(new URL("../../../docs/guide/monitoring.md", import.meta.url), "utf8");
  const [, block = ""] = /^```sh\n([\s\S]*?)^```$/m.exec(text) ?? [];
  using folder = tempFolder();
  const cwd = folder.path;
  await using up = spawnPurlin(["up"], { cwd });
  const [, port = ""] = await up.next("stdout", /https:\/\/127\.0\.0\.1:(\d+)/);
  // What curl is called with, without curl.
  writeFileSync(join(cwd, "show.sh"), block.replace(/^curl /m, "printf '%s\\n' "));
  const shown = spawnSync("/bin/sh", ["-e", "show.sh"], { cwd, encoding: "utf8" });
  assert.equal(shown.status, 0, shown.stderr);
  const token = readFileSync(join(cwd, ".purlin/metrics-token"), "utf8").trim();
  assert.deepEqual(shown.stdout.trim().split("\n").slice(1), [
    "purlin-ca.crt",
    "-H",
    `Authorization: Bearer ${token}`,
    `https://127.0.0.1:${port}/metrics`,
  ]);
  const authority = readFileSync(join(cwd, "purlin-ca.crt"), "utf8");
  assert.match(authority, /^-----BEGIN CERTIFICATE-----/);
  assert.ok(readFileSync(join(cwd, ".purlin/pki/ca.pem"), "utf8").includes(authority.trim()));
  assert.equal(await up.stop(), 0);
});
