// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { appendFileSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { type TempFolder, tempFolder } from "@purlin/base/testing/temp-folder";
import { mastersGroup } from "@purlin/kube-apiserver";
import { createDirectTransport, createKubeClient } from "@purlin/kube-client";
import { installCrds } from "@purlin/kube-controller";
import { packageCrds } from "@purlin/package-manager";
import { runInProcess, TestIo } from "../../test/test-io.ts";
import { startEmbeddedServer } from "../apiserver/embedded-server.ts";
import { run } from "../run.ts";

const logs = ".purlin/functions/logs";

/** Three logs, written one after the other. */
function dataFolder(): TempFolder {
  const folder = tempFolder();
  const files = { "fn/fn-aaa.log": "a1\na2\n", "fn/fn-bbb.log": "b1\nb2\n", "fn-other/fn-other.log": "o1\n" };
  for (const [index, [name, text]] of Object.entries(files).entries()) {
    utimesSync(folder.write(`${logs}/${name}`, text), index + 1, index + 1);
  }
  folder.write(`${logs}/fn/fn-aaa.log.1`, "a0\n");
  folder.write(`${logs}/silent/silent.log`, "");
  return folder;
}

interface Case {
  readonly args: readonly string[];
  readonly stdout?: string;
  readonly stderr?: string;
  readonly exitCode?: number;
  readonly reason: string;
}

const cases: Record<string, Case> = {
  All: {
    args: ["fn"],
    stdout: "==> fn-aaa <==\na0\na1\na2\n\n==> fn-bbb <==\nb1\nb2\n",
    reason: "all revisions, the last one last, and none of a function whose name begins alike",
  },
  One: { args: ["fn", "--revision", "fn-aaa"], stdout: "a0\na1\na2\n", reason: "one revision, its older file first" },
  Tail: { args: ["fn", "--tail", "1"], stdout: "==> fn-aaa <==\na2\n\n==> fn-bbb <==\nb2\n", reason: "of each" },
  Source: { args: ["fn-other"], stdout: "o1\n", reason: "a function without revisions" },
  Elsewhere: { args: ["fn-other", "--data-dir", ".purlin"], stdout: "o1\n", reason: "the folder may be named" },
  Silent: { args: ["silent"], stderr: 'no logs of function "silent" yet\n', reason: "it ran and wrote nothing" },
  UnknownFunction: {
    args: ["unknown"],
    stderr: 'error: no logs of function "unknown" in .purlin; functions with logs: fn, fn-other, silent\n',
    exitCode: 1,
    reason: "names those there are, once each",
  },
  UnknownRevision: {
    args: ["--revision", "fn-ccc"],
    stderr: 'error: no logs of revision "fn-ccc" in .purlin; revisions with logs: fn-aaa, fn-bbb, fn-other, silent\n',
    exitCode: 1,
    reason: "of all functions",
  },
  NoRevision: {
    args: ["fn", "--revision", "fn-ccc"],
    stderr: 'error: no logs of revision "fn-ccc" of function "fn"; revisions with logs: fn-aaa, fn-bbb\n',
    exitCode: 1,
    reason: "names those there are",
  },
  OutOfFolder: {
    args: ["../logs/fn"],
    stderr: 'error: no logs of function "../logs/fn" in .purlin; functions with logs: fn, fn-other, silent\n',
    exitCode: 1,
    reason: "a name is not a path",
  },
  NoFolder: {
    args: ["fn", "--data-dir", "elsewhere"],
    stderr:
      "error: no function logs in elsewhere: start a control plane with purlin up, or specify its folder with --data-dir; on a cluster, use kubectl logs\n",
    exitCode: 1,
    reason: "says what to do",
  },
  BadSince: {
    args: ["fn", "--since", "soon", "--data-dir", "elsewhere"],
    stderr: 'error: --since: expected a duration such as 30m or 1h, not "soon"\n',
    exitCode: 2,
    reason: "before anything is looked for",
  },
  BadTail: {
    args: ["fn", "--tail", "many"],
    stderr: 'error: --tail: expected a number of lines such as 100, not "many"\n',
    exitCode: 2,
    reason: "the command line is wrong",
  },
};

for (const [name, { args, stdout = "", stderr = "", exitCode = 0, reason }] of Object.entries(cases)) {
  test(`purlin logs: ${name}`, async () => {
    using folder = dataFolder();
    const got = await runInProcess(["logs", ...args], { cwd: folder.path });
    assert.deepEqual(got, { exitCode, stdout, stderr }, reason);
  });
}

test("--selector shows the functions with these labels, and names labels that no Function has", async () => {
  using folder = dataFolder();
  await using server = await startEmbeddedServer({ directory: join(folder.path, ".purlin"), port: 0, warn: () => {} });
  const admin = { name: "admin", groups: [mastersGroup] };
  const client = createKubeClient(createDirectTransport(server.server.handle, admin));
  await installCrds(client, packageCrds({ functionRevisionSelectors: false }));
  for (const [name, team] of Object.entries({ fn: "web", "fn-other": "data", silent: "web" })) {
    const metadata = { name, labels: { team } };
    const spec = { package: `registry.example.org/${name}:v1` };
    await client.create({ apiVersion: "pkg.crossplane.io/v1", kind: "Function", metadata, spec });
  }
  await client.close();
  const logsOf = (...args: readonly string[]) => runInProcess(["logs", ...args], { cwd: folder.path });
  const { stdout, exitCode } = await logsOf("-l", "team=data");
  assert.deepEqual([exitCode, stdout.replaceAll(/^\S+ +/gm, "")], [0, "o1\n"]);
  assert.deepEqual(
    (await logsOf("-l", "team=none")).stderr,
    "error: --selector team=none: no Function has these labels\n",
  );
});

test("following shows what is written from now on, and a revision that turns up", async () => {
  using folder = dataFolder();
  const stopping = new AbortController();
  const io = new TestIo({ cwd: folder.path, signal: stopping.signal });
  const seen = async (text: string): Promise<void> => {
    while (!io.stdout.text.includes(text)) await new Promise((resolve) => setTimeout(resolve, 20));
  };
  const ended = run(["logs", "fn", "-f", "--tail", "1"], io);
  await seen("b2\n");
  appendFileSync(`${folder.path}/${logs}/fn/fn-bbb.log`, "b3\n");
  await seen("b3\n");
  folder.write(`${logs}/fn/fn-ccc.log`, "c1\n");
  await seen("==> fn-ccc <==\nc1\n");
  stopping.abort();
  await ended;
  const first = "==> fn-aaa <==\na2\n\n==> fn-bbb <==\nb2\n";
  assert.equal(io.stdout.text, `${first}b3\n\n==> fn-ccc <==\nc1\n`, "nothing is missing, nothing comes twice");
});

const first = '{"level":"info","ts":1700000000.5,"msg":"one","tag":"t","xr":"App/shop","namespace":"default"}';
const second = '2023-11-14T22:13:21.000Z  ERROR  src/a.ts:1  two  {"xr":"App/cart"}';
const third = '{"ts":1700000002,"msg":"three"}';

test("lines of all functions are merged by time; lines without a time stay with the line before", async () => {
  using folder = tempFolder();
  folder.write(`${logs}/fn-a/fn-a.log`, `${first}\n${third}\n`);
  folder.write(`${logs}/fn-long/fn-long.log`, `${second}\n    at stack\n`);
  const purlin = async (...args: string[]): Promise<string> => {
    const { exitCode, stdout, stderr } = await runInProcess(["logs", ...args], { cwd: folder.path });
    assert.deepEqual([exitCode, stderr], [0, ""]);
    return stdout;
  };
  const merged = `fn-a     ${first}\nfn-long  ${second}\nfn-long      at stack\nfn-a     ${third}\n`;
  assert.equal(await purlin(), merged);
  assert.equal(await purlin("fn-a", "fn-long"), merged);
  assert.equal(await purlin("--tail", "1"), `fn-a  ${third}\n`);
  assert.equal(await purlin("--xr", "app/cart"), `fn-long  ${second}\nfn-long      at stack\n`);
  const line = JSON.parse(await purlin("--xr", "App/shop", "-o", "json")) as object;
  assert.deepEqual(line, {
    ...{ function: "fn-a", revision: "fn-a", time: 1_700_000_000_500, xr: "App/shop", namespace: "default" },
    text: first,
  });
  const recent = await runInProcess(["logs", "fn-a", "--since", "1h"], { cwd: folder.path });
  assert.deepEqual(recent, { exitCode: 0, stdout: "", stderr: "no log lines found\n" });
  const wrong = await runInProcess(["logs", "--since", "soon"], { cwd: folder.path });
  assert.deepEqual(
    [wrong.exitCode, wrong.stderr],
    [2, 'error: --since: expected a duration such as 30m or 1h, not "soon"\n'],
  );
  const unknown = await runInProcess(["logs", "fn-a", "nope"], { cwd: folder.path });
  assert.match(unknown.stderr, /^error: no logs of function "nope" in \.purlin; functions with logs: fn-a, fn-long\n$/);
});

test("following all functions shows new lines of each, also of one that turns up", async () => {
  using folder = tempFolder();
  const path = folder.write(`${logs}/fn-a/fn-a.log`, `${first}\n`);
  const stopping = new AbortController();
  const io = new TestIo({ cwd: folder.path, signal: stopping.signal });
  const ended = run(["logs", "-f"], io);
  const seen = async (text: string): Promise<void> => {
    while (!io.stdout.text.includes(text)) await new Promise((resolve) => setTimeout(resolve, 20));
  };
  await seen("one");
  appendFileSync(path, "half a ");
  folder.write(`${logs}/fn-b/fn-b.log`, `${second}\n`);
  await seen("two");
  assert.ok(!io.stdout.text.includes("half"), "a line is printed when it is whole");
  appendFileSync(path, "line\n");
  await seen("fn-a  half a line\n");
  stopping.abort();
  await ended;
});
