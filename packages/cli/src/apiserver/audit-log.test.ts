// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import {
  closeSync,
  constants,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
} from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { tempFolder } from "@purlin/base/testing/temp-folder";
import { parseAuditPolicy } from "@purlin/kube-apiserver";
import { spawnPurlin } from "../../test/spawn-purlin.ts";
import { runInProcess } from "../../test/test-io.ts";
import { type AuditSettings, openAuditLog } from "./audit-log.ts";

const policy = "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules:\n- level: RequestResponse\n";
const rules = [{ level: "Metadata" }];
const parsed = parseAuditPolicy({ apiVersion: "audit.k8s.io/v1", kind: "Policy", rules });
const settingsAt = (path: string): AuditSettings => ({ policy: parsed, path, maxBytes: 100, maxBackups: 2 });

test("purlin apiserver logs requests to a file of its data directory, without the content of Secrets", async () => {
  using folder = tempFolder({
    "policy.yaml": policy,
    "secret.yaml": "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {password: hunter2}\n",
    "map.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\ndata: {key: logged}\n",
  });
  const server = spawnPurlin(["apiserver", "--data-dir", "d", "--audit-policy-file", "policy.yaml"], {
    cwd: folder.path,
  });
  await server.next("stdout", /API server at/);
  for (const file of ["secret.yaml", "map.yaml"]) {
    const { exitCode, stderr } = await runInProcess(["apply", "-f", file, "--data-dir", "d"], {
      cwd: folder.path,
      env: {},
    });
    assert.equal(exitCode, 0, stderr);
  }
  assert.equal(await server.stop(), 0);
  const file = join(folder.path, "d/audit.log");
  const text = readFileSync(file, "utf8");
  assert.equal(statSync(file).mode & 0o077, 0);
  assert.match(text, /"requestObject":\{[^\n]*"key":"logged"/);
  assert.match(text, /"objectRef":\{"resource":"secrets","namespace":"default","name":"s"/);
  assert.doesNotMatch(text, /hunter2|aHVudGVyMg/);
});

/** Writes more than three files of a log have room for. */
async function fill(path: string): Promise<void> {
  using log = await openAuditLog(settingsAt(path), assert.fail);
  for (let number = 0; number < 6; number += 1) {
    log.write(`${String(number).repeat(60)}\n`);
    await turn();
    // File names hold milliseconds.
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  log.write("the last\n");
}

test("a log that is full is rotated, and the oldest files are deleted", async () => {
  using folder = tempFolder();
  const path = join(folder.path, "audit.log");
  await fill(path);
  const names = readdirSync(folder.path).toSorted();
  assert.equal(names.length, 3, names.join());
  assert.match(names[0] ?? "", /^audit-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d{3}\.log$/);
  assert.equal(readFileSync(path, "utf8"), `${"5".repeat(60)}\nthe last\n`);
});

test("a log that another program deletes when it is nearly full is written again", async () => {
  using folder = tempFolder();
  const path = join(folder.path, "audit.log");
  using log = await openAuditLog(settingsAt(path), assert.fail);
  for (const text of ["deleted", "kept"]) {
    log.write(`${text.repeat(12)}\n`);
    await turn();
    if (text === "deleted") rmSync(path);
  }
  assert.equal(readFileSync(path, "utf8"), `${"kept".repeat(12)}\n`);
  assert.deepEqual(readdirSync(folder.path), ["audit.log"]);
});

test("a log behind a link is rotated beside the file, and the link stays", async () => {
  using folder = tempFolder();
  const [link, real] = [join(folder.path, "audit.log"), join(folder.path, "real")];
  mkdirSync(real);
  symlinkSync("real/kept.log", link);
  await fill(link);
  assert.ok(lstatSync(link).isSymbolicLink());
  assert.equal(readlinkSync(link), "real/kept.log");
  assert.deepEqual(readdirSync(folder.path).toSorted(), ["audit.log", "real"]);
  const names = readdirSync(real).toSorted();
  assert.equal(names.length, 3, names.join());
  assert.match(names[0] ?? "", /^kept-.*\.log$/);
  assert.equal(readFileSync(link, "utf8"), `${"5".repeat(60)}\nthe last\n`);
});

/** A program that reads from a pipe. `open` it for writing only when it has begun. */
function reader(path: string) {
  const child = spawn("cat", [path], { stdio: ["ignore", "pipe", "inherit"] });
  let text = "";
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
    text += chunk;
  });
  return {
    async has(pattern: RegExp): Promise<void> {
      while (!pattern.test(text)) await once(child.stdout, "data");
    },
    async end(): Promise<void> {
      child.kill("SIGKILL");
      await once(child, "close");
    },
  };
}

/** Waits until something is so, which others do. */
async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((resolve) => setTimeout(resolve, 5));
}

test("a log on a pipe is opened again when its reader has come back", async () => {
  using folder = tempFolder();
  const path = join(folder.path, "pipe");
  execFileSync("mkfifo", [path]);
  const warnings: string[] = [];
  const first = reader(path);
  const open = async () => {
    for (;;) {
      try {
        return await openAuditLog(settingsAt(path), (text) => warnings.push(text));
      } catch (error) {
        // The reader has not opened it yet.
        assert.match(String(error), /no program reads from this named pipe/);
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    }
  };
  using log = await open();
  log.write("one\n");
  await first.has(/one/);
  await first.end();
  for (let i = 0; warnings.length === 0 || i < 5; i += 1) {
    log.write("lost\n");
    await turn();
    await turn();
  }
  await until(() => warnings.length > 0);
  assert.match(warnings.join(), /^warning: cannot write the audit log .*pipe: .*; events are lost$/);
  const second = reader(path);
  await until(() => {
    log.write("two\n");
    return warnings.length > 1;
  });
  assert.equal(warnings.length, 2);
  assert.match(warnings[1] ?? "", /^warning: the audit log .*pipe is written again; \d+ events were lost$/);
  await second.has(/two/);
  await second.end();
});

test("a log that cannot be written is reported once, and again when it can be", async () => {
  using folder = tempFolder();
  const path = join(folder.path, "gone", "audit.log");
  const warnings: string[] = [];
  using log = await openAuditLog(settingsAt(path), (text) => warnings.push(text));
  const write = async (): Promise<void> => {
    log.write("line\n");
    await turn();
    await turn();
  };
  await write();
  await write();
  assert.equal(warnings.length, 1);
  assert.match(warnings[0] ?? "", /^warning: cannot write the audit log .*; events are lost$/);
  mkdirSync(join(folder.path, "gone"));
  await write();
  assert.match(warnings[1] ?? "", /^warning: the audit log .* is written again; 2 events were lost$/);
  rmSync(join(folder.path, "gone"), { recursive: true });
  await write();
  assert.equal(warnings.length, 3);
});

test("a reader that has stopped reading does not keep the process from ending", async (t) => {
  using folder = tempFolder();
  const path = join(folder.path, "pipe");
  execFileSync("mkfifo", [path]);
  const unread = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  t.after(() => closeSync(unread));
  const pipes = (): number => process.getActiveResourcesInfo().filter((name) => name === "PipeWrap").length;
  const before = pipes();
  t.mock.timers.enable({ apis: ["setTimeout"] });
  {
    using log = await openAuditLog(settingsAt(path), () => {});
    log.write("more than a pipe holds".repeat(10_000));
    await turn();
  }
  assert.ok(pipes() > before, "it waits for its reader");
  t.mock.timers.tick(60_000);
  while (pipes() > before) await turn();
});
