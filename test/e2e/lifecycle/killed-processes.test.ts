// SPDX-License-Identifier: Apache-2.0
// The command is killed in the middle of its work. On a real API server another replica takes over, on the embedded one it is
// started again on its data: either way all ends as if nothing had happened, nothing is there twice and nothing is left over.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { nopLogger, start } from "@purlin/function-sdk";
import type { KubeClient } from "@purlin/kube-client";
import { leaseSpecOf, leaseType } from "@purlin/kube-controller";
import type { KubeObject } from "@purlin/kube-objects/object";
import { startRealCluster } from "../../../tools/peers/real-cluster.ts";
import { conditionOf, eventually, functionAt, type UserView, userView } from "../harness/plane.ts";
import { clientOf, type PurlinProcess, startPurlin } from "../harness/purlin-process.ts";
import {
  at,
  boxOf,
  boxType,
  claimType,
  composedNames,
  configMap,
  isReady,
  legacyType,
  mapWith,
  namespace,
  obey,
  platform,
} from "./obedient-plane.ts";

/** A control plane of processes. */
interface Replicas extends AsyncDisposable {
  readonly users: KubeClient;
  /** Kills the one that works, and sees to it that there is another, which need not work yet. */
  killLeader(): Promise<void>;
  /** Resolves when another one works. */
  takenOver(): Promise<void>;
}

const number = 24;
const boxes = Array.from({ length: number }, (_, index) => `box-${index}`);
let fn: Awaited<ReturnType<typeof start>>;
let replicas: Replicas;
let view: UserView;

before(async () => {
  fn = await start(obey, { address: "127.0.0.1:0", insecure: true, metricsAddress: "", log: nopLogger });
  replicas = await (process.env["E2E_SERVER"] === "real" ? startReplicas() : startEmbedded());
  view = userView(replicas.users);
  // purlin up calls functions under development only where files set that, which are applied under this name.
  await replicas.users.apply(functionAt("obey", fn.address), { fieldManager: "purlin-apply", force: true });
  await view.apply(...platform, tick);
  await eventually("the schedule has run", async () => (await operationsOf(replicas.users)).length > 0);
});
after(async () => {
  await replicas[Symbol.asyncDispose]();
  await fn[Symbol.asyncDispose]();
});

/** A schedule that comes all the time, and keeps every Operation. */
const tick = {
  apiVersion: "ops.crossplane.io/v1alpha1",
  kind: "CronOperation",
  metadata: { name: "tick" },
  spec: {
    schedule: "@every 3s",
    successfulHistoryLimit: 10_000,
    failedHistoryLimit: 10_000,
    operationTemplate: { spec: { mode: "Pipeline", pipeline: [{ step: "obey", functionRef: { name: "obey" } }] } },
  },
} as KubeObject;

/** The Operations of the schedule. */
async function operationsOf(users: KubeClient): Promise<readonly KubeObject[]> {
  const type = { apiVersion: tick.apiVersion, kind: "Operation" };
  return (await users.list(type, { labelSelector: "ops.crossplane.io/cronoperation=tick" })).items;
}

/** Two `purlin start` on a real API server. */
async function startReplicas(): Promise<Replicas> {
  const cluster = await startRealCluster({ controllers: ["garbage-collector-controller", "namespace-controller"] });
  const loopback = ["--metrics-address", "127.0.0.1:0", "--health-address", "127.0.0.1:0"];
  const replica = (): PurlinProcess =>
    startPurlin(
      "start",
      "--kubeconfig",
      cluster.kubeconfig,
      "--allow-development-functions",
      "--enable-operations",
      ...loopback,
    );
  const users = await clientOf(cluster.kubeconfig);
  const leader = replica();
  await leader.says("all controllers run");
  const other = replica();
  await other.says("waiting for the leader's Lease");
  const key = { namespace: "crossplane-system", name: "crossplane-leader-election-core" };
  const holder = async (): Promise<string> => leaseSpecOf(await users.get(leaseType, key)).holderIdentity ?? "";
  const identityOf = ({ output }: PurlinProcess): string => /"identity":"([^"]+)"/.exec(output())?.[1] ?? "unknown";
  assert.equal(await holder(), identityOf(leader));
  return {
    users,
    killLeader: () => leader.kill(),
    async takenOver() {
      await other.says("all controllers run");
      assert.equal(await holder(), identityOf(other));
    },
    async [Symbol.asyncDispose]() {
      assert.equal(await other.stop(), 0, other.output());
      await leader.kill();
      await users.close();
      await cluster.stop();
    },
  };
}

/** One `purlin up`, which is started again. */
async function startEmbedded(): Promise<Replicas> {
  const directory = mkdtempSync(join(tmpdir(), "e2e-killed-"));
  const up = (): PurlinProcess => startPurlin("up", "--data-dir", directory, "--enable-operations");
  const connect = (): Promise<KubeClient> => clientOf(join(directory, "kubeconfig"));
  let running = up();
  await running.says("The control plane is ready");
  let users = await connect();
  return {
    get users() {
      return users;
    },
    async killLeader() {
      await running.kill();
      running = up();
    },
    async takenOver() {
      await running.says("control plane at");
      await users.close();
      // It uses its last port, unless another process took it.
      users = await connect();
      view = userView(users);
    },
    async [Symbol.asyncDispose]() {
      await users.close();
      await running.stop();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

const composed = async (): Promise<readonly KubeObject[]> =>
  (await replicas.users.list(configMap, { namespace, labelSelector: "crossplane.io/composite" })).items;
const textsOf = (maps: readonly KubeObject[]): string[] =>
  maps.map((map) => (map["data"] as { readonly text: string }).text).sort();
const claimOf = (name: string): KubeObject =>
  ({
    ...claimType,
    metadata: at(name),
    spec: { compose: { map: mapWith(`claim ${name}`, { namespace }) } },
  }) as unknown as KubeObject;

/** Everything composed belongs to something that says so itself, and nothing else is there. */
async function isWhole(wanted: readonly string[]): Promise<void> {
  const maps = await eventually(
    "exactly what is wanted is there",
    async () => {
      const found = await composed();
      return textsOf(found).join() === wanted.toSorted().join() && found;
    },
    () => "",
  );
  const owners = [...(await replicas.users.list(boxType)).items, ...(await replicas.users.list(legacyType)).items];
  for (const map of maps) {
    const owner = owners.find(({ metadata }) => metadata.uid === map.metadata.ownerReferences?.[0]?.uid);
    assert.ok(owner, `${map.metadata.name} has an owner`);
    assert.ok(composedNames(owner).includes(map.metadata.name ?? ""), `${map.metadata.name} is referred to`);
  }
}

test("killed in the middle of composing, changing and deleting: the end is the same, nothing twice, nothing left over", async () => {
  const first = (name: string): KubeObject =>
    boxOf(name, { compose: { kept: mapWith(`${name} kept`), old: mapWith(`${name} old`) } });
  await view.apply(...boxes.slice(0, number / 2).map(first), claimOf("one"));
  for (const name of boxes.slice(0, number / 2)) await view.until(`${name} is ready`, boxType, at(name), isReady);
  const before = new Map((await composed()).map(({ metadata }) => [metadata.name, metadata.uid]));
  // From here on there is always something half done: changes, new ones, deletions, and claims that are not bound yet.
  const changed = boxes.slice(0, number / 4);
  const work = async (): Promise<void> => {
    for (const [index, name] of changed.entries()) {
      const spec = { compose: { old: null, new: mapWith(`${name} new`) } };
      await replicas.users.patch({ ...boxType, ...at(name) }, { spec }, { type: "merge" });
      await replicas.users.create(first(boxes[number / 2 + index] ?? ""));
      await replicas.users.create(claimOf(`two-${index}`));
      await replicas.users.delete({ ...boxType, ...at(boxes[number / 4 + index] ?? "") });
    }
  };
  const working = work();
  await eventually("some of it is done", async () => textsOf(await composed()).some((text) => text.endsWith(" new")));
  await Promise.all([replicas.killLeader(), working.catch(() => undefined)]);
  await replicas.takenOver();
  await eventually("an event that could not be written before is written now", async () => {
    await repeat(changed, first);
    return true;
  });
  const kept = boxes.slice(number / 2, (number * 3) / 4);
  const claims = ["one", ...changed.map((_, index) => `two-${index}`)];
  for (const name of [...changed, ...kept]) await view.until(`${name} is ready`, boxType, at(name), isReady);
  for (const name of claims) await view.until(`claim ${name} is ready`, claimType, at(name), isReady);
  await isWhole([
    ...changed.flatMap((name) => [`${name} kept`, `${name} new`]),
    ...kept.flatMap((name) => [`${name} kept`, `${name} old`]),
    ...claims.map((name) => `claim ${name}`),
  ]);
  assert.equal((await replicas.users.list(legacyType)).items.length, claims.length, "one composite resource a claim");
  for (const { metadata } of await composed()) {
    const uid = before.get(metadata.name);
    if (uid !== undefined) assert.equal(metadata.uid, uid, `${metadata.name} was not made again`);
  }
});

test("a schedule continues after its control plane was killed: no time has two Operations, and each of them ends", async () => {
  const before = await operationsOf(replicas.users);
  const all = await eventually("it runs again, and all have ended", async () => {
    const found = await operationsOf(replicas.users);
    const isOver = (one: KubeObject): boolean => conditionOf(one, "Succeeded")?.status === "True";
    return found.length >= before.length + 2 && found.slice(0, -1).every(isOver) && found;
  });
  const times = all.map(({ metadata }) => metadata.annotations?.["purlin.dev/scheduled-time"] ?? "");
  assert.equal(new Set(times).size, all.length, times.join(", "));
});

/** Users repeat the writes of which they got no response. */
async function repeat(changed: readonly string[], first: (name: string) => KubeObject): Promise<void> {
  for (const [index, name] of changed.entries()) {
    const spec = { compose: { old: null, new: mapWith(`${name} new`) } };
    await replicas.users.patch({ ...boxType, ...at(name) }, { spec }, { type: "merge" });
    await view.apply(first(boxes[number / 2 + index] ?? ""), claimOf(`two-${index}`));
    const going = at(boxes[number / 4 + index] ?? "");
    if ((await view.find(boxType, going)) !== undefined) await replicas.users.delete({ ...boxType, ...going });
  }
}
