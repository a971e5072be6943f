// SPDX-License-Identifier: Apache-2.0
// kill -9 of a function, of the control plane that runs it, and of both, while composite resources are reconciled: all goes on where it was,
// and nothing that a control plane started outlives it, with a sandbox and without.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { suite, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import type { KubeClient, KubeObject } from "@purlin/kube-client";
import { bundlePath, findSandbox } from "@purlin/package-manager";
import { type FunctionRegistry, startFunctionRegistry } from "../harness/packages/function-registry.ts";
import { conditionOf, eventually, type UserView, userView } from "../harness/plane.ts";
import { clientOf, type PurlinProcess, startPurlinIn } from "../harness/purlin-process.ts";
import { compositionOf, definitionOf, namespaceOf } from "../harness/sample-kinds.ts";
import { compositeText, functionType } from "../rollout/kinds.ts";
import { descendantsOf, isRunning, type SeenProcess } from "./process-tree.ts";

const boxType = { apiVersion: "example.org/v1", kind: "Box" };
const namespace = "team-a";
const boxes = Array.from({ length: 20 }, (_, index) => `box-${index}`);
const functionName = "function-box";

/** A control plane in a process of its own. */
interface Machine extends AsyncDisposable {
  readonly users: KubeClient;
  readonly view: UserView;
  /** The processes that are the function itself. */
  functions(): readonly SeenProcess[];
  /** Everything that runs below the control plane. */
  children(): readonly SeenProcess[];
  /** kill -9, and nothing else. */
  kill(): Promise<void>;
  start(): Promise<void>;
}

/** Starts `purlin up` on a folder; it is started again on the same one, at the same address unless that was taken meanwhile. */
async function startMachine(env: NodeJS.ProcessEnv): Promise<Machine> {
  await using starting = new AsyncDisposableStack();
  const directory = mkdtempSync(join(tmpdir(), "e2e-kill-"));
  starting.defer(() => rmSync(directory, { recursive: true, force: true }));
  const up = async (): Promise<PurlinProcess> => {
    const process = startPurlinIn(env, ["up", "--data-dir", directory, "--enable-function-revision-selectors"]);
    await process.says("control plane at");
    return process;
  };
  let running = await up();
  starting.defer(() => running[Symbol.asyncDispose]());
  const connect = (): Promise<KubeClient> => clientOf(join(directory, "kubeconfig"));
  let users = await connect();
  starting.defer(() => users.close());
  const closing = starting.move();
  return {
    get users() {
      return users;
    },
    get view() {
      return userView(users);
    },
    children: () => descendantsOf(running.pid),
    functions: () => functionsAmong(descendantsOf(running.pid)),
    kill: () => running.kill(),
    async start() {
      running = await up();
      await users.close();
      users = await connect();
    },
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  };
}

/** A guard and a sandbox have all words of the function's command line in their own; the function itself begins with them. */
function functionsAmong(processes: readonly SeenProcess[]): readonly SeenProcess[] {
  return processes.filter(({ command }) => command[1]?.endsWith(bundlePath));
}

async function install({ view }: Machine, registry: FunctionRegistry): Promise<void> {
  await registry.publish({ name: "acme/function-box:v1", version: "v1" });
  const spec = { package: `${registry.address}/acme/function-box:v1` };
  await view.apply(
    namespaceOf(namespace),
    definitionOf({ group: "example.org", kind: "Box", scope: "Namespaced" }),
    { ...functionType, metadata: { name: functionName }, spec },
    compositionOf("boxes", boxType, functionName),
  );
  await view.until("the function is healthy", functionType, { name: functionName }, (one) => {
    return conditionOf(one, "Healthy")?.status === "True" && conditionOf(one, "Installed")?.status === "True";
  });
  for (const name of boxes) await view.apply({ ...boxType, metadata: { namespace, name }, spec: {} } as KubeObject);
}

let looks = 0;

/** Asks for a look at every box; who cannot be asked now is asked again. Resolves when all have been looked at and say that all is well. */
async function allAreWell({ users, view }: Machine): Promise<void> {
  const token = `look ${++looks}`;
  const annotations = { "crossplane.io/reconcile-requested-at": token };
  for (const name of boxes) {
    await eventually(`${name} can be asked`, () =>
      users.patch({ ...boxType, namespace, name }, { metadata: { annotations } }, { type: "merge" }),
    );
  }
  for (const name of boxes) {
    await view.until(`${name} is well`, boxType, { namespace, name }, (one) => {
      const isWell = ["Synced", "Ready"].every((type) => conditionOf(one, type)?.status === "True");
      return isWell && compositeText(one).status?.lastHandledReconcileAt === token;
    });
  }
}

/** Asks for looks all the time, whether or not anybody answers. */
async function whileAsking({ users }: Machine, task: () => Promise<void>): Promise<void> {
  let isOver = false;
  const asking = (async () => {
    for (let asked = 0; !isOver; asked++) {
      const name = boxes[asked % boxes.length] ?? "";
      const annotations = { "crossplane.io/reconcile-requested-at": `ask ${asked}` };
      const asks = users.patch({ ...boxType, namespace, name }, { metadata: { annotations } }, { type: "merge" });
      await asks.catch(() => {});
      await delay(20);
    }
  })();
  await task().finally(() => {
    isOver = true;
  });
  await asking;
}

async function gone(processes: readonly SeenProcess[]): Promise<void> {
  const left = (): SeenProcess[] => processes.filter(isRunning);
  await eventually(
    "all that it started are gone",
    async () => left().length === 0,
    () =>
      left()
        .map(({ pid, command }) => `${pid} ${command[0]}`)
        .join(", "),
  );
}

const support = await findSandbox();
const missing = process.env["E2E_SERVER"] === "real" && "it is about functions on this machine";
const modes = {
  "in a sandbox": { env: process.env, skip: missing || (!support.isSupported && support.reason) },
  // Nothing is found there, bubblewrap least of all.
  "without a sandbox": { env: { ...process.env, PATH: "/nonexistent" }, skip: missing },
} as const;

if (!support.isSupported) assert.equal(process.env["REQUIRE_SANDBOX"], undefined, support.reason);

for (const [mode, { env, skip }] of Object.entries(modes)) {
  suite(`processes that are killed, ${mode}`, { skip }, () => {
    test("whatever is killed, all goes on, and nothing is left behind", async (t) => {
      await using stack = new AsyncDisposableStack();
      const directory = mkdtempSync(join(tmpdir(), "e2e-kill-registry-"));
      stack.defer(() => rmSync(directory, { recursive: true, force: true }));
      const registry = stack.use(await startFunctionRegistry(directory, true));
      const machine = stack.use(await startMachine(env));
      await install(machine, registry);
      await allAreWell(machine);
      const sandboxes = machine.children().filter(({ command }) => command[0]?.endsWith("bwrap"));
      assert.equal(sandboxes.length > 0, mode === "in a sandbox");

      await t.test("a function", async () => {
        const [before] = machine.functions();
        assert.ok(before !== undefined);
        await whileAsking(machine, async () => {
          process.kill(before.pid, "SIGKILL");
          await eventually("it is started again", async () => !isRunning(before) && machine.functions().length === 1);
        });
        await allAreWell(machine);
      });

      for (const alsoFunctions of [false, true]) {
        await t.test(alsoFunctions ? "both" : "the control plane", async () => {
          const children = machine.children();
          assert.ok(children.length > 1);
          assert.equal(machine.functions().length, 1);
          await whileAsking(machine, async () => {
            if (alsoFunctions) for (const { pid } of machine.functions()) process.kill(pid, "SIGKILL");
            await machine.kill();
            await gone(children);
            await machine.start();
          });
          await allAreWell(machine);
          assert.equal(machine.functions().length, 1, "one revision, one process");
        });
      }
    });
  });
}
