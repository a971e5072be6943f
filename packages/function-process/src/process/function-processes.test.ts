// SPDX-License-Identifier: Apache-2.0
// Real functions in real processes.
import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { getCompileCacheDir } from "node:module";
import { connect } from "node:net";
import { networkInterfaces } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { createSecureContext, type SecureContext } from "node:tls";
import type { TempFolder } from "@purlin/base/testing/temp-folder";
import { create, RequestMeta, RunFunctionRequest } from "@purlin/function-protocol";
import { createDiallingRunner, type FunctionRunner } from "@purlin/function-runner";
import { functionProject, functionSource } from "@purlin/oci/testing";
import { isAlive, until } from "../../test/local-processes.ts";
import { answers } from "./function-port.ts";
import type { FunctionProcess, FunctionSpec, ProcessLimits } from "./function-process.ts";
import { createFunctionProcesses, type FunctionProcesses } from "./function-processes.ts";

interface Scene extends AsyncDisposable {
  readonly folder: TempFolder;
  readonly processes: FunctionProcesses;
  source(name: string): FunctionSpec;
  /** Calls a function where it is served now, holding it as a control plane does. */
  call(process: FunctionProcess, tag?: string): Promise<string | undefined>;
}

function scene(files: Readonly<Record<string, string>>, limits: Partial<ProcessLimits> = {}): Scene {
  const folder = functionProject(files);
  const env = { PATH: "/usr/bin:/bin", SECRET_TOKEN: "hunter2" };
  const restart = { baseMs: 20, maxMs: 200, healthyMs: 0 };
  const processes = createFunctionProcesses({
    directory: join(folder.path, "state"),
    env,
    limits: { lingerMs: 50, restart, ...limits },
  });
  const runner = createDiallingRunner({ security: processes.security });
  return {
    folder,
    processes,
    source: (name) => ({ name, cwd: folder.path, program: { kind: "source", file: join(folder.path, `${name}.ts`) } }),
    call: (process, tag = "a") => callServed(runner, process, tag),
    async [Symbol.asyncDispose]() {
      runner.close();
      await processes.close();
      folder[Symbol.dispose]();
    },
  };
}

async function callServed(runner: FunctionRunner, process: FunctionProcess, tag: string): Promise<string | undefined> {
  const { endpoint, acquire } = await process.served();
  const release = acquire();
  try {
    const target = {
      functionName: process.name,
      revisionName: `${process.name}@${endpoint}`,
      packageRef: "",
      endpoint,
      revision: 0,
    };
    const request = create(RunFunctionRequest, { meta: create(RequestMeta, { tag }) });
    const { results } = await runner.run(target, request, { deadline: Date.now() + 60_000 });
    return results[0]?.message;
  } finally {
    release();
  }
}

test("a function is served over mutual TLS on loopback, and reloaded without a failed call", async () => {
  await using on = scene({ "fn.ts": functionSource("one") });
  const fn = on.processes.run(on.source("fn"));
  assert.equal(await on.call(fn), "one");
  const first = (await fn.served()).endpoint;
  assert.match(first, /^127\.0\.0\.1:\d+$/);
  const slow = on.call(fn, "slow");
  on.folder.write("fn.ts", functionSource("two"));
  // Calls all the way through the change: none may fail.
  const words: (string | undefined)[] = [];
  do {
    words.push(await on.call(fn));
    await setTimeout(5);
  } while (words.at(-1) !== "two");
  assert.deepEqual([...new Set(words)].sort(), ["one", "two"]);
  assert.notEqual((await fn.served()).endpoint, first);
  await setTimeout(200);
  assert.ok(await accepts(first), "the old process stays while a run uses it");
  on.folder.write("go", "");
  assert.equal(await slow, "one", "a run in flight is finished by the version that took it");
  await until(async () => !(await accepts(first)));
});

test("only callers with our certificate are served, and only from this machine", async () => {
  await using on = scene({ "fn.ts": functionSource("one") });
  const fn = on.processes.run(on.source("fn"));
  const { endpoint } = await fn.served();
  const [ca, cert, key] = ["ca.crt", "tls.crt", "tls.key"].map((file) =>
    readFileSync(join(on.folder.path, "state/certificates/fn", file), "utf8"),
  );
  const ask = (context: SecureContext): Promise<boolean> =>
    answers({ address: endpoint, tls: context, signal: AbortSignal.timeout(30_000) });
  assert.equal(await ask(on.processes.security.current().context), true);
  assert.equal(await ask(createSecureContext({ ca })), false, "no certificate");
  assert.equal(await ask(createSecureContext({ ca, cert, key })), false, "a function may not call another one");
  const port = endpoint.split(":")[1];
  const outside = Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .find(({ internal, family }) => !internal && family === "IPv4");
  if (outside !== undefined) assert.ok(!(await accepts(`${outside.address}:${port}`)), "not on other interfaces");
});

test("a function that is broken at the start reports the position, and serves after it is fixed", async () => {
  await using on = scene({ "fn.ts": "export const x: = 1;\n" });
  const fn = on.processes.run(on.source("fn"));
  await assert.rejects(fn.served(), /^Error: fn\.ts:1:17: Unexpected token/);
  on.folder.write("fn.ts", functionSource("one"));
  await until(() => fn.state.phase === "serving");
  assert.equal(await on.call(fn), "one");
});

test("a caller that times out waiting for a function to start gets an error; other callers keep waiting", async () => {
  const slow = 'while (!existsSync("go")) await new Promise((resolve) => setTimeout(resolve, 5));\n';
  await using on = scene({ "fn.ts": slow + functionSource("one") });
  const fn = on.processes.run(on.source("fn"));
  const patient = on.call(fn);
  const stop = new AbortController();
  const hasty = fn.served(stop.signal);
  stop.abort(new Error("out of time"));
  await assert.rejects(hasty, /^Error: the function is still starting$/);
  on.folder.write("go", "");
  assert.equal(await patient, "one");
});

test("a missing file is named in the error and served once it exists", async () => {
  await using on = scene({});
  const fn = on.processes.run({
    name: "fn",
    cwd: on.folder.path,
    program: { kind: "source", file: join(on.folder.path, "later/fn.ts") },
  });
  await assert.rejects(fn.served(), /^Error: later\/fn\.ts: file not found$/);
  on.folder.write("later/fn.ts", functionSource("one"));
  await until(() => fn.state.phase === "serving");
  assert.equal(await on.call(fn), "one");
});

test("a version that fails on reload only sets the problem", async () => {
  await using on = scene({ "fn.ts": functionSource("one") });
  const fn = on.processes.run(on.source("fn"));
  assert.equal(await on.call(fn), "one");
  on.folder.write("fn.ts", "throw new Error('not now');\n");
  await until(() => "problem" in fn.state);
  assert.deepEqual(fn.state, {
    phase: "serving",
    endpoint: (await fn.served()).endpoint,
    problem: "fn.ts:1:7: not now",
  });
  assert.equal(await on.call(fn), "one");
  on.folder.write("fn.ts", functionSource("two"));
  await until(() => !("problem" in fn.state));
  assert.equal(await on.call(fn), "two");
});

test("a killed function restarts without affecting another one", async () => {
  const withPid = (word: string): string =>
    `import { writeFileSync } from "node:fs";\nwriteFileSync("${word}.pid", String(process.pid));\n${functionSource(word)}`;
  await using on = scene({ "a.ts": withPid("a"), "b.ts": withPid("b") });
  const a = on.processes.run(on.source("a"));
  const b = on.processes.run(on.source("b"));
  assert.equal(on.processes.run(on.source("a")), a, "asked for again, it is the same");
  assert.deepEqual(await Promise.all([on.call(a), on.call(b)]), ["a", "b"]);
  const endpoint = (await b.served()).endpoint;
  const pid = Number(readFileSync(join(on.folder.path, "a.pid"), "utf8"));
  process.kill(pid, "SIGKILL");
  await until(() => a.state.phase === "failed");
  assert.equal(a.state.phase === "failed" && a.state.problem, "the function ended by itself (SIGKILL)");
  await until(() => a.state.phase === "serving");
  assert.equal(await on.call(a), "a");
  assert.equal((await b.served()).endpoint, endpoint);
  await on.processes.stop("b");
  await assert.rejects(b.served(), /has been stopped/);
  assert.equal(on.processes.get("b"), undefined);
});

test("any program that accepts the flags of functions can serve, and moves to another port when its own is taken", async () => {
  // Serves by itself, as a function in any language does. The first time, another process took the port.
  const program = `import { existsSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { main } from "@purlin/function-sdk";
import fn from "./fn.ts";
const address = process.argv.find((flag) => flag.startsWith("--address="))?.slice(10) ?? "";
if (!existsSync("clash")) {
  writeFileSync("clash", address);
  await new Promise((done) => createServer().listen({ host: "127.0.0.1", port: Number(address.split(":")[1]) }, done));
}
await main(fn);
`;
  await using on = scene({ "fn.ts": functionSource("one"), "main.ts": program });
  const fn = on.processes.run({
    name: "fn",
    cwd: on.folder.path,
    program: { kind: "command", command: process.execPath, args: ["main.ts", "--metrics-address="] },
  });
  await until(() => fn.state.phase === "serving");
  assert.equal(await on.call(fn), "one");
  assert.notEqual((await fn.served()).endpoint, readFileSync(join(on.folder.path, "clash"), "utf8"));
  assert.match(fn.logs().join("\n"), /EADDRINUSE/);
});

test("what a function writes is kept in memory and in a file, and it sees none of our secrets", async () => {
  const asked = 'Object.keys(process.env).includes("SECRET_TOKEN")';
  const source = `console.log("environment: " + ${asked}, process.env.NODE_COMPILE_CACHE);\n${functionSource("one")}`;
  const cache = getCompileCacheDir();
  const line = `environment: false ${cache === undefined ? cache : dirname(cache)}`;
  await using on = scene({ "fn.ts": source });
  const fn = on.processes.run(on.source("fn"));
  await fn.served();
  await until(() => fn.logs().includes(line));
  const file = join(on.folder.path, "state/logs/fn/fn.log");
  assert.ok(existsSync(file));
  assert.ok(readFileSync(file, "utf8").includes(line));
});

test("close waits for calls and leaves no process", async () => {
  const source = `import { writeFileSync } from "node:fs";\nwriteFileSync("pid", String(process.pid));\n${functionSource("one")}`;
  await using on = scene({ "fn.ts": source });
  const fn = on.processes.run(on.source("fn"));
  await fn.served();
  const slow = on.call(fn, "slow");
  await until(() => fn.logs().includes("a slow call has begun"));
  const closed = on.processes.close();
  on.folder.write("go", "");
  assert.equal(await slow, "one");
  await closed;
  // Init may take a moment to reap it on a busy machine.
  await until(() => !isAlive(Number(readFileSync(join(on.folder.path, "pid"), "utf8"))));
});

/** A function that writes its process id beside itself, and ends at once when it is asked to. */
function abruptSource(text: string, pidFile: string): string {
  const setUp = `import { writeFileSync } from "node:fs";\nwriteFileSync("${pidFile}", String(process.pid));`;
  return `${setUp}\nprocess.on("SIGTERM", () => process.exit(0));\n${functionSource(text)}`;
}

const pidIn = (on: Scene, file: string): number => Number(readFileSync(join(on.folder.path, file), "utf8"));

test("when the file of a function is renamed, running calls finish on the old process and new calls wait for the new one", async () => {
  await using on = scene({ "one.ts": abruptSource("one", "pid-one"), "two.ts": abruptSource("two", "pid-two") });
  const named = (file: string): FunctionSpec => ({ ...on.source(file), name: "fn" });
  const before = on.processes.run(named("one"));
  assert.equal(await on.call(before), "one");
  const slow = on.call(before, "slow");
  // It has been counted by then, which is what matters.
  await setTimeout(0);
  const after = on.processes.run(named("two"));
  assert.notEqual(after, before);
  assert.equal(on.processes.get("fn"), after);
  assert.deepEqual(await Promise.all([on.call(after), on.call(after)]), ["two", "two"]);
  assert.ok(isAlive(pidIn(on, "pid-one")), "it is used");
  on.folder.write("go", "");
  assert.equal(await slow, "one");
  await until(() => !isAlive(pidIn(on, "pid-one")));
  assert.equal(await on.call(after), "two");
});

test("a process that does not start is replaced too, and the one before it ends", async () => {
  await using on = scene({ "one.ts": abruptSource("one", "pid-one"), "broken.ts": "throw new Error('broken');\n" });
  const before = on.processes.run({ ...on.source("one"), name: "fn" });
  await before.served();
  const after = on.processes.run({ ...on.source("broken"), name: "fn" });
  await assert.rejects(after.served(), /broken/);
  await until(() => !isAlive(pidIn(on, "pid-one")));
});

test("a retiring process that is requested again keeps running", async () => {
  await using on = scene({ "fn.ts": abruptSource("one", "pid") });
  const fn = on.processes.run(on.source("fn"));
  await fn.served();
  const stopped = on.processes.stop("fn");
  assert.equal(on.processes.get("fn"), undefined);
  assert.equal(on.processes.run(on.source("fn")), fn);
  await stopped;
  assert.equal(await on.call(fn), "one");
  assert.ok(isAlive(pidIn(on, "pid")));
  await on.processes.stop("fn");
  await until(() => !isAlive(pidIn(on, "pid")));
  assert.notEqual(on.processes.run(on.source("fn")), fn, "one that has ended does not come back");
});

test("a process that is ended does not wait for its calls, and the next run starts another", async () => {
  await using on = scene({ "fn.ts": abruptSource("one", "pid") }, { graceMs: 100, replacedMs: 0 });
  const fn = on.processes.run(on.source("fn"));
  await fn.served();
  const before = pidIn(on, "pid");
  // It is sent again until its deadline, or until the test is over.
  on.call(fn, "slow").catch(() => undefined);
  await setTimeout(0);
  const ended = on.processes.end("fn");
  const next = on.processes.run(on.source("fn"));
  assert.notEqual(next, fn);
  await ended;
  await until(() => !isAlive(before));
  assert.equal(await on.call(next), "one");
  await on.processes.end("nothing");
});

test("a killed function restarts at its old address; calls made meanwhile succeed", async () => {
  await using on = scene({ "fn.ts": abruptSource("one", "pid") });
  const fn = on.processes.run(on.source("fn"));
  const { endpoint } = await fn.served();
  process.kill(pidIn(on, "pid"), "SIGKILL");
  await until(() => fn.state.phase !== "serving");
  const runner = createDiallingRunner({ security: on.processes.security });
  const target = { functionName: "fn", revisionName: "fn", packageRef: "", endpoint, revision: 0 };
  const request = create(RunFunctionRequest, { meta: create(RequestMeta, { tag: "a" }) });
  const { results } = await runner.run(target, request, { deadline: Date.now() + 60_000 });
  assert.equal(results[0]?.message, "one");
  // A caller may be answered a moment before we have seen it answer.
  await until(() => fn.state.phase === "serving");
  assert.equal((await fn.served()).endpoint, endpoint);
  runner.close();
  await on.processes.stop("fn");
  const again = on.processes.run({ ...on.source("fn"), before: endpoint });
  assert.equal((await again.served()).endpoint, endpoint, "also in another life of the control plane");
});

async function accepts(address: string): Promise<boolean> {
  const [host = "", port = ""] = address.split(":");
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const socket = connect({ host, port: Number(port) })
    .once("connect", () => resolve(true))
    .once("error", () => resolve(false));
  const answer = await promise;
  socket.destroy();
  return answer;
}

test("stopping a function during close leaves the files of the next run in the same folder alone", async () => {
  await using on = scene({ "fn.ts": functionSource("one") });
  const fn = on.processes.run(on.source("fn"));
  assert.equal(await on.call(fn), "one");
  const { acquire } = await fn.served();
  const release = acquire();
  const stopping = on.processes.stop("fn");
  await on.processes.close();
  await using next = createFunctionProcesses({ directory: join(on.folder.path, "state"), env: {} });
  const folder = await next.certificates("fn");
  release();
  await stopping;
  assert.deepEqual(readdirSync(folder).sort(), ["ca.crt", "tls.crt", "tls.key"]);
});
