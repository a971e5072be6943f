// SPDX-License-Identifier: Apache-2.0
// What a function in a sandbox can and cannot do, asked of a real one.

import assert from "node:assert/strict";
import { mkdirSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { TempFolder } from "@purlin/base/testing/temp-folder";
import { create, RequestMeta, RunFunctionRequest } from "@purlin/function-protocol";
import { createDiallingRunner } from "@purlin/function-runner";
import { bundleCommand, bundleFunction, bundlePath } from "@purlin/oci";
import { functionProject } from "@purlin/oci/testing";
import { commandLineOf, sandboxOf } from "../../test/local-processes.ts";
import { connectorProgram } from "../image/sandbox-network.ts";
import { processesBelow } from "../limits/marked-processes.ts";
import { mountPoints, type Sandbox } from "../sandbox/sandbox-arguments.ts";
import { createFunctionProcesses } from "./function-processes.ts";

// Which addresses a process listens on, as the kernel says.

const listening = "0A";
/** 127.0.0.1, ::1 and the former inside the latter's family, as the kernel writes them. */
const loopback = /^(0100007F|00000000000000000000000001000000|0000000000000000FFFF00000100007F)$/;

/** What a process listens on over TCP. */
interface Listener {
  readonly port: number;
  readonly isLoopback: boolean;
}

/** The listening TCP sockets of a process; none of one that has ended. */
function listenersOf(pid: number): readonly Listener[] {
  const own = socketsOf(pid);
  return ["tcp", "tcp6"]
    .flatMap((table) => rowsOf(pid, table))
    .flatMap(([, local = "", , state, ...rest]) => {
      if (state !== listening || !own.has(rest[5] ?? "")) return [];
      const [host = "", port = ""] = local.split(":");
      return [{ port: Number.parseInt(port, 16), isLoopback: loopback.test(host) }];
    });
}

function rowsOf(pid: number, table: string): string[][] {
  const lines = attempt(() => readFileSync(`/proc/${pid}/net/${table}`, "utf8")) ?? "";
  return lines
    .split("\n")
    .slice(1)
    .map((line) => line.trim().split(/\s+/));
}

/** The inodes of the sockets that a process has open. */
function socketsOf(pid: number): ReadonlySet<string> {
  const files = attempt(() => readdirSync(`/proc/${pid}/fd`)) ?? [];
  const targets = files.map((file) => attempt(() => readlinkSync(`/proc/${pid}/fd/${file}`)) ?? "");
  return new Set(targets.flatMap((target) => /^socket:\[(\d+)\]$/.exec(target)?.[1] ?? []));
}

function attempt<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

/** Responds with what it can find out about its environment; it ignores the flag for its address. */
const spy = (secret: string, { mayWrite }: { readonly mayWrite: boolean }): string => `
import { openSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { response } from "@purlin/function-sdk";
const attempt = (what) => { try { return String(what()); } catch (error) { return error.code ?? error.message; } };
const reach = (port) => new Promise((resolve) => {
  connect(port, "127.0.0.1").once("connect", () => resolve("connected")).once("error", (error) => resolve(error.code));
});
export default async (req) => {
  const rsp = response.to(req);
  const fill = () => { for (let at = 0; at < 100; at++) writeFileSync("/tmp/" + at, Buffer.alloc(1024 * 1024)); };
  const found = {
    secret: attempt(() => readFileSync(${JSON.stringify(secret)}, "utf8")),
    processes: attempt(() => readdirSync("/proc").filter((name) => /^[0-9]+$/.test(name)).length < 10),
    parent: attempt(() => process.kill(${process.pid}, 0)),
    root: ${mayWrite} && attempt(() => writeFileSync("/written", "x")),
    kernel: ${mayWrite} && attempt(() => openSync("/proc/sys/kernel/core_pattern", "r+")),
    disk: ${mayWrite} && attempt(fill),
    api: await reach(Number(req.meta?.tag)),
    uid: process.getuid(),
    env: Object.keys(process.env).filter((name) => !["PATH", "HOME", "PWD"].includes(name)).sort().join(),
  };
  response.normal(rsp, JSON.stringify(found));
  return rsp;
};
`;

const plain = 'import { response } from "@purlin/function-sdk";\nexport default (req) => response.to(req);\n';

async function imageOf(folder: TempFolder): Promise<string> {
  const root = join(folder.path, "root");
  for (const mount of [...mountPoints, "function"]) mkdirSync(join(root, mount), { recursive: true });
  writeFileSync(join(root, bundlePath), (await bundleFunction(join(folder.path, "fn.ts"))).code);
  return root;
}

async function ask(sandbox: Sandbox | undefined, count: number): Promise<Record<string, unknown>[]> {
  const secret = "hunter2";
  using folder = functionProject({ secret });
  folder.write("fn.ts", spy(join(folder.path, "secret"), { mayWrite: sandbox !== undefined }));
  const root = await imageOf(folder);
  const env = { PATH: "/usr/bin:/bin", SECRET_TOKEN: secret };
  await using processes = createFunctionProcesses({ directory: join(folder.path, "state"), env });
  const runner = createDiallingRunner({ security: processes.security });
  const config = { entrypoint: bundleCommand, cmd: [], env: ["FROM_IMAGE=1"], workingDir: "/", user: "" };
  const program = {
    kind: "image",
    root,
    process: config,
    needsNode: true,
    sandbox,
  } as const;
  const names = Array.from({ length: count }, (_, at) => `fn-${at}`);
  const answers: Record<string, unknown>[] = [];
  for (const name of names)
    processes.run({
      name,
      cwd: "/",
      program: { ...program, env: { FUNCTION_NAME: name }, socket: join(folder.path, "s", name) },
    });
  for (const name of names) {
    const served = await processes.get(name)?.served(AbortSignal.timeout(60_000));
    assert.ok(served);
    const { endpoint } = served;
    const target = { functionName: name, revisionName: name, packageRef: "", endpoint, revision: 1 };
    const request = create(RunFunctionRequest, { meta: create(RequestMeta, { tag: "1" }) });
    const { results } = await runner.run(target, request, { deadline: Date.now() + 60_000 });
    answers.push(JSON.parse(results[0]?.message ?? "{}") as Record<string, unknown>);
  }
  runner.close();
  return answers;
}

test("a sandboxed function sees its image and nothing else; several listen on the same port", async (t) => {
  const support = await sandboxOf(t);
  if (support === undefined) return;
  for (const found of await ask(support, 3)) {
    assert.deepEqual(found, {
      secret: "ENOENT",
      processes: "true",
      parent: "ESRCH",
      root: "EROFS",
      kernel: "EROFS",
      disk: "ENOSPC",
      api: "ECONNREFUSED",
      uid: 2000,
      env: "FROM_IMAGE,FUNCTION_NAME,TLS_SERVER_CERTS_DIR",
    });
  }
});

test("without a sandbox it runs all the same, without the control plane's environment", async () => {
  const [found] = await ask(undefined, 1);
  assert.equal(found?.["secret"], "hunter2", "this is what the sandbox is for");
  assert.ok(!String(found?.["env"]).includes("SECRET_TOKEN"));
});

test("without a sandbox, two functions listen on loopback alone, each on ports of its own", async () => {
  using folder = functionProject({});
  folder.write("fn.ts", plain);
  const root = await imageOf(folder);
  const env = { PATH: "/usr/bin:/bin" };
  await using processes = createFunctionProcesses({ directory: join(folder.path, "state"), env });
  const before = new Set(processesBelow(process.pid));
  // The image asks for metrics on all interfaces, as images for a Pod do.
  const imageEnv = ["METRICS_ADDRESS=:8080"];
  const config = { entrypoint: bundleCommand, cmd: [], env: imageEnv, workingDir: "/", user: "" };
  const image = {
    kind: "image",
    root,
    process: config,
    needsNode: true,
    env: {},
    socket: "",
    sandbox: undefined,
  } as const;
  for (const name of ["one", "two"]) processes.run({ name, cwd: "/", program: image });
  for (const name of ["one", "two"]) await processes.get(name)?.served(AbortSignal.timeout(60_000));
  const find = (): readonly Listener[] =>
    processesBelow(process.pid)
      .filter((pid) => !before.has(pid))
      .flatMap(listenersOf);
  // Metrics are served a moment after calls.
  for (let look = 0; look < 500 && find().length < 4; look++) await new Promise((resolve) => setTimeout(resolve, 20));
  const listeners = find();
  assert.deepEqual(
    listeners.map(({ isLoopback }) => isLoopback),
    [true, true, true, true],
    "each serves calls and metrics",
  );
  assert.equal(new Set(listeners.map(({ port }) => port)).size, 4);
});

test("without a sandbox, a function that ignores --address fails with advice to install bubblewrap", async () => {
  using folder = functionProject({});
  const elsewhere = "require('node:net').createServer().listen(0, '127.0.0.1')";
  const config = { entrypoint: ["node", "-e", elsewhere, "--"], cmd: [], env: [], workingDir: "/", user: "" };
  const image = { kind: "image", root: folder.path, process: config, needsNode: true, env: {}, socket: "" } as const;
  const limits = { startMs: 200, restart: { baseMs: 60_000, maxMs: 60_000, healthyMs: 0 } };
  await using processes = createFunctionProcesses({ directory: join(folder.path, "state"), env: {}, limits });
  const running = processes.run({ name: "fn", cwd: "/", program: { ...image, sandbox: undefined } });
  await running.settled();
  assert.match(
    running.state.phase === "failed" ? running.state.problem : "",
    /^the function did not answer within 0.2 s; without a sandbox it must listen where --address says; install bubblewrap /,
  );
});

test("a sandboxed function that lost its connector is started again, with another one", async (t) => {
  const support = await sandboxOf(t);
  if (support === undefined) return;
  using folder = functionProject({});
  folder.write("fn.ts", plain);
  const root = await imageOf(folder);
  const directory = join(folder.path, "state");
  const limits = { restart: { baseMs: 10, maxMs: 10, healthyMs: 10_000 } };
  await using processes = createFunctionProcesses({ directory, env: { PATH: "/usr/bin:/bin" }, limits });
  const config = { entrypoint: bundleCommand, cmd: [], env: [], workingDir: "/", user: "" };
  const image = { kind: "image", root, process: config, needsNode: true, env: {} } as const;
  const program = { ...image, sandbox: support, socket: join(folder.path, "s", "fn") };
  const running = processes.run({ name: "fn", cwd: "/", program });
  const first = await running.served(AbortSignal.timeout(60_000));
  const connecting = connectorProgram();
  const [connector] = processesBelow(process.pid).filter((pid) => commandLineOf(pid).includes(connecting));
  assert.ok(connector, "it has a connector");
  process.kill(connector, "SIGKILL");
  const deadline = performance.now() + 60_000;
  while (running.current === undefined || running.current.version === first.version) {
    assert.ok(performance.now() < deadline, JSON.stringify(running.state));
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
});
