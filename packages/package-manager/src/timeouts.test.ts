// SPDX-License-Identifier: Apache-2.0
// A registry that accepts connections and never answers is reported, although the reconcile has timed out.
import assert from "node:assert/strict";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { createRegistryClient, type RegistryClient } from "@purlin/oci";
import {
  caughtUp,
  functionPackage,
  namespace,
  reconcilePackage,
  reconcileRevision,
  reconcileRuntime,
  startPackageCluster,
} from "../test/package-cluster.ts";
import {
  applyPackage,
  conditionText,
  install,
  packageCondition,
  revisionHealth,
  revisions,
  serve,
} from "../test/package-scene.ts";
import { createPackageClient, type PackageClient } from "./fetch/package-client.ts";
import { packageTypes } from "./package-kinds.ts";
import type { PackageRuntime } from "./runtime/package-runtime.ts";

const type = packageTypes.Function;
const stopping = new AbortController().signal;
/** Time enough for what comes before the registry is asked. */
const timeoutMs = 2_000;
const day = 86_400_000;

/** Waits for an answer that never comes. */
const silent = (packages: PackageClient): PackageClient => ({
  ...packages,
  resolve: ({ signal }) => sleep(day, undefined, signal && { signal }).then(() => assert.fail("no answer is expected")),
});

test("a package that cannot be fetched in time says so", async () => {
  await using cluster = await startPackageCluster();
  await applyPackage(cluster, { kind: "Function", name: "f" });
  const deps = { ...cluster.deps, packages: silent(cluster.deps.packages) };
  const said = `cannot unpack package: timed out after 2s reading ${cluster.registry}/acme/f:v1; will retry`;
  await caughtUp(cluster, [type.package, type.revision]);
  await assert.rejects(reconcilePackage(deps, type, { key: { name: "f" }, stopping, timeoutMs }), { message: said });
  const f = { kind: "Function", name: "f" } as const;
  assert.equal(await packageCondition(cluster, f, "Installed"), `False UnpackingPackage: ${said}`);
  assert.equal(await packageCondition(cluster, f, "Healthy"), `False UnhealthyPackageRevision: ${said}`);
  assert.deepEqual(cluster.takeEvents(), [`Warning UnpackPackage: ${said}`]);
});

test("a registry that hangs is named before that time is up, with what was asked and what to check", async (t) => {
  await using cluster = await startPackageCluster();
  const sockets: Socket[] = [];
  const server = createServer((socket) => void sockets.push(socket.on("error", () => {})));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  await applyPackage(cluster, { kind: "Function", name: "f", spec: { package: `${host}/acme/f:v1` } });
  const { client, store } = cluster;
  const registryClient = (): RegistryClient => createRegistryClient({ connectTimeoutMs: 2_000 });
  const packages = createPackageClient({ client, store, namespace, registryClient });
  await caughtUp(cluster, [type.package, type.revision]);
  const pass = reconcilePackage({ ...cluster.deps, packages }, type, { key: { name: "f" }, stopping });
  const said =
    `cannot unpack package: cannot reach ${host}: TLS handshake timed out after 2s (GET /v2/); ` +
    "check the registry's name, that it is running, and the network";
  await assert.rejects(pass, { message: said });
  const f = { kind: "Function", name: "f" } as const;
  assert.equal(await packageCondition(cluster, f, "Healthy"), `False UnhealthyPackageRevision: ${said}`);
  assert.deepEqual(cluster.takeEvents(), [`Warning UnpackPackage: ${said}`]);
});

test("a revision whose package cannot be fetched in time says so", async () => {
  await using cluster = await startPackageCluster();
  await cluster.push("acme/f:v1", functionPackage("x"));
  await install(cluster, "Function", "f");
  const [revision] = await revisions(cluster, "Function", "f");
  const key = { name: revision?.metadata.name ?? "" };
  await caughtUp(cluster, [type.package, type.revision]);
  cluster.takeEvents();
  const deps = { ...cluster.deps, packages: silent(cluster.deps.packages), crossplaneVersion: "v2.4.0" };
  const said = `cannot get package: timed out after 2s reading ${cluster.registry}/acme/f:v1; will retry`;
  await assert.rejects(reconcileRevision(deps, type, { key, stopping, timeoutMs }), { message: said });
  assert.equal(await revisionHealth(cluster, "Function", "f"), `False ${said}`);
  assert.deepEqual(cluster.takeEvents(), [`Warning ParsePackage: ${said}`]);
});

test("a program that cannot be started in time says so", async () => {
  await using cluster = await startPackageCluster();
  await cluster.push("acme/f:v1", functionPackage("x"));
  await install(cluster, "Function", "f");
  await serve(cluster, { kind: "Function", name: "f", number: 1 });
  const [revision] = await revisions(cluster, "Function", "f");
  const key = { name: revision?.metadata.name ?? "" };
  await caughtUp(cluster, [type.revision]);
  cluster.takeEvents();
  const runtime: PackageRuntime = {
    prepare: async () => ({ tlsServerSecretName: "s" }),
    run: ({ signal }) => sleep(day, undefined, { signal }).then(() => assert.fail("it never comes")),
    retire: async () => ({}),
  };
  const said = "cannot run package: timed out after 2s; will retry";
  const pass = reconcileRuntime(cluster.deps, { runtime, type }, { key, stopping, timeoutMs });
  await assert.rejects(pass, { message: said });
  const after = await cluster.kube.get(type.revision, key);
  assert.equal(conditionText(after, "RuntimeHealthy"), `False UnhealthyPackageRevision: ${said}`);
  assert.deepEqual(cluster.takeEvents(), [`Warning SyncPackage: ${said}`]);
});
