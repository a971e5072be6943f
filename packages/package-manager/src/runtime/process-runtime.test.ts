// SPDX-License-Identifier: Apache-2.0
// When a revision's process may end. That it runs at all is tested with real ones, in control-plane.

import assert from "node:assert/strict";
import { test } from "node:test";
import { type ManualClock, manualClock } from "@purlin/base/testing";
import type { FunctionProcess, Sandbox } from "@purlin/function-process";
import { digestOf } from "@purlin/oci";
import { packageTypes } from "../package-kinds.ts";
import { createRevisionLeases, type PackageRuntime, type RuntimeContext } from "./package-runtime.ts";
import { createProcessRuntime, type ProcessRuntimeOptions } from "./process-runtime.ts";

interface Scene {
  readonly clock: ManualClock;
  readonly runtime: PackageRuntime;
  /** What was done with processes, in order. */
  readonly done: string[];
  isInUse: boolean;
  /** Whether a Function of each name runs from a source file. */
  hasSource: boolean;
  /** Whether a Provider's process has each name. */
  hasProvider?: boolean;
  /** What the process says about itself. */
  state: FunctionProcess["state"];
  /** Its last output. */
  logs?: readonly string[];
}

const config = { os: "linux", architecture: "amd64", config: { Entrypoint: ["/fn"] } };
const image = { digest: digestOf("top"), manifestDigest: digestOf("image"), manifest: { config: {}, layers: [] } };

function scene(more: Partial<ProcessRuntimeOptions> = {}): Scene {
  const clock = manualClock();
  const done: string[] = [];
  const options = {
    client: { get: async () => undefined },
    packages: { resolve: async () => ({}), image: async () => image },
    store: { read: async () => Buffer.from(JSON.stringify(config)) },
    roots: { rootOf: async () => "/root" },
    processes: {
      run({ name, before }: { readonly name: string; readonly before?: string }) {
        done.push(`run ${name}${before === undefined ? "" : ` where it was: ${before}`}`);
        return { name, state: on.state, logs: () => on.logs ?? [] };
      },
      get: (name: string) =>
        on.hasSource || on.hasProvider
          ? { name, root: on.hasProvider ? "/provider" : undefined, isProvider: on.hasProvider === true }
          : undefined,
      stop: async (name: string) => void done.push(`stop ${name}`),
      warm: (name: string, { program }: Sandbox) => void done.push(`warm ${name} with ${program}`),
      certificates: () => Promise.reject(new Error("no certificates here")),
    },
    sandbox: { isSupported: true, program: "bwrap", canDisableUserns: true },
    platform: { os: "linux", architecture: "amd64" },
    namespace: "crossplane-system",
    sockets: "/sockets",
    clock,
    leases: { ...createRevisionLeases(), isHeld: () => on.isInUse },
    ...more,
  } as unknown as ProcessRuntimeOptions;
  const state = { phase: "serving", endpoint: "unix:/socket" } as const;
  const on: Scene = { clock, done, isInUse: false, hasSource: false, state, runtime: createProcessRuntime(options) };
  return on;
}

function passOf(name: string, endpoint?: string): RuntimeContext {
  const spec = { image: "registry.example.org/fn:v1" };
  const revision = { ...packageTypes.Function.revision, metadata: { name, uid: "u" }, spec, status: { endpoint } };
  return { type: packageTypes.Function, revision: revision as never, signal: new AbortController().signal };
}

test("a revision that retires continues for a moment, and for as long as a step uses it", async () => {
  const on = scene();
  await on.runtime.run(passOf("fn-1"));
  on.isInUse = true;
  assert.deepEqual(await on.runtime.retire(passOf("fn-1")), { requeueAfterMs: 1_000 });
  on.clock.advance(1_000);
  assert.deepEqual(await on.runtime.retire(passOf("fn-1")), { requeueAfterMs: 1_000 }, "a step uses it");
  on.isInUse = false;
  await on.runtime.retire(passOf("fn-1"));
  assert.deepEqual(on.done, ["run fn-1", "stop fn-1"]);
  await on.runtime.retire(passOf("fn-1"));
  assert.deepEqual(on.done, ["run fn-1", "stop fn-1"], "once is enough");
});

test("a revision does not take the place of a source file whose Function has its name, and does not end it", async () => {
  const on = scene();
  on.hasSource = true;
  const message = "a Function of the same name runs from a source file: give one of them another name";
  await assert.rejects(on.runtime.prepare(passOf("fn")), { message });
  await assert.rejects(on.runtime.run(passOf("fn")), { message });
  on.hasSource = false;
  await on.runtime.run(passOf("fn"));
  on.hasSource = true;
  assert.deepEqual(await on.runtime.retire(passOf("fn")), {});
  assert.deepEqual(on.done, ["run fn"]);
});

test("a revision does not take the place of a Provider's process, and does not end it", async () => {
  const on = scene();
  const pass = passOf("fn-1");
  await on.runtime.run(pass);
  on.hasProvider = true;
  const message = "a ProviderRevision of the same name runs: give one of them another name";
  await assert.rejects(on.runtime.prepare(pass), { message });
  await assert.rejects(on.runtime.run(pass), { message });
  assert.deepEqual(await on.runtime.retire(pass), {});
  assert.deepEqual(on.done, ["run fn-1"]);
});

test("one that is activated again meanwhile is not stopped, and its time begins again", async () => {
  const on = scene();
  await on.runtime.run(passOf("fn-1"));
  await on.runtime.retire(passOf("fn-1"));
  on.clock.advance(1_000);
  await on.runtime.run(passOf("fn-1"));
  assert.deepEqual(await on.runtime.retire(passOf("fn-1")), { requeueAfterMs: 1_000 });
  assert.deepEqual(on.done, ["run fn-1", "run fn-1"]);
});

test("what this runtime did not start it does not stop", async () => {
  const on = scene();
  assert.deepEqual(await on.runtime.retire(passOf("fn-under-development")), {});
  assert.deepEqual(on.done, []);
});

test("where a revision answered before is where it is started again", async () => {
  const on = scene();
  const report = await on.runtime.run(passOf("fn-1", "127.0.0.1:4711"));
  assert.deepEqual(on.done, ["run fn-1 where it was: 127.0.0.1:4711"]);
  assert.equal(report.endpoint, "unix:/socket");
});

for (const sandbox of [
  { isSupported: true, program: "bwrap", canDisableUserns: true },
  { isSupported: false, reason: "bwrap is not installed" },
] as const) {
  const states = [{ phase: "starting" }, { phase: "failed", problem: "the function ended by itself" }] as const;
  for (const state of states) {
    test(`a function that is ${state.phase} leaves its endpoint as it is, sandbox: ${sandbox.isSupported}`, async () => {
      const on = scene({ sandbox });
      on.state = state;
      const report = await on.runtime.run(passOf("fn-1", "127.0.0.1:4711"));
      assert.equal(report.isHealthy, false);
      assert.equal(report.endpoint, undefined, "a revision that has served stays known as one that has");
    });
  }
}

const exceeded = "the function exceeded its memory limit of 64Mi and was stopped; raise --function-memory-limit";
const held = "the function reached its CPU limit of 1: it is slowed down; raise --function-cpu-limit";
const bare = { isSupported: false, reason: "bwrap is not installed" } as const;
const reports = [
  {
    title: "what was exceeded, its last output, and where to read more",
    state: { phase: "failed", problem: exceeded },
    message: `${exceeded}; last output: one | two; see: purlin logs fn --revision fn-1`,
  },
  { title: "what it is held to", state: { phase: "serving", endpoint: "unix:/s", notice: held }, message: held },
  {
    title: "what it is held to, and that it has no sandbox",
    state: { phase: "serving", endpoint: "unix:/s", notice: held },
    sandbox: bare,
    message: `the function runs without a sandbox: bwrap is not installed; ${held}`,
  },
  { title: "nothing where all is well", state: { phase: "serving", endpoint: "unix:/s" }, message: undefined },
] as const;
for (const { title, message, state, ...more } of reports) {
  test(`the report of a function says ${title}`, async () => {
    const on = scene(more);
    on.state = state as FunctionProcess["state"];
    on.logs = ["one", "two"];
    const pass = passOf("fn-1");
    const labels = { "pkg.crossplane.io/package": "fn" };
    const revision = { ...pass.revision, metadata: { ...pass.revision.metadata, labels } };
    assert.equal((await on.runtime.run({ ...pass, revision })).message, message);
  });
}

test("the sandbox of a function is made ready while its revision is not healthy yet: once, and where there is one", async () => {
  const on = scene();
  const prepare = (of = passOf("fn-1")): Promise<void> =>
    assert.rejects(on.runtime.prepare(of), /no certificates here/);
  await prepare();
  await prepare();
  await prepare({ ...passOf("provider-1"), type: packageTypes.Provider });
  assert.deepEqual(on.done, ["warm fn-1 with bwrap"]);
  await on.runtime.retire(passOf("fn-1"));
  await prepare();
  assert.deepEqual(on.done, ["warm fn-1 with bwrap", "warm fn-1 with bwrap"], "one that comes back");
  const without = scene({ sandbox: { isSupported: false, reason: "bwrap is not installed" } });
  await assert.rejects(without.runtime.prepare(passOf("fn-1")), /no certificates here/);
  assert.deepEqual(without.done, []);
});
