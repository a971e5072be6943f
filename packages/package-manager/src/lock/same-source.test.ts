// SPDX-License-Identifier: Apache-2.0
// A dependency that a user installed under a name of their own: it is upgraded, not installed a second time.
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  conditionOf,
  conditionsOf,
  controllerOf,
  isDeleted,
  type KubeObject,
  memberAt,
} from "@purlin/kube-objects/object";
import type { PackageKind } from "@purlin/oci";
import { caughtUp, type PackageCluster, reconcileLock, startPackageCluster } from "../../test/package-cluster.ts";
import {
  certify,
  install,
  managePackage,
  passRevision,
  providerPackage,
  revisionHealth,
  revisions,
  thingCrd,
} from "../../test/package-scene.ts";
import { otherKinds, packageTypes } from "../package-kinds.ts";
import { lockName, readLock } from "./lock-store.ts";

const stopping = new AbortController().signal;
const crdType = { apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition" };

const configuration = (cluster: PackageCluster, constraint: string): string =>
  `apiVersion: meta.pkg.crossplane.io/v1\nkind: Configuration\nmetadata: {name: conf}\nspec:\n  dependsOn:\n  - {apiVersion: pkg.crossplane.io/v1, kind: Provider, package: ${cluster.registry}/acme/nop, version: "${constraint}"}\n`;

async function startPlane(constraint: string): Promise<PackageCluster> {
  const cluster = await startPackageCluster();
  for (const tag of ["v0.1.0", "v0.2.0", "v0.2.1"]) {
    await cluster.push(`acme/nop:${tag}`, providerPackage(tag, thingCrd("things")));
  }
  await cluster.push("acme/conf:v1", configuration(cluster, constraint));
  await install(cluster, "Provider", "cool-provider", { package: `${cluster.registry}/acme/nop:v0.1.0` });
  await passAll(cluster, "Provider");
  return cluster;
}

async function resolve(cluster: PackageCluster, allowUpgrades = true): Promise<void> {
  await caughtUp(cluster, [otherKinds.lock, packageTypes.Provider.package]);
  await reconcileLock(cluster.deps, { allowUpgrades, allowDowngrades: false }, { stopping }).catch(() => {});
}

/** Manager, runtime and revision controller have a look at every package of a kind, oldest revisions first. */
async function passAll(cluster: PackageCluster, kind: PackageKind): Promise<void> {
  const { items } = await cluster.kube.list(packageTypes[kind].package);
  for (const { metadata } of items) {
    const { name = "" } = metadata;
    await managePackage(cluster, kind, name);
    for (const one of (await revisions(cluster, kind, name)).toReversed()) await passOne(cluster, kind, one);
  }
}

async function passOne(cluster: PackageCluster, kind: PackageKind, revision: KubeObject): Promise<void> {
  const name = revision.metadata.name ?? "";
  if (kind === "Provider") await certify(cluster, revision);
  const current = await cluster.kube.get(packageTypes[kind].revision, { name });
  // What fails is retried; what it says is in the condition.
  await passRevision(cluster, kind, current).catch(() => {});
}

async function providers(cluster: PackageCluster): Promise<string[]> {
  const { items } = await cluster.kube.list(packageTypes.Provider.package);
  const there = items.filter((one) => !isDeleted(one));
  return there.map(
    (one) =>
      `${one.metadata.name} ${String(memberAt(one, ["spec", "package"]))
        .split(":")
        .at(-1)}`,
  );
}

async function lockOf(cluster: PackageCluster): Promise<{ entries: string[]; resolved: string }> {
  const lock = await cluster.kube.get(otherKinds.lock, { name: lockName });
  const entries = readLock(lock).map(({ source, version }) => `${source.split("/").at(-1)} ${version}`);
  return { entries: entries.toSorted(), resolved: conditionOf(conditionsOf(lock), "Resolved").status };
}

test("a Provider that is not named after its repository is upgraded for a Configuration that needs it", async () => {
  await using cluster = await startPlane(">=v0.2.0");
  await install(cluster, "Configuration", "conf", { package: `${cluster.registry}/acme/conf:v1` });
  await passAll(cluster, "Configuration");
  await resolve(cluster);
  assert.deepEqual(await providers(cluster), ["cool-provider v0.2.0"]);
  // The old revision leaves the Lock before the new one enters it.
  await managePackage(cluster, "Provider", "cool-provider");
  const [, old] = await revisions(cluster, "Provider", "cool-provider");
  assert.ok(old);
  await passOne(cluster, "Provider", old);
  assert.deepEqual((await lockOf(cluster)).entries, ["conf v1"]);
  for (const allowUpgrades of [false, true]) await resolve(cluster, allowUpgrades);
  assert.deepEqual(await providers(cluster), ["cool-provider v0.2.0"], "nothing is installed beside it");
  await passAll(cluster, "Provider");
  await passAll(cluster, "Configuration");
  await resolve(cluster);
  assert.deepEqual(await lockOf(cluster), { entries: ["conf v1", "nop v0.2.0"], resolved: "True" });
  assert.equal(await revisionHealth(cluster, "Configuration", "conf"), "True");
  assert.equal(await revisionHealth(cluster, "Provider", "cool-provider"), "True");
});

test("of two packages of one source, the one in the Lock is upgraded", async () => {
  await using cluster = await startPlane(">=v0.2.0");
  await install(cluster, "Configuration", "conf", { package: `${cluster.registry}/acme/conf:v1` });
  await passAll(cluster, "Configuration");
  const spec = { package: `${cluster.registry}/acme/nop:v0.1.0` };
  const second = { ...packageTypes.Provider.package, metadata: { name: "acme-nop" }, spec };
  await cluster.kube.create(second, { fieldManager: "crossplane" });
  await resolve(cluster);
  assert.deepEqual(await providers(cluster), ["acme-nop v0.1.0", "cool-provider v0.2.0"]);
});

/** A plane on which the dependency was installed a second time while the first one was upgraded. */
async function startStuck(
  made: { readonly name: string; readonly labels?: object },
  fieldManager: string,
): Promise<PackageCluster> {
  const cluster = await startPlane(">=v0.1.0");
  await install(cluster, "Configuration", "conf", { package: `${cluster.registry}/acme/conf:v1` });
  const second = { ...packageTypes.Provider.package, metadata: made };
  const spec = { package: `${cluster.registry}/acme/nop:v0.2.1` };
  await cluster.kube.create({ ...second, spec } as KubeObject, { fieldManager });
  await managePackage(cluster, "Provider", made.name);
  const [entered] = await revisions(cluster, "Provider", made.name);
  const lock = await cluster.kube.get(otherKinds.lock, { name: lockName });
  const [first] = (lock["packages"] ?? []) as { name: string; version: string }[];
  assert.ok(first && entered);
  const twice = [first, { ...first, name: entered.metadata.name ?? "", version: "v0.2.1" }];
  await cluster.kube.update({ ...lock, packages: twice });
  await resolve(cluster);
  assert.equal((await lockOf(cluster)).resolved, "False", "it is stuck");
  return cluster;
}

async function settle(cluster: PackageCluster): Promise<void> {
  for (let round = 0; round < 3; round++) {
    await passAll(cluster, "Provider");
    await passAll(cluster, "Configuration");
    await resolve(cluster);
  }
}

test("a plane with a dependency that was installed twice recovers, and the installation of the resolver goes", async () => {
  await using cluster = await startStuck({ name: "acme-nop" }, "crossplane");
  cluster.takeEvents();
  await settle(cluster);
  assert.deepEqual(await providers(cluster), ["cool-provider v0.1.0"]);
  assert.deepEqual(await lockOf(cluster), { entries: ["conf v1", "nop v0.1.0"], resolved: "True" });
  assert.equal(await revisionHealth(cluster, "Configuration", "conf"), "True");
  const source = `${cluster.registry}/acme/nop`;
  const event = `Normal DeletedDuplicatePackage: Deleted Provider "acme-nop", a second installation of ${source} that dependency resolution had created`;
  assert.ok(cluster.takeEvents().includes(event));
  const crd = await cluster.kube.get(crdType, { name: "things.example.org" });
  const [current] = await revisions(cluster, "Provider", "cool-provider");
  assert.equal(controllerOf(crd)?.uid, current?.metadata.uid, "what it installed stays");
});

test("of two packages of one source that users made, the younger one reports it, and all others work", async () => {
  // Made in the same second, the first name in the alphabet would count as older.
  await using cluster = await startStuck({ name: "second-nop", labels: { team: "a" } }, "kubectl-create");
  await settle(cluster);
  assert.deepEqual(await providers(cluster), ["cool-provider v0.1.0", "second-nop v0.2.1"]);
  assert.deepEqual(await lockOf(cluster), { entries: ["conf v1", "nop v0.1.0"], resolved: "True" });
  assert.equal(await revisionHealth(cluster, "Configuration", "conf"), "True");
  assert.equal(await revisionHealth(cluster, "Provider", "cool-provider"), "True");
  const node = `node ${cluster.registry}/acme/nop already exists`;
  assert.equal(
    await revisionHealth(cluster, "Provider", "second-nop"),
    `False cannot resolve package dependencies: cannot initialize dependency graph from the packages in the lock: ${node}: it is installed as Provider "cool-provider"; delete one of the two`,
  );
  await cluster.kube.delete({ ...packageTypes.Provider.package, name: "cool-provider" });
  for (const one of await revisions(cluster, "Provider", "cool-provider")) {
    await cluster.kube.delete({ ...packageTypes.Provider.revision, name: one.metadata.name ?? "" });
    await passRevision(cluster, "Provider", one);
  }
  await settle(cluster);
  assert.deepEqual((await lockOf(cluster)).entries, ["conf v1", "nop v0.2.1"], "the other one takes its place");
});

test("an entry of the Lock whose revision is gone gives way to the package that is there", async () => {
  await using cluster = await startPlane(">=v0.1.0");
  const lock = await cluster.kube.get(otherKinds.lock, { name: lockName });
  const packages = (lock["packages"] as { name: string }[]).map((one) => ({ ...one, name: "gone-1" }));
  await cluster.kube.update({ ...lock, packages });
  await passAll(cluster, "Provider");
  assert.equal(await revisionHealth(cluster, "Provider", "cool-provider"), "True");
  const after = await cluster.kube.get(otherKinds.lock, { name: lockName });
  assert.deepEqual(
    readLock(after).map(({ name }) => name),
    (await revisions(cluster, "Provider", "cool-provider")).map(({ metadata }) => metadata.name),
  );
});
