// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { appendFileSync, utimesSync } from "node:fs";
import { test } from "node:test";
import { run } from "../run.ts";
import { type TempFolder, tempFolder } from "../testing/temp-folder.ts";
import { runInProcess, TestIo } from "../testing/test-io.ts";

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
  Silent: { args: ["silent"], stderr: 'no logs of function "silent" yet\n', reason: "it ran and said nothing" },
  UnknownFunction: {
    args: ["unknown"],
    stderr: 'error: no logs of function "unknown" in .purlin; functions with logs: fn, fn-other, silent\n',
    exitCode: 1,
    reason: "names those there are, once each",
  },
  UnknownRevision: {
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
