// SPDX-License-Identifier: Apache-2.0
// Certificates are renewed while real functions are called.

import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { type Clock, systemClock } from "@purlin/base";
import type { TempFolder } from "@purlin/base/testing/temp-folder";
import { create, RequestMeta, RunFunctionRequest } from "@purlin/function-protocol";
import { createDiallingRunner, type FunctionRunner } from "@purlin/function-runner";
import { bundleCommand, bundleFunction, bundlePath } from "@purlin/oci";
import { functionProject, functionSource } from "@purlin/oci/testing";
import { sandboxOf, until } from "../../test/local-processes.ts";
import { mountPoints } from "../sandbox/sandbox-arguments.ts";
import { createRenewal, type FunctionCertificates } from "./function-certificates.ts";
import type { FunctionProcess, FunctionSpec } from "./function-process.ts";
import { createFunctionProcesses, type FunctionProcesses } from "./function-processes.ts";
import type { FunctionProgram } from "./launch-function.ts";

const minuteMs = 60_000;

/** A clock whose long waits a test ends, and that can be behind. */
function movableClock(): Clock & { behindMs: number; endLongWaits(): void } {
  const waiting = new Set<() => void>();
  return {
    behindMs: 0,
    now() {
      return Date.now() - this.behindMs;
    },
    schedule(delayMs, task) {
      if (delayMs < 5 * minuteMs) return systemClock.schedule(delayMs, task);
      waiting.add(task);
      return () => waiting.delete(task);
    },
    endLongWaits() {
      for (const task of [...waiting]) if (waiting.delete(task)) task();
    },
  };
}

interface Scene extends AsyncDisposable {
  readonly clock: ReturnType<typeof movableClock>;
  readonly processes: FunctionProcesses;
  call(process: FunctionProcess, tag?: string): Promise<string | undefined>;
}

/** Certificates are good for half an hour. The first ones are twenty minutes old. */
function scene(folder: TempFolder): Scene {
  const clock = movableClock();
  clock.behindMs = 20 * minuteMs;
  const processes = createFunctionProcesses({
    directory: join(folder.path, "state"),
    env: { PATH: "/usr/bin:/bin" },
    clock,
    certificateDays: 30 / 1440,
    limits: { lingerMs: 50 },
  });
  const runner = createDiallingRunner({ security: processes.security });
  return {
    clock,
    processes,
    call: (process, tag = "") => callServed(runner, process, tag),
    async [Symbol.asyncDispose]() {
      runner.close();
      await processes.close();
    },
  };
}

async function callServed(runner: FunctionRunner, process: FunctionProcess, tag: string): Promise<string | undefined> {
  const { endpoint, acquire } = await process.served();
  const release = acquire();
  try {
    const name = process.name;
    const target = { functionName: name, revisionName: name, packageRef: "", endpoint, revision: 1 };
    const request = create(RunFunctionRequest, { meta: create(RequestMeta, { tag }) });
    const { results } = await runner.run(target, request, { deadline: Date.now() + 60_000 });
    return results[0]?.message;
  } finally {
    release();
  }
}

async function imageOf(folder: TempFolder): Promise<string> {
  const root = join(folder.path, "root");
  for (const mount of [...mountPoints, "function"]) mkdirSync(join(root, mount), { recursive: true });
  writeFileSync(join(root, bundlePath), (await bundleFunction(join(folder.path, "fn.ts"))).code);
  return root;
}

async function survivesRenewal(folder: TempFolder, program: FunctionProgram): Promise<void> {
  await using on = scene(folder);
  const { clock, processes } = on;
  const spec: FunctionSpec = { name: "fn", cwd: folder.path, program };
  const fn = processes.run(spec);
  assert.equal(await on.call(fn), "one");
  const [before, first] = [await processes.certificates("fn"), await fn.served()];
  let stopping = false;
  let calls = 0;
  const load = async (): Promise<void> => {
    while (!stopping) {
      assert.equal(await on.call(fn), "one");
      calls++;
    }
  };
  const loads = [load(), load(), load()];
  const slow = on.call(fn, "slow");
  clock.behindMs = 0;
  clock.endLongWaits();
  await until(() => fn.current !== undefined && fn.current.version !== first.version);
  assert.notEqual(await processes.certificates("fn"), before, "another folder");
  assert.notEqual((await fn.served()).endpoint, first.endpoint, "both served for a while");
  const soFar = calls;
  await until(() => calls > soFar + 20);
  folder.write("go", "");
  assert.equal(await slow, "one", "a call that began before continues");
  stopping = true;
  await Promise.all(loads);
}

test("a function is handed over to a process with the new certificate, and no call fails", async () => {
  using folder = functionProject({ "fn.ts": functionSource("one") });
  await survivesRenewal(folder, { kind: "source", file: join(folder.path, "fn.ts") });
});

test("after the clock was set back, checkCertificate replaces a function whose certificate is not valid yet", async () => {
  using folder = functionProject({ "fn.ts": functionSource("one") });
  await using on = scene(folder);
  const { clock, processes } = on;
  clock.behindMs = 0;
  const fn = processes.run({
    name: "fn",
    cwd: folder.path,
    program: { kind: "source", file: join(folder.path, "fn.ts") },
  });
  assert.equal(await on.call(fn), "one");
  const { version } = await fn.served();
  processes.checkCertificates();
  clock.behindMs = 10 * minuteMs;
  processes.checkCertificates();
  await until(() => fn.current !== undefined && fn.current.version !== version);
  assert.equal(await on.call(fn), "one");
});

test("a sandboxed function is handed over on another socket", async (t) => {
  const support = await sandboxOf(t);
  if (support === undefined) return;
  // It cannot see the file that slow calls wait for, so they are quick here.
  using folder = functionProject({ "fn.ts": functionSource("one").replace("!existsSync(go)", "false") });
  await survivesRenewal(folder, {
    kind: "image",
    root: await imageOf(folder),
    process: { entrypoint: bundleCommand, cmd: [], env: [], workingDir: "/", user: "" },
    env: {},
    needsNode: true,
    sandbox: support,
    socket: join(folder.path, "s", "fn"),
  });
});

test("a certificate that cannot be written now is tried again; what was stopped is left alone", async () => {
  const clock = movableClock();
  const delays: number[] = [];
  let folder: Promise<string> = Promise.resolve("one");
  let renewed = 0;
  const certificates: FunctionCertificates = {
    client: { current: () => assert.fail() },
    serverFolder: () => folder,
    renewInMs: () => 400 * 86_400_000,
    forget: async () => {},
  };
  const tasks: (() => void)[] = [];
  const schedule: Clock["schedule"] = (delayMs, task) => {
    delays.push(delayMs);
    tasks.push(task);
    return () => {};
  };
  const renewal = createRenewal({ name: "fn", certificates, clock: { ...clock, schedule }, renew: () => renewed++ });
  assert.equal(await renewal.take(), "one");
  const look = async (): Promise<void> => {
    tasks.pop()?.();
    await new Promise((resolve) => setImmediate(resolve));
  };
  await look();
  assert.deepEqual([delays, renewed], [[86_400_000, 86_400_000], 0], "a day at most, as timers cannot wait longer");
  folder = Promise.reject(new Error("the disk is full"));
  await look();
  assert.equal(delays.at(-1), 60_000);
  folder = Promise.resolve("two");
  await look();
  assert.equal(renewed, 1);
  assert.equal(await renewal.take(), "two");
  folder = Promise.resolve("three");
  renewal.stop();
  await look();
  assert.equal(renewed, 1);
});
