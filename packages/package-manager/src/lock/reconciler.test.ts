// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { conflict, isConflict } from "@purlin/kube-objects/errors";
import { conditionOf, conditionsOf, type KubeObject, memberAt } from "@purlin/kube-objects/object";
import {
  caughtUp,
  functionPackage,
  type PackageCluster,
  reconcileLock,
  startPackageCluster,
} from "../../test/package-cluster.ts";
import type { PackageClient } from "../fetch/package-client.ts";
import { otherKinds, packageTypes } from "../package-kinds.ts";
import { type DependencyCounts, registerPackage, unregisterPackage } from "./dependency-graph.ts";
import { type LockEntry, readLock, resolutionFailed } from "./lock-store.ts";

const signal = new AbortController().signal;
const pass = { stopping: signal };
const installOnly = { allowUpgrades: false, allowDowngrades: false };

function entry(cluster: PackageCluster, name: string, version: string, needs: Record<string, string> = {}): LockEntry {
  return {
    name: `${name}-1`,
    kind: "Function",
    source: `${cluster.registry}/acme/${name}`,
    version,
    dependencies: Object.entries(needs).map(([need, constraint]) => ({
      source: `${cluster.registry}/acme/${need}`,
      kind: "Function",
      constraint,
    })),
  };
}

function register(cluster: PackageCluster, own: LockEntry, siblings: string[] = []): Promise<DependencyCounts> {
  return registerPackage(cluster.client, { own, siblings: new Set(siblings) }, signal);
}

async function resolved(cluster: PackageCluster): Promise<string> {
  const lock = await cluster.kube.get(otherKinds.lock, { name: "lock" });
  const { status, message = "" } = conditionOf(conditionsOf(lock), "Resolved");
  return `${status} ${message}`.trim();
}

async function installedPackages(cluster: PackageCluster): Promise<string[]> {
  const { items } = await cluster.kube.list(packageTypes.Function.package);
  return items.map(
    (one) => `${one.metadata.name} ${String(memberAt(one, ["spec", "package"])).replace(cluster.registry, "")}`,
  );
}

test("a missing dependency is reported, installed in its highest version, and then found", async () => {
  await using cluster = await startPackageCluster();
  for (const tag of ["v1", "v1.1.0", "v2.0.0-rc.1"]) await cluster.push(`acme/dep:${tag}`, functionPackage(tag));
  const own = entry(cluster, "a", "v1", { dep: ">=v1.0.0" });
  const first = await register(cluster, own);
  assert.deepEqual([first.found, first.installed], [1, 0]);
  assert.equal(first.problem, `missing dependencies: "${cluster.registry}/acme/dep" (>=v1.0.0)`);
  await reconcileLock(cluster.deps, installOnly, pass);
  assert.deepEqual(await installedPackages(cluster), ["acme-dep /acme/dep:v1.1.0"]);
  await reconcileLock(cluster.deps, installOnly, pass);
  assert.equal(await resolved(cluster), "True");
  await register(cluster, entry(cluster, "dep", "v1.1.0"));
  const then = await register(cluster, own);
  assert.deepEqual(then, { found: 1, installed: 1, invalid: 0, problem: undefined });
  await reconcileLock(cluster.deps, installOnly, pass);
  cluster.takeWrites();
  await register(cluster, own);
  await reconcileLock(cluster.deps, installOnly, pass);
  assert.deepEqual(cluster.takeWrites(), []);
});

test("a dependency no version satisfies names every constraint, its package, and the versions", async () => {
  await using cluster = await startPackageCluster();
  await cluster.push("acme/dep:v1.1.0", functionPackage("x"));
  const own = entry(cluster, "a", "v1", { dep: ">=v2" });
  await register(cluster, own);
  await register(cluster, entry(cluster, "b", "v1", { dep: "<v3" }));
  const at = (name: string): string => `${cluster.registry}/acme/${name}`;
  const text = `no version of ${at("dep")} satisfies >=v2 (required by ${at("a")}) and <v3 (required by ${at("b")}); available: v1.1.0`;
  await assert.rejects(reconcileLock(cluster.deps, installOnly, pass), { message: `${resolutionFailed}${text}` });
  assert.equal(await resolved(cluster), `False Error occurred during dependency resolution ${text}`);
  assert.deepEqual(cluster.takeEvents(), [
    `Warning DependencyResolutionFailed: Error occurred during dependency resolution ${text}`,
  ]);
  const { problem } = await register(cluster, own);
  assert.equal(
    problem,
    `missing dependencies: "${at("dep")}" (>=v2): ${text}`,
    "the package that needs it reports that, too",
  );
});

test("the error of an unreachable registry names the package", async () => {
  await using cluster = await startPackageCluster();
  const own = entry(cluster, "a", "v1", { dep: "*" });
  await register(cluster, own);
  await cluster.closeRegistry();
  await assert.rejects(
    reconcileLock(cluster.deps, installOnly, pass),
    /cannot list the versions of .*acme\/dep: cannot reach 127\.0\.0\.1/,
  );
  assert.match((await register(cluster, own)).problem ?? "", /^missing dependencies: .*acme\/dep: cannot reach/);
});

test("a registry that is too slow is reported, although the reconcile has timed out", async () => {
  await using cluster = await startPackageCluster();
  await register(cluster, entry(cluster, "a", "v1", { dep: "*" }));
  const tags: PackageClient["tags"] = (_, request) =>
    sleep(86_400_000, undefined, request.signal && { signal: request.signal }).then(() =>
      assert.fail("no answer is expected"),
    );
  const deps = { ...cluster.deps, packages: { ...cluster.deps.packages, tags } };
  await caughtUp(cluster, [otherKinds.lock]);
  const source = `${cluster.registry}/acme/dep`;
  const text = `cannot list the versions of ${source}: timed out after 2s; will retry`;
  await assert.rejects(reconcileLock(deps, installOnly, { ...pass, timeoutMs: 2_000 }), {
    message: `${resolutionFailed}${text}`,
  });
  assert.equal(await resolved(cluster), `False Error occurred during dependency resolution ${text}`);
});

test("a Lock that was edited by hand may hold an unknown kind", async () => {
  await using cluster = await startPackageCluster();
  const own = entry(cluster, "a", "v1", { dep: "*" });
  const dependencies = own.dependencies.map((one) => ({ ...one, kind: "constructor" as never }));
  await register(cluster, { ...own, dependencies });
  await assert.rejects(
    reconcileLock(cluster.deps, installOnly, pass),
    /dependency .*acme\/dep has the unknown package kind constructor/,
  );
});

test("a conflict is retried without a condition or an event", async () => {
  await using cluster = await startPackageCluster();
  await cluster.push("acme/dep:v1.1.0", functionPackage("x"));
  await register(cluster, entry(cluster, "a", "v1"));
  await reconcileLock(cluster.deps, installOnly, pass);
  await register(cluster, entry(cluster, "a", "v1", { dep: "*" }));
  const faster = conflict({ group: "pkg.crossplane.io", resource: "functions" }, "acme-dep", "it changed");
  const client = { ...cluster.client, create: () => Promise.reject(faster) };
  const deps = { ...cluster.deps, client };
  await assert.rejects(reconcileLock(deps, installOnly, pass), isConflict);
  assert.equal(await resolved(cluster), "True");
  assert.deepEqual(cluster.takeEvents(), []);
});

test("a paused Lock and one that is not there are left alone", async () => {
  await using cluster = await startPackageCluster();
  assert.deepEqual(await reconcileLock(cluster.deps, installOnly, pass), {});
  await register(cluster, entry(cluster, "a", "v1", { dep: "*" }));
  const pause = { metadata: { annotations: { "crossplane.io/paused": "true" } } };
  await cluster.kube.patch({ ...otherKinds.lock, name: "lock" }, pause, { type: "merge" });
  cluster.takeWrites();
  await caughtUp(cluster, [otherKinds.lock]);
  await reconcileLock(cluster.deps, installOnly, pass);
  assert.deepEqual(cluster.takeWrites(), []);
});

test("a package of the dependency's name that a user created stays as it is", async () => {
  await using cluster = await startPackageCluster();
  await cluster.push("acme/dep:v1.1.0", functionPackage("x"));
  const reference = `${cluster.registry}/other/dep:v9`;
  const spec = { package: reference };
  await cluster.kube.create({ ...packageTypes.Function.package, metadata: { name: "acme-dep" }, spec } as KubeObject);
  await register(cluster, entry(cluster, "a", "v1", { dep: "*" }));
  await reconcileLock(cluster.deps, installOnly, pass);
  assert.deepEqual(await installedPackages(cluster), ["acme-dep /other/dep:v9"]);
});

test("a digest is installed by digest, and another one is incompatible", async () => {
  await using cluster = await startPackageCluster();
  const digest = await cluster.push("acme/dep:v1.1.0", functionPackage("x"));
  const own = entry(cluster, "a", "v1", { dep: digest });
  await register(cluster, own);
  await reconcileLock(cluster.deps, installOnly, pass);
  assert.deepEqual(await installedPackages(cluster), [`acme-dep /acme/dep@${digest}`]);
  await register(cluster, entry(cluster, "dep", `sha256:${"0".repeat(64)}`));
  const { invalid, problem } = await register(cluster, own);
  assert.equal(invalid, 1);
  assert.match(problem ?? "", /^incompatible dependencies: existing package .*acme\/dep@sha256:0+ is incompatible/);
});

test("a cycle is reported and nothing is installed", async () => {
  await using cluster = await startPackageCluster();
  await register(cluster, entry(cluster, "a", "v1", { b: "*", missing: "*" }));
  await register(cluster, entry(cluster, "b", "v1", { a: "*" }));
  await assert.rejects(reconcileLock(cluster.deps, installOnly, pass), /dependency cycle: .*a → .*b → .*a/);
  assert.deepEqual(await installedPackages(cluster), []);
});

test("an upgrade happens only where it is allowed, and as little as needed", async () => {
  await using cluster = await startPackageCluster();
  for (const tag of ["v1.0.0", "v1.1.0", "v1.5.0", "v2.0.0"])
    await cluster.push(`acme/dep:${tag}`, functionPackage(tag));
  const reference = `${cluster.registry}/acme/dep:v1.0.0`;
  await cluster.kube.create({
    ...packageTypes.Function.package,
    metadata: { name: "dep" },
    spec: { package: reference },
  } as KubeObject);
  // The schema accepts it, although it names no image: other packages are not affected.
  await cluster.kube.create({
    ...packageTypes.Function.package,
    metadata: { name: "broken" },
    spec: { package: "registry.example.org/No Image:v1" },
  } as KubeObject);
  const broken = "broken registry.example.org/No Image:v1";
  await register(cluster, entry(cluster, "dep", "v1.0.0"));
  await register(cluster, entry(cluster, "a", "v1", { dep: ">=1.1" }));
  await register(cluster, entry(cluster, "b", "v1", { dep: "<2" }));
  await reconcileLock(cluster.deps, installOnly, pass);
  assert.deepEqual(await installedPackages(cluster), [broken, "dep /acme/dep:v1.0.0"]);
  await reconcileLock(cluster.deps, { ...installOnly, allowUpgrades: true }, pass);
  assert.deepEqual(await installedPackages(cluster), [broken, "dep /acme/dep:v1.1.0"]);
});

test("where only a lower version would do, a downgrade must be allowed", async () => {
  await using cluster = await startPackageCluster();
  for (const tag of ["v0.8.0", "v0.9.0", "v1.0.0"]) await cluster.push(`acme/dep:${tag}`, functionPackage(tag));
  const spec = { package: `${cluster.registry}/acme/dep:v1.0.0` };
  await cluster.kube.create({ ...packageTypes.Function.package, metadata: { name: "dep" }, spec } as KubeObject);
  await register(cluster, entry(cluster, "dep", "v1.0.0"));
  await register(cluster, entry(cluster, "a", "v1", { dep: "<v1.0.0" }));
  await assert.rejects(
    reconcileLock(cluster.deps, { ...installOnly, allowUpgrades: true }, pass),
    /no version of .*acme\/dep satisfies <v1\.0\.0 \(required by .*acme\/a\); installed: v1\.0\.0, available: v0\.8\.0, /,
  );
  await reconcileLock(cluster.deps, { allowUpgrades: true, allowDowngrades: true }, pass);
  assert.deepEqual(await installedPackages(cluster), ["dep /acme/dep:v0.9.0"]);
});

test("an upgrade of a package that is in the Lock and nowhere else cannot be made", async () => {
  await using cluster = await startPackageCluster();
  await cluster.push("acme/dep:v2.0.0", functionPackage("x"));
  await register(cluster, entry(cluster, "dep", "v1.0.0"));
  await register(cluster, entry(cluster, "a", "v1", { dep: ">=v2" }));
  await assert.rejects(
    reconcileLock(cluster.deps, { ...installOnly, allowUpgrades: true }, pass),
    /cannot find the installed package of .*acme\/dep/,
  );
});

test("an empty Lock keeps neither conditions nor finalizer; a new version takes the place of the old one", async () => {
  await using cluster = await startPackageCluster();
  await register(cluster, entry(cluster, "a", "v1"));
  await reconcileLock(cluster.deps, installOnly, pass);
  await register(cluster, { ...entry(cluster, "a", "v2"), name: "a-2" }, ["a-1", "a-2"]);
  const lock = await cluster.kube.get(otherKinds.lock, { name: "lock" });
  assert.deepEqual(
    readLock(lock).map(({ name, version }) => `${name} ${version}`),
    ["a-2 v2"],
  );
  assert.deepEqual(lock.metadata.finalizers, ["lock.pkg.crossplane.io"]);
  await unregisterPackage(cluster.client, "a-2", signal);
  await reconcileLock(cluster.deps, installOnly, pass);
  const empty = await cluster.kube.get(otherKinds.lock, { name: "lock" });
  assert.deepEqual([empty.metadata.finalizers, conditionsOf(empty)], [undefined, []]);
});

test("a Lock with two entries of one source cannot be resolved until one of them goes", async () => {
  await using cluster = await startPackageCluster();
  await register(cluster, entry(cluster, "a", "v1"));
  const second = { ...entry(cluster, "a", "v1"), name: "other-1" };
  await assert.rejects(register(cluster, second), /node .*acme\/a already exists/);
  await assert.rejects(register(cluster, entry(cluster, "a", "v1")), /already exists/);
  await assert.rejects(reconcileLock(cluster.deps, installOnly, pass), /already exists/);
  await unregisterPackage(cluster.client, "other-1", signal);
  await register(cluster, entry(cluster, "a", "v1"));
});
