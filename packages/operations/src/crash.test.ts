// SPDX-License-Identifier: Apache-2.0
// Controllers that die before or after each of their writes, and two replicas that both believe to lead: nothing runs twice, nothing never.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { mortalClient, respond } from "@purlin/composition/testing";
import type { CacheChange } from "@purlin/kube-client/objects";
import type { ControllerClient, WatchSpec } from "@purlin/kube-controller";
import { eventually, startTestServer } from "@purlin/kube-controller/testing";
import type { JsonObject } from "@purlin/kube-objects/json";
import { type KubeObject, memberAt, withConditions } from "@purlin/kube-objects/object";
import { condition, configMap, isDone, map, operation, pipeline, type Scene, startScene } from "../test/scene.ts";
import { kinds } from "./names.ts";
import { createOperationController } from "./operation/operation-controller.ts";
import { createCronController } from "./schedule/cron-controller.ts";
import { createWatchController } from "./watch/watch-controller.ts";

let scene: Scene;
before(async () => {
  scene = await startScene();
});
after(() => scene[Symbol.asyncDispose]());

let lives = 0;
type When = "before" | "after";

/** A client that notes the names of the Operations that it creates. */
function counting(client: ControllerClient, created: string[]): ControllerClient {
  return {
    ...client,
    async create(object, options) {
      const stored = await client.create(object, options);
      created.push(stored.metadata.name ?? "");
      return stored;
    },
  };
}

/** Runs a scenario once without a death, then with one before and after each write. */
async function atEachWrite(live: (at: number, when: When) => Promise<number>): Promise<void> {
  const writes = await live(Number.POSITIVE_INFINITY, "before");
  assert.ok(writes >= 3, `${writes} writes`);
  for (let at = 0; at < writes; at++) {
    await live(at, "before");
    await live(at, "after");
  }
}

async function succeed(name: string): Promise<void> {
  const stored = await scene.control.users.get(kinds.operation, { name });
  const time = new Date().toISOString();
  const ended = { type: "Succeeded", status: "True", reason: "PipelineSuccess", lastTransitionTime: time } as const;
  await scene.control.users.update(withConditions(stored, [ended]), { subresource: "status" });
}

/** Waits until the cache of the controllers has what the server has. */
async function cached(type: { apiVersion: string; kind: string }, name: string): Promise<void> {
  const stored = await scene.get(type, name);
  await eventually(`${name} in the cache`, async () => {
    const known = await scene.control.client.get(type, { name });
    return known?.metadata.resourceVersion === stored?.metadata.resourceVersion;
  });
}

test("a CronOperation whose controller dies at any write creates each Operation once", async () => {
  await atEachWrite(async (at, when) => {
    const name = `cron-${++lives}`;
    const spec = {
      schedule: "* * * * *",
      concurrencyPolicy: "Replace",
      successfulHistoryLimit: 0,
      operationTemplate: { spec: pipeline("f") },
    };
    const stored = await scene.create({ ...kinds.cron, metadata: { name }, spec } as KubeObject);
    const start = Date.parse(stored.metadata.creationTimestamp ?? "");
    const slot = (minute: number): number => Math.floor(start / 60_000) * 60_000 + minute * 60_000;
    const created: string[] = [];
    const mortal = mortalClient(counting(scene.control.client, created), at, when);
    const pass = async (client: ControllerClient, now: number): Promise<void> => {
      await cached(kinds.cron, name);
      const clock = { now: () => now, schedule: () => () => {} };
      const deps = { ...scene.deps, client, clock };
      await createCronController(deps).spec.reconcile({ name }, new AbortController().signal);
    };
    // At most one controller dies; the next one finds what it left behind.
    const settle = async (now: number): Promise<void> => {
      await pass(mortal.client, now).catch(() => undefined);
      await pass(counting(scene.control.client, created), now);
    };
    const nameAt = (minute: number): string => `${name}-${slot(minute) / 1000}`;
    await settle(slot(0) + 59_000 < start ? start : Math.max(start, slot(0)));
    await settle(slot(1));
    // The first one ends, and history keeps none; the second one runs when the third replaces it.
    await succeed(nameAt(1));
    await cached(kinds.operation, nameAt(1));
    await settle(slot(1) + 10);
    await settle(slot(2));
    await settle(slot(3));
    assert.deepEqual(created, [nameAt(1), nameAt(2), nameAt(3)], `death ${when} write ${at}`);
    const left = (await scene.list(kinds.operation)).map(({ metadata }) => metadata.name ?? "");
    assert.deepEqual(
      left.filter((one) => one.startsWith(`${name}-`)),
      [nameAt(3)],
    );
    return mortal.writes();
  });
});

test("an Operation whose controller dies at any write ends, and applies what it should", async () => {
  await atEachWrite(async (at, when) => {
    const name = `op-${++lives}`;
    scene.functions.set(name, (request) => respond(request, { resources: { a: map(name, { x: "1" }) } }));
    await scene.create(operation(name, pipeline(name)));
    await cached(kinds.operation, name);
    const mortal = mortalClient(scene.control.client, at, when);
    const pass = (client: ControllerClient) =>
      createOperationController({ ...scene.deps, client }).spec.reconcile({ name }, new AbortController().signal);
    await pass(mortal.client).catch(() => undefined);
    const wasDone = isDone((await scene.get(kinds.operation, name)) ?? operation(name, {}));
    const calls = () => scene.functions.calls.filter((call) => call.name === name).length;
    const before = calls();
    await cached(kinds.operation, name);
    await pass(scene.control.client);
    const done = await scene.get(kinds.operation, name);
    assert.equal(condition(done ?? operation(name, {}), "Succeeded"), "True PipelineSuccess");
    assert.equal(memberAt(done ?? {}, ["status", "failures"]) ?? 0, 0, "a crash is not a failure of the pipeline");
    assert.deepEqual((await scene.get(configMap, name, "default"))?.["data"], { x: "1" });
    assert.equal(calls() - before, wasDone ? 0 : 1);
    return mortal.writes();
  });
});

const watchOf = (name: string, label: string): KubeObject =>
  ({
    ...kinds.watch,
    metadata: { name },
    spec: {
      watch: { apiVersion: "v1", kind: "ConfigMap", matchLabels: { for: label } },
      operationTemplate: { spec: pipeline("f") },
      successfulHistoryLimit: 0,
    },
  }) as KubeObject;
const edit = (name: string, change: JsonObject): Promise<KubeObject> =>
  scene.control.users.patch({ apiVersion: "v1", kind: "ConfigMap", namespace: "default", name }, change, {
    type: "merge",
  });

/** A controller of WatchOperations as after a restart: every object is delivered to it again. */
function restarted(name: string, client: ControllerClient) {
  let keys: WatchSpec["keys"] | undefined;
  const startWatches = async (_controller: string, [spec]: readonly WatchSpec[]): Promise<void> => {
    if (keys !== undefined || spec === undefined) return;
    keys = spec.keys;
    for (const object of await scene.list(configMap)) keys({ type: "added", object });
  };
  const engine = { ...scene.deps.engine, startWatches };
  const { spec } = createWatchController({ ...scene.deps, client, engine });
  return {
    pass: () => spec.reconcile({ name }, new AbortController().signal),
    deliver: (change: CacheChange) => void keys?.(change),
  };
}

test("a WatchOperation whose controller dies at any write creates each Operation once", async () => {
  await atEachWrite(async (at, when) => {
    const name = `watch-${++lives}`;
    const object = (one: string): KubeObject => map(`${name}-${one}`, {}, { labels: { for: name } }) as KubeObject;
    const [previous] = [await scene.create(object("a")), await scene.create(object("b"))];
    await scene.create(watchOf(name, name));
    const created: string[] = [];
    const mortal = mortalClient(counting(scene.control.client, created), at, when);
    let controller = restarted(name, mortal.client);
    const pass = async (): Promise<void> => {
      await cached(kinds.watch, name);
      await controller.pass();
    };
    // At most one controller dies; the next one finds what it left behind.
    const settle = async (): Promise<void> => {
      await pass().catch(() => {
        controller = restarted(name, counting(scene.control.client, created));
        return pass();
      });
    };
    const end = async (): Promise<void> => {
      for (const one of created) {
        if ((await scene.get(kinds.operation, one)) === undefined) continue;
        await succeed(one);
        await cached(kinds.operation, one);
      }
    };
    await settle();
    await end();
    await settle();
    const changed = await edit(`${name}-a`, { data: { x: "1" } });
    controller.deliver({ type: "updated", object: changed, previous });
    await settle();
    await end();
    await settle();
    assert.equal(created.length, 3, `death ${when} write ${at}: ${created}`);
    assert.equal(new Set(created).size, 3);
    const left = await scene.list(kinds.operation);
    assert.ok(!left.some(({ metadata }) => created.includes(metadata.name ?? "")), "the history keeps none");
    return mortal.writes();
  });
});

test("two replicas that both believe to lead create each Operation once", async () => {
  const server = await startTestServer();
  await using one = await startScene(undefined, server);
  await using other = await startScene(undefined, { ...server, stop: async () => {} });
  let now = Date.now();
  const clock = { now: () => now, schedule: () => () => {} };
  const created: string[] = [];
  const replicas = [one, other];
  for (const { control, deps } of replicas) {
    const client = counting(control.client, created);
    await control.run(createCronController({ ...deps, clock, client }));
    await control.run(createWatchController({ ...deps, clock, client }));
  }
  const names = Array.from({ length: 10 }, (_, index) => `both-${index}`);
  for (const name of names) {
    const spec = { schedule: "* * * * *", successfulHistoryLimit: 1, operationTemplate: { spec: pipeline("f") } };
    await one.create({ ...kinds.cron, metadata: { name }, spec } as KubeObject);
  }
  await one.create(watchOf("both", "both"));
  // Later than their creation, however long that took.
  now = Math.ceil(Date.now() / 60_000) * 60_000 - 1;
  for (let round = 1; round <= 3; round++) {
    now += 60_000;
    await one.create(map(`both-${round}`, {}, { labels: { for: "both" } }) as KubeObject);
    for (const name of names)
      for (const { control } of replicas) control.engine.enqueue("ops/cronoperation.ops.crossplane.io", { name });
    await eventually(`round ${round}`, () => new Set(created).size >= round * (names.length + 1));
  }
  assert.equal(created.length, new Set(created).size, "no Operation is created twice");
  assert.equal(created.length, 3 * (names.length + 1));
});
