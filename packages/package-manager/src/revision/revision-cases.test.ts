// SPDX-License-Identifier: Apache-2.0
// Revisions whose packages lack, bring or say something, on a real API server with a real registry.
import assert from "node:assert/strict";
import { test } from "node:test";
import { type KubeObject, memberAt, textAt, withMember } from "@purlin/kube-objects/object";
import {
  functionPackage,
  type PackageCluster,
  reconcileLock,
  startPackageCluster,
} from "../../test/package-cluster.ts";
import {
  applyPackage,
  certify,
  conditionText,
  install,
  managePackage,
  passRevision,
  providerPackage,
  revisionHealth,
  revisions,
  thingCrd,
} from "../../test/package-scene.ts";
import { readLock } from "../lock/lock-store.ts";
import { otherKinds, packageTypes } from "../package-kinds.ts";

const signal = new AbortController().signal;
const xrd = `---
apiVersion: apiextensions.crossplane.io/v2
kind: CompositeResourceDefinition
metadata: {name: things.example.org}
spec: {}
`;

const configurationPackage = (spec = "{}"): string =>
  `apiVersion: meta.pkg.crossplane.io/v1\nkind: Configuration\nmetadata: {name: c}\nspec: ${spec}\n`;
const lockEntries = async (cluster: PackageCluster): Promise<string[]> => {
  const { items } = await cluster.kube.list(otherKinds.lock);
  return readLock(items[0]).map(({ source }) => source.replace(`${cluster.registry}/acme/`, ""));
};

test("an unexpected object in a function is reported and not installed, and nothing else fails", async () => {
  await using cluster = await startPackageCluster();
  await cluster.push("acme/f:v1", `${functionPackage("x")}${xrd}`);
  await install(cluster, "Function", "f");
  const [revision] = await revisions(cluster, "Function", "f");
  await certify(cluster, revision);
  cluster.takeEvents();
  await passRevision(cluster, "Function", revision);
  assert.deepEqual(cluster.takeEvents(), [
    `Warning LintPackage: ${cluster.registry}/acme/f:v1: package.yaml:5: CompositeResourceDefinition does not belong in a Function package`,
    "Normal SyncPackage: Successfully configured package revision",
  ]);
  assert.equal(await revisionHealth(cluster, "Function", "f"), "True");
  const [after] = await revisions(cluster, "Function", "f");
  assert.equal(after && memberAt(after, ["status", "objectRefs"]), undefined);
});

test("a package with a forbidden kind is invalid", async () => {
  await using cluster = await startPackageCluster();
  await cluster.push("acme/f:v1", `${functionPackage("x")}---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\n`);
  await applyPackage(cluster, { kind: "Function", name: "f" });
  await assert.rejects(
    managePackage(cluster, "Function", "f"),
    /package\.yaml:5: a package cannot hold ConfigMap of v1/,
  );
  assert.deepEqual(await revisions(cluster, "Function", "f"), []);
});

test("the capabilities of a function are in its status, where an empty list is left out", async () => {
  for (const [spec, expected] of Object.entries({
    "{}": ["composition"],
    "{capabilities: []}": undefined,
    "{capabilities: [operation]}": ["operation"],
  })) {
    await using cluster = await startPackageCluster();
    await cluster.push("acme/f:v1", functionPackage("x", spec));
    await install(cluster, "Function", "f");
    await certify(cluster, (await revisions(cluster, "Function", "f"))[0]);
    await passRevision(cluster, "Function", (await revisions(cluster, "Function", "f"))[0]);
    const [after] = await revisions(cluster, "Function", "f");
    assert.deepEqual(after && memberAt(after, ["status", "capabilities"]), expected, spec);
  }
});

test("a configuration waits for what it needs, with counts, and is healthy once that is there", async () => {
  await using cluster = await startPackageCluster();
  await cluster.push("acme/dep:v1.2.0", functionPackage("x"));
  const needs = `{dependsOn: [{function: ${cluster.registry}/acme/dep, version: ">=v1.0.0"}]}`;
  await cluster.push("acme/c:v1", configurationPackage(needs));
  await install(cluster, "Configuration", "c");
  const [revision] = await revisions(cluster, "Configuration", "c");
  cluster.takeEvents();
  await assert.rejects(passRevision(cluster, "Configuration", revision), /missing dependencies/);
  const text = `cannot resolve package dependencies: missing dependencies: "${cluster.registry}/acme/dep" (>=v1.0.0)`;
  assert.equal(await revisionHealth(cluster, "Configuration", "c"), `False ${text}`);
  assert.deepEqual(cluster.takeEvents(), [`Warning ResolveDependencies: ${text}`]);
  const counts = async (): Promise<unknown> => {
    const [one] = await revisions(cluster, "Configuration", "c");
    const { foundDependencies, installedDependencies, invalidDependencies } = (one?.["status"] ?? {}) as Record<
      string,
      number
    >;
    return [foundDependencies, installedDependencies, invalidDependencies];
  };
  assert.deepEqual(await counts(), [1, undefined, undefined], "zeros are left out");
  const options = { allowUpgrades: false, allowDowngrades: false };
  await reconcileLock(cluster.deps, options, { stopping: signal });
  await managePackage(cluster, "Function", "acme-dep");
  const [dep] = await revisions(cluster, "Function", "acme-dep");
  await certify(cluster, dep);
  await passRevision(cluster, "Function", dep);
  await passRevision(cluster, "Configuration", revision);
  assert.equal(await revisionHealth(cluster, "Configuration", "c"), "True");
  assert.deepEqual(await counts(), [1, 1, undefined]);
});

test("a dependency in an incompatible version is reported with version and constraint", async () => {
  await using cluster = await startPackageCluster();
  await cluster.push("acme/dep:v1.2.0", functionPackage("x"));
  await install(cluster, "Function", "dep", { package: `${cluster.registry}/acme/dep:v1.2.0` });
  const [dep] = await revisions(cluster, "Function", "dep");
  await certify(cluster, dep);
  await passRevision(cluster, "Function", dep);
  await cluster.push(
    "acme/c:v1",
    configurationPackage(`{dependsOn: [{function: ${cluster.registry}/acme/dep, version: ">=v2.0.0"}]}`),
  );
  await install(cluster, "Configuration", "c");
  const [revision] = await revisions(cluster, "Configuration", "c");
  await assert.rejects(passRevision(cluster, "Configuration", revision), /is incompatible with constraint >=v2\.0\.0/);
  assert.equal(
    await revisionHealth(cluster, "Configuration", "c"),
    `False cannot resolve package dependencies: incompatible dependencies: existing package ${cluster.registry}/acme/dep@v1.2.0 is incompatible with constraint >=v2.0.0`,
  );
});

test("a package that skips the resolution of dependencies is not in the Lock, and waits for nothing", async () => {
  await using cluster = await startPackageCluster();
  const needs = "{dependsOn: [{function: registry.example.org/acme/none, version: '*'}]}";
  await cluster.push("acme/c:v1", configurationPackage(needs));
  await install(cluster, "Configuration", "c", { skipDependencyResolution: true });
  await passRevision(cluster, "Configuration", (await revisions(cluster, "Configuration", "c"))[0]);
  assert.equal(await revisionHealth(cluster, "Configuration", "c"), "True");
  assert.deepEqual(await lockEntries(cluster), []);
});

test("webhooks of a Provider get its certificate and its Service", async () => {
  await using cluster = await startPackageCluster();
  const conversion = `  conversion:
    strategy: Webhook
    webhook: {conversionReviewVersions: [v1], clientConfig: {service: {name: x, namespace: y, path: /convert}}}
`;
  await cluster.push("acme/p:v1", providerPackage("x", thingCrd("as", conversion)));
  await install(cluster, "Provider", "p");
  await certify(cluster, (await revisions(cluster, "Provider", "p"))[0]);
  await passRevision(cluster, "Provider", (await revisions(cluster, "Provider", "p"))[0]);
  const crd = { apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition" };
  const stored = await cluster.kube.get(crd, { name: "as.example.org" });
  assert.deepEqual(memberAt(stored, ["spec", "conversion", "webhook", "clientConfig"]), {
    caBundle: "eA==",
    service: { name: "p", namespace: "crossplane-system", port: 9443, path: "/convert" },
  });
  const annotations = { "purlin.dev/certificate": "second" };
  const metadata = { name: "p-tls-server", namespace: "crossplane-system", annotations };
  const renewed = { ...otherKinds.secret, metadata, data: { "tls.crt": "eg==", "ca.crt": "eQ==" } };
  await cluster.kube.apply(renewed as KubeObject, { fieldManager: "runtime", force: true });
  await passRevision(cluster, "Provider", (await revisions(cluster, "Provider", "p"))[0]);
  const path = ["spec", "conversion", "webhook", "clientConfig", "caBundle"];
  const bundle = memberAt(await cluster.kube.get(crd, { name: "as.example.org" }), path);
  assert.equal(bundle, "eQ==", "once it was renewed the authority counts: Pods with the old one and the new one serve");
});

test("with an external runtime that names no certificate, no revision becomes healthy", async () => {
  await using cluster = await startPackageCluster();
  const external = { ...cluster, deps: { ...cluster.deps, hasRuntime: { Function: false, Provider: false } } };
  await cluster.push("acme/f:v1", functionPackage("x"));
  await install(external, "Function", "f");
  const [revision] = await revisions(cluster, "Function", "f");
  assert.ok(revision);
  assert.equal(textAt(revision, ["spec", "tlsServerSecretName"]), undefined);
  for (let pass = 0; pass < 2; pass++)
    await assert.rejects(passRevision(external, "Function", revision), /waiting for package runtime/);
  assert.match(
    await revisionHealth(cluster, "Function", "f"),
    /^False .*waiting for package runtime controller to set/,
  );
  const secret = {
    ...otherKinds.secret,
    metadata: { name: "theirs", namespace: "crossplane-system" },
    data: { "tls.crt": "eA==" },
  };
  await cluster.kube.create(secret as KubeObject);
  const [now] = await revisions(cluster, "Function", "f");
  await cluster.kube.update(withMember(now as KubeObject, ["status", "tlsServerSecretName"], "theirs"), {
    subresource: "status",
  });
  await passRevision(external, "Function", revision);
  assert.equal(await revisionHealth(cluster, "Function", "f"), "True", "until they do");
});

test("a certificate that is empty, or not there, is waited for", async () => {
  await using cluster = await startPackageCluster();
  await cluster.push("acme/f:v1", functionPackage("x"));
  await install(cluster, "Function", "f");
  const [revision] = await revisions(cluster, "Function", "f");
  assert.ok(revision);
  await cluster.kube.update(withMember(revision, ["status", "tlsServerSecretName"], "f-tls-server"), {
    subresource: "status",
  });
  await assert.rejects(passRevision(cluster, "Function", revision), /waiting for package runtime controller/);
  const metadata = { name: "f-tls-server", namespace: "crossplane-system" };
  await cluster.kube.create({ ...otherKinds.secret, metadata, data: { "tls.crt": "" } } as KubeObject);
  await assert.rejects(passRevision(cluster, "Function", revision), /waiting for package runtime controller/);
});

test("a revision that is paused says so and is left alone; afterwards it starts again", async () => {
  await using cluster = await startPackageCluster();
  await cluster.push("acme/f:v1", functionPackage("x"));
  await install(cluster, "Function", "f");
  const [revision] = await revisions(cluster, "Function", "f");
  await certify(cluster, revision);
  await passRevision(cluster, "Function", revision);
  const pause = (value: string | null): Promise<KubeObject> =>
    cluster.kube.patch(
      { ...packageTypes.Function.revision, name: revision?.metadata.name ?? "" },
      { metadata: { annotations: { "crossplane.io/paused": value } } },
      { type: "merge" },
    );
  await pause("true");
  await passRevision(cluster, "Function", revision);
  const condition = async (type: string): Promise<string> =>
    conditionText((await revisions(cluster, "Function", "f"))[0] as KubeObject, type);
  assert.match(await condition("Synced"), /^False ReconcilePaused/);
  await pause(null);
  await passRevision(cluster, "Function", revision);
  assert.deepEqual([await condition("Synced"), await condition("RevisionHealthy")], ["Unknown", "Unknown"]);
  await passRevision(cluster, "Function", revision);
  assert.equal(await revisionHealth(cluster, "Function", "f"), "True");
});

test("labels and annotations of the package's metadata go to the revision; reserved ones and the user's own win", async () => {
  await using cluster = await startPackageCluster({ functionRevisionSelectors: true });
  const labels =
    '{tier: gold, channel: from-package, "pkg.crossplane.io/package": evil, "pkg.crossplane.io/provider-family": fam}';
  const text = `apiVersion: meta.pkg.crossplane.io/v1\nkind: Function\nmetadata: {name: f, labels: ${labels}, annotations: {a: b}}\n`;
  await cluster.push("acme/f:v1", text);
  await applyPackage(cluster, { kind: "Function", name: "f", metadata: { labels: { channel: "from-user" } } });
  await managePackage(cluster, "Function", "f");
  await certify(cluster, (await revisions(cluster, "Function", "f"))[0]);
  await passRevision(cluster, "Function", (await revisions(cluster, "Function", "f"))[0]);
  const [after] = await revisions(cluster, "Function", "f");
  assert.deepEqual(after?.metadata.labels, {
    tier: "gold",
    channel: "from-user",
    "pkg.crossplane.io/package": "f",
    "pkg.crossplane.io/provider-family": "fam",
  });
  assert.equal(after?.metadata.annotations?.["a"], "b");
});

test("a revision is fetched from where the rewrite says, and says so; the Lock keeps the original", async () => {
  await using cluster = await startPackageCluster();
  await cluster.push("mirror/f:v1", functionPackage("x"));
  await cluster.kube.create({
    apiVersion: "pkg.crossplane.io/v1beta1",
    kind: "ImageConfig",
    metadata: { name: "mirror" },
    spec: {
      matchImages: [{ prefix: "registry.example.org/acme/" }],
      rewriteImage: { prefix: `${cluster.registry}/mirror/` },
    },
  });
  await install(cluster, "Function", "f", { package: "registry.example.org/acme/f:v1" });
  await certify(cluster, (await revisions(cluster, "Function", "f"))[0]);
  await passRevision(cluster, "Function", (await revisions(cluster, "Function", "f"))[0]);
  const [after] = await revisions(cluster, "Function", "f");
  assert.equal(after && textAt(after, ["status", "resolvedImage"]), `${cluster.registry}/mirror/f:v1`);
  assert.deepEqual(await lockEntries(cluster), ["registry.example.org/acme/f"]);
});

test("a revision whose package is gone says so", async () => {
  await using cluster = await startPackageCluster();
  await cluster.push("acme/p:v1", providerPackage("x", thingCrd("as")));
  await install(cluster, "Provider", "p");
  await certify(cluster, (await revisions(cluster, "Provider", "p"))[0]);
  const [revision] = await revisions(cluster, "Provider", "p");
  const changed = { ...revision, metadata: { ...revision?.metadata, labels: { "pkg.crossplane.io/package": "gone" } } };
  await cluster.kube.update(changed as KubeObject);
  await assert.rejects(passRevision(cluster, "Provider", revision), /cannot get the Provider "gone" of this revision/);
});
