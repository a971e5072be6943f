// SPDX-License-Identifier: Apache-2.0
// Every command that writes a file the user names, where something else is at that path: it is never replaced by a file.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import {
  constants,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer, Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { after, before, test } from "node:test";
import { type Registry, startRegistry } from "@purlin/oci";
import { spawnPurlin } from "../../../packages/cli/test/spawn-purlin.ts";
import { type Outcome, runInProcess } from "../../../packages/cli/test/test-io.ts";

const root = mkdtempSync(join(tmpdir(), "hostile-outputs-"));
const data = join(root, "data");
let server: ReturnType<typeof spawnPurlin>;
let registry: Registry;
before(async () => {
  server = spawnPurlin(["apiserver", "--data-dir", data]);
  await server.next("stdout", /API server at/);
  registry = await startRegistry({ directory: join(root, "registry") });
  const cwd = freshFolder();
  writeFileSync(join(cwd, "crossplane.yaml"), packageMeta);
  const map = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a", namespace: "default" } };
  writeFileSync(join(cwd, "map.json"), JSON.stringify({ ...map, data: { text: "x".repeat(500_000) } }));
  for (const args of [
    ["xpkg", "build", "--ignore", "map.json", "-o", "p.xpkg"],
    ["xpkg", "push", `${registry.address}/a/p:v1`, "-f", "p.xpkg"],
    ["apply", "map.json", "--data-dir", data],
  ]) {
    const { exitCode, stderr } = await runInProcess(args, { cwd, env: {} });
    assert.equal(exitCode, 0, stderr);
  }
});
after(async () => {
  await server[Symbol.asyncDispose]();
  await registry.close();
  rmSync(root, { recursive: true, force: true });
});

let count = 0;
function freshFolder(): string {
  const folder = join(root, `folder-${++count}`);
  mkdirSync(folder);
  return folder;
}

const packageMeta = "apiVersion: meta.pkg.crossplane.io/v1\nkind: Configuration\nmetadata: {name: p}\n";
const suite =
  "apiVersion: test.purlin.dev/v1alpha1\nkind: CompositionTest\nspec: {inputs: {}, cases: [{name: a, skip: later}]}\n";

interface Writer {
  readonly args: () => readonly string[];
  /** What the output begins with. */
  readonly begins: RegExp;
}

/** Each writes to `out`. */
const writers: Readonly<Record<string, Writer>> = {
  "export --out": {
    args: () => ["export", "--data-dir", data, "--kinds", "configmaps", "--out", "out"],
    begins: /^---\napiVersion/,
  },
  "kubeconfig --output": {
    args: () => ["kubeconfig", "--data-dir", data, "--as", "jane", "--role", "view", "--output", "out"],
    begins: /^apiVersion: v1/,
  },
  "test --junit": { args: () => ["test", "--junit", "out"], begins: /^<\?xml/ },
  "xpkg build --output": { args: () => ["xpkg", "build", "--output", "out"], begins: /^sha256:/ },
  "xpkg pull --output": {
    args: () => ["xpkg", "pull", `${registry.address}/a/p:v1`, "--output", "out"],
    begins: /^sha256:/,
  },
};

function run(args: readonly string[], cwd: string): Promise<Outcome> {
  if (args[0] === "xpkg") writeFileSync(join(cwd, "crossplane.yaml"), packageMeta);
  if (args[0] === "test") writeFileSync(join(cwd, "x.test.yaml"), suite);
  return runInProcess(args, { cwd, env: { HOME: cwd } });
}

for (const [command, { args, begins }] of Object.entries(writers)) {
  test(`${command}: a pipe gets the output and stays`, async () => {
    const cwd = freshFolder();
    const path = join(cwd, "out");
    execFileSync("mkfifo", [path]);
    const unread = await run(args(), cwd);
    assert.match(
      unread.stderr,
      /^error: cannot write out: no program reads from this named pipe \(FIFO\): start one first$/m,
    );
    const bytes = buffer(
      new Socket({ fd: openSync(path, constants.O_RDONLY | constants.O_NONBLOCK), writable: false }),
    );
    const { exitCode, stderr } = await run(args(), cwd);
    assert.equal(exitCode, 0, stderr);
    assert.match((await bytes).toString("latin1"), begins);
    assert.ok(lstatSync(path).isFIFO());
  });

  test(`${command}: the target of a link is written, and the link stays`, async () => {
    const cwd = freshFolder();
    writeFileSync(join(cwd, "real"), "before");
    symlinkSync("real", join(cwd, "out"));
    const { exitCode, stderr } = await run(args(), cwd);
    assert.equal(exitCode, 0, stderr);
    assert.ok(lstatSync(join(cwd, "out")).isSymbolicLink());
    assert.match(readFileSync(join(cwd, "real"), "latin1"), begins);
  });

  test(`${command}: a folder and a socket are refused and stay`, async () => {
    const cwd = freshFolder();
    mkdirSync(join(cwd, "out"));
    const folder = await run(args(), cwd);
    assert.match(folder.stderr, /^error: cannot write out: it is a folder: specify a file in it$/m);
    rmSync(join(cwd, "out"), { recursive: true });
    const socket = createServer();
    await new Promise<void>((resolve) => void socket.listen(join(cwd, "out"), resolve));
    const refused = await run(args(), cwd);
    assert.match(refused.stderr, /^error: cannot write out: it is a socket: specify a file$/m);
    assert.notEqual(refused.exitCode, 0);
    assert.ok(lstatSync(join(cwd, "out")).isSocket());
    socket.close();
  });
}

test("backup never replaces anything: not even a link that leads nowhere", async () => {
  const cwd = freshFolder();
  execFileSync("mkfifo", [join(cwd, "pipe")]);
  symlinkSync("none", join(cwd, "link"));
  for (const name of ["pipe", "link"]) {
    const { exitCode, stderr } = await run(["backup", name, "--data-dir", data], cwd);
    assert.deepEqual([exitCode, stderr], [1, `error: ${name} exists: choose another name\n`]);
  }
  assert.ok(lstatSync(join(cwd, "pipe")).isFIFO() && lstatSync(join(cwd, "link")).isSymbolicLink());
});

test("an audit log that is a pipe never blocks the server, is never moved aside and gets the events", async () => {
  const cwd = freshFolder();
  const path = join(cwd, "log");
  writeFileSync(join(cwd, "policy.yaml"), "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Metadata}]\n");
  execFileSync("mkfifo", [path]);
  const flags = ["--audit-policy-file", join(cwd, "policy.yaml"), "--audit-log-path", path];
  const unread = await run(["apiserver", "--data-dir", "data", ...flags], cwd);
  assert.match(unread.stderr, /^error: cannot write .*log: no program reads from this named pipe/);
  // Reads a little, and no more: the pipe stays full.
  const reader = spawn("bash", ["-c", 'exec 3<>"$0"; echo ready; exec 4<"$0" 3>&-; head -c 100 <&4; sleep 60', path]);
  await new Promise((resolve) => reader.stdout.once("readable", resolve));
  await using attacked = spawnPurlin(["apiserver", "--data-dir", join(cwd, "data"), ...flags]);
  await attacked.next("stdout", /API server at/);
  for (let at = 0; at < 300; at += 1) {
    const { exitCode, stderr } = await run(["get", "namespaces", "--data-dir", join(cwd, "data")], cwd);
    assert.equal(exitCode, 0, stderr);
  }
  assert.ok(lstatSync(path).isFIFO());
  reader.kill();
});
