// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { request } from "node:https";
import { join } from "node:path";
import { test } from "node:test";
import { tempFolder } from "@purlin/base/testing/temp-folder";
import { takeDataDirectory } from "@purlin/kube-apiserver";
import { spawnPurlin } from "../../test/spawn-purlin.ts";
import { runInProcess } from "../../test/test-io.ts";
import { startEmbeddedServer } from "./embedded-server.ts";

interface Access {
  readonly server: string;
  readonly ca: Buffer;
  readonly cert: Buffer;
  readonly key: Buffer;
}

/** What a kubeconfig says, read without a YAML library: it has one cluster and one user. */
function readKubeconfig(path: string): Access {
  const text = readFileSync(path, "utf8");
  const value = (name: string): string => new RegExp(`${name}"?: *"?([^"\\s,]+)`).exec(text)?.[1] ?? "";
  const data = (name: string): Buffer => Buffer.from(value(`${name}-data`), "base64");
  return {
    server: value("server"),
    ca: data("certificate-authority"),
    cert: data("client-certificate"),
    key: data("client-key"),
  };
}

function ask(
  { server, ca, cert, key }: Access,
  method: string,
  path: string,
  body?: object,
): Promise<{ code: number; body: unknown }> {
  const { promise, resolve, reject } = Promise.withResolvers<{ code: number; body: unknown }>();
  const headers = { "content-type": "application/json" };
  const outgoing = request(`${server}${path}`, { method, ca, cert, key, headers, agent: false }, (incoming) => {
    const chunks: Buffer[] = [];
    incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
    incoming.on("end", () =>
      resolve({ code: incoming.statusCode ?? 0, body: JSON.parse(Buffer.concat(chunks).toString()) }),
    );
  });
  outgoing.on("error", reject);
  outgoing.end(body && JSON.stringify(body));
  return promise;
}

test("it serves, says where, keeps data and port across restarts, and stops cleanly", async () => {
  using folder = tempFolder();
  const directory = join(folder.path, "data");
  const start = () => spawnPurlin(["apiserver", "--data-dir", directory]);
  const configMaps = "/api/v1/namespaces/default/configmaps";

  const first = start();
  const [, url] = await first.next("stdout", /API server at (https:\/\/127\.0\.0\.1:\d+)\n/);
  await first.next("stdout", /Pods are not run/);
  const access = readKubeconfig(join(directory, "kubeconfig"));
  assert.equal(access.server, url);
  const created = await ask(access, "POST", configMaps, { metadata: { name: "kept" }, data: { a: "1" } });
  assert.equal(created.code, 201);
  assert.equal(await first.stop(), 0);

  const second = start();
  await second.next("stdout", new RegExp(`API server at ${url}\n`));
  const again = await ask(readKubeconfig(join(directory, "kubeconfig")), "GET", `${configMaps}/kept`);
  assert.equal(again.code, 200);
  for (const file of ["kubeconfig", "port"]) assert.equal(statSync(join(directory, file)).mode & 0o077, 0, file);

  const third = start();
  await third
    .next("stderr", /^purlin: error: --data-dir .*data: .*\n/m)
    .catch(async () => third.next("stderr", /--data-dir/));
  assert.notEqual(await third.stop(), 0, "one server at a time on one folder");
  assert.equal(await second.stop(), 0);
});

test("an invalid request limit is rejected by both commands that serve the API", async () => {
  using folder = tempFolder({});
  for (const command of ["apiserver", "up"]) {
    for (const value of ["0", "1.5", "many"]) {
      const args = [command, "--data-dir", "d", "--max-requests-inflight", value];
      const { exitCode, stderr } = await runInProcess(args, { cwd: folder.path });
      assert.equal(exitCode, 2, `${command} ${value}`);
      assert.ok(stderr.includes(`--max-requests-inflight ${value}: expected an integer of at least 1`), stderr);
    }
  }
});

test("a port in use and a data directory that is not a folder are one-line errors", async () => {
  using folder = tempFolder({ file: "x" });
  const wrongPort = await runInProcess(["apiserver", "--data-dir", "d", "--port", "70000"], { cwd: folder.path });
  assert.equal(wrongPort.exitCode, 2);
  assert.match(wrongPort.stderr, /--port 70000: expected a port from 0 \(any free port\) to 65535/);
  assert.ok(!existsSync(join(folder.path, "d")), "nothing is made for a wrong command");
  const noFolder = await runInProcess(["apiserver", "--data-dir", "file"], { cwd: folder.path });
  assert.equal(noFolder.exitCode, 1);
  assert.match(
    noFolder.stderr,
    /--data-dir .*file: the path or a part of it is a file, not a folder: choose another folder$/m,
  );
  assert.equal(noFolder.stderr.trim().split("\n").length, 1);
});

test("a port of the last start that another program has now is an error, and 0 chooses another one", async () => {
  using folder = tempFolder();
  const other = spawnPurlin(["apiserver", "--data-dir", join(folder.path, "other")]);
  const [, port] = await other.next("stdout", /127\.0\.0\.1:(\d+)\n/);
  mkdirSync(join(folder.path, "mine"), { mode: 0o700 });
  writeFileSync(join(folder.path, "mine", "port"), `${port}\n`);
  const refused = spawnPurlin(["apiserver", "--data-dir", join(folder.path, "mine")]);
  const message = `port ${port}, which the API server used before, is in use by another program: stop that program, or choose another port with --port, or 0 for any free port`;
  await refused.next("stderr", new RegExp(`^error: ${message}\n`));
  const mine = spawnPurlin(["apiserver", "--data-dir", join(folder.path, "mine"), "--port", "0"]);
  const [, chosen] = await mine.next("stdout", /127\.0\.0\.1:(\d+)\n/);
  assert.notEqual(chosen, port);
  assert.equal(await mine.stop(), 0);
  assert.equal(await other.stop(), 0);
});

test("a server waits for the process that was killed in its data directory, and not for one that runs", async () => {
  using folder = tempFolder();
  const directory = join(folder.path, "data");
  const held = takeDataDirectory(directory);
  const warnings: string[] = [];
  const start = () =>
    startEmbeddedServer({
      directory,
      port: 0,
      warn(text) {
        warnings.push(text);
        held.release();
      },
    });
  await assert.rejects(start(), /is in use by the process with pid \d+: stop it, or choose another directory/);
  assert.deepEqual(warnings, []);
  const { pid: ended = 0 } = spawnSync(process.execPath, ["--version"]);
  writeFileSync(join(directory, "lock.pid"), `${ended}\n`);
  await using _ = await start();
  assert.deepEqual(warnings, [
    "the last control plane of this data directory was killed and is ending: waiting for it",
  ]);
});

test("with simulated workloads it says so, and a Pod runs on the simulated node", async () => {
  using folder = tempFolder();
  const directory = join(folder.path, "data");
  const server = spawnPurlin(["apiserver", "--data-dir", directory, "--workloads", "simulate"]);
  await server.next("stdout", /Workloads are simulated/);
  const access = readKubeconfig(join(directory, "kubeconfig"));
  const pods = "/api/v1/namespaces/default/pods";
  const pod = { metadata: { name: "web" }, spec: { containers: [{ name: "main", image: "nginx" }] } };
  assert.equal((await ask(access, "POST", pods, { apiVersion: "v1", kind: "Pod", ...pod })).code, 201);
  let phase: string | undefined;
  while (phase !== "Running") {
    const { body } = await ask(access, "GET", `${pods}/web`);
    phase = (body as { readonly status: { readonly phase?: string } }).status.phase;
  }
  assert.equal(await server.stop(), 0);
});

test("an unknown mode of workloads is a usage error", async () => {
  using folder = tempFolder();
  const { exitCode, stderr } = await runInProcess(["apiserver", "--data-dir", folder.path, "--workloads", "fake"]);
  assert.equal(exitCode, 2);
  assert.match(stderr, /--workloads fake: expected simulate or off/);
});
