// SPDX-License-Identifier: Apache-2.0
// Two real functions in Go, which open ports that cannot be configured, on a machine without bubblewrap.
import assert from "node:assert/strict";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { createFunctionProcesses, findSandbox, mountPoints } from "@purlin/function-process";
import { create, RunFunctionRequest } from "@purlin/function-protocol";
import { createDiallingRunner } from "@purlin/function-runner";
import { cacheDirectory } from "../../../tools/peers/cache-directory.ts";
import { goFunction, goFunctionIn } from "../../../tools/peers/go-function.ts";
import { installed } from "../../../tools/peers/peer.ts";

const metricsPort = 8080;

/** The sockets that listen on a port in the network of a process. */
function listeners(pid: number | "self"): ReadonlySet<string> {
  const rows = ["tcp", "tcp6"].flatMap((table) =>
    readFileSync(`/proc/${pid}/net/${table}`, "utf8").split("\n").slice(1),
  );
  const suffix = `:${metricsPort.toString(16).toUpperCase()}`;
  return new Set(
    rows
      .map((row) => row.trim().split(/\s+/))
      .filter(([, local = "", , state]) => local.endsWith(suffix) && state === "0A")
      .map((fields) => fields[9] ?? ""),
  );
}

/** The processes that run a program. */
function processesOf(program: string): readonly number[] {
  const all = readdirSync("/proc").map(Number).filter(Number.isInteger);
  return all.filter((pid) => {
    try {
      return readlinkSync(`/proc/${pid}/exe`) === program;
    } catch {
      return false;
    }
  });
}

test("two functions in Go serve calls and metrics without bubblewrap, and nothing of it on the machine's network", async () => {
  const support = await findSandbox({ PATH: "/nonexistent", PURLIN_SANDBOX: "none" });
  const network = support.isSupported ? undefined : support.network;
  assert.ok(network, "this machine allows user namespaces, or the suite for bubblewrap would not run either");
  await using stack = new AsyncDisposableStack();
  const directory = mkdtempSync(join(tmpdir(), "purlin-networks-"));
  stack.defer(() => rmSync(directory, { recursive: true, force: true }));
  const root = join(directory, "root");
  for (const mount of mountPoints) mkdirSync(join(root, mount), { recursive: true });
  cpSync(goFunctionIn(installed(goFunction, cacheDirectory)), join(root, "function"));
  const before = listeners("self");
  const processes = stack.use(
    createFunctionProcesses({ directory: join(directory, "state"), env: { PATH: "/usr/bin:/bin" } }),
  );
  const runner = stack.adopt(createDiallingRunner({ security: processes.security }), (one) => one.close());
  const names = ["one", "two"];
  const running = names.map((name) =>
    processes.run({
      name,
      cwd: "/",
      program: {
        kind: "image",
        root,
        process: { entrypoint: ["/function"], cmd: [], env: [], workingDir: "/", user: "" },
        env: { FUNCTION_NAME: name },
        needsNode: false,
        sandbox: undefined,
        network,
        socket: join(directory, name),
      },
    }),
  );
  for (const [at, name] of names.entries()) {
    const { endpoint = "" } = (await running[at]?.served(AbortSignal.timeout(240_000))) ?? {};
    assert.match(endpoint, /^unix:/);
    const target = { functionName: name, revisionName: name, packageRef: "", endpoint, revision: 1 };
    await runner.run(target, create(RunFunctionRequest, {}), { deadline: Date.now() + 120_000 });
  }
  const programs = processesOf(join(root, "function"));
  const metrics = programs.map((pid) => listeners(pid).size);
  assert.deepEqual(metrics, [1, 1], "each has its metrics port");
  assert.deepEqual([...listeners("self").difference(before)], [], "nothing new listens on the machine's network");
});
