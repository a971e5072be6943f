// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { KubeObject } from "@purlin/kube-client";
import { conditionOf, conditionsOf, controllerOf, memberAt, withMember } from "@purlin/kube-controller";
import { readLock } from "../lock/lock-entry.ts";
import { reconcilePackage } from "../manager/reconciler.ts";
import { otherKinds, packageTypes } from "../package-kinds.ts";
import { functionPackage, namespace, type PackageCluster, startPackageCluster } from "../testing/package-cluster.ts";
import type { PackageKind } from "../xpkg/package-meta.ts";
import { reconcileRevision } from "./reconciler.ts";

const stopping = new AbortController().signal;
const crd = { apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition" };

const thingCrd = (plural: string): string => `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: ${plural}.example.org}
spec:
  group: example.org
  names: {plural: ${plural}, kind: ${plural.toUpperCase()}}
  scope: Namespaced
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
`;

const providerPackage = (note: string, ...objects: string[]): string =>
  `apiVersion: meta.pkg.crossplane.io/v1\nkind: Provider\nmetadata: {name: p, annotations: {note: "${note}"}}\n${objects.map((one) => `---${one}`).join("")}`;

async function install(cluster: PackageCluster, kind: PackageKind, name: string, spec: object = {}): Promise<void> {
  const reference = `${cluster.registry}/acme/${name}:v1`;
  const object = { ...packageTypes[kind].package, metadata: { name }, spec: { package: reference, ...spec } };
  await cluster.kube.apply(object as KubeObject, { fieldManager: "user", force: true });
  await reconcilePackage(cluster.ports, packageTypes[kind], { key: { name }, stopping });
}

async function revisions(cluster: PackageCluster, kind: PackageKind, name: string): Promise<KubeObject[]> {
  const { items } = await cluster.kube.list(packageTypes[kind].revision, {
    labelSelector: `pkg.crossplane.io/package=${name}`,
  });
  return items.toSorted(
    (a, b) => Number(memberAt(b, ["spec", "revision"])) - Number(memberAt(a, ["spec", "revision"])),
  );
}

/** What a runtime does first: the name of its certificate, and the certificate. */
async function certify(cluster: PackageCluster, revision: KubeObject): Promise<void> {
  const name = String(memberAt(revision, ["spec", "tlsServerSecretName"]));
  const secret = { ...otherKinds.secret, metadata: { name, namespace }, data: { "tls.crt": "eA==" } };
  await cluster.kube.apply(secret as KubeObject, { fieldManager: "runtime", force: true });
  const changed = withMember(revision, ["status", "tlsServerSecretName"], name);
  await cluster.kube.update(changed, { subresource: "status" });
}

async function pass(cluster: PackageCluster, kind: PackageKind, revision: KubeObject | undefined): Promise<void> {
  const ports = { ...cluster.ports, crossplaneVersion: "v2.4.0" };
  const key = { name: revision?.metadata.name ?? "" };
  await reconcileRevision(ports, packageTypes[kind], { key, stopping });
}

async function healthy(cluster: PackageCluster, kind: PackageKind, name: string): Promise<string> {
  const [current] = await revisions(cluster, kind, name);
  assert.ok(current);
  const { status, message = "" } = conditionOf(conditionsOf(current), "RevisionHealthy");
  return `${status} ${message}`.trim();
}

test("case 48: a function waits for its certificate, then is healthy, and installs nothing", async () => {
  await using cluster = await startPackageCluster();
  await cluster.push("acme/f:v1", `${functionPackage("x")}---${thingCrd("inputs")}`);
  await install(cluster, "Function", "f");
  const [revision] = await revisions(cluster, "Function", "f");
  assert.ok(revision);
  await assert.rejects(pass(cluster, "Function", revision), /waiting for package runtime controller/);
  assert.match(await healthy(cluster, "Function", "f"), /^False cannot establish control of object: waiting for/);
  await certify(cluster, (await revisions(cluster, "Function", "f"))[0] ?? revision);
  await pass(cluster, "Function", revision);
  assert.equal(await healthy(cluster, "Function", "f"), "True");
  const [after] = await revisions(cluster, "Function", "f");
  assert.deepEqual(after && memberAt(after, ["status", "capabilities"]), ["composition"]);
  assert.equal(after?.metadata.annotations?.["note"], "x");
  assert.deepEqual(after?.metadata.finalizers, ["revision.pkg.crossplane.io"]);
  await assert.rejects(cluster.kube.get(crd, { name: "inputs.example.org" }), /not found/);
  cluster.takeWrites();
  await pass(cluster, "Function", revision);
  assert.deepEqual(cluster.takeWrites(), [], "a second look changes nothing");
});

test("case 31: a Provider installed as a Function says what it is", async () => {
  await using cluster = await startPackageCluster();
  await cluster.push("acme/f:v1", providerPackage("x"));
  await install(cluster, "Function", "f");
  const [revision] = await revisions(cluster, "Function", "f");
  await assert.rejects(
    pass(cluster, "Function", revision),
    /the package is a Provider, not a Function; install it as a Provider/,
  );
  assert.match(await healthy(cluster, "Function", "f"), /^False validating package contents failed/);
});

test("case 35: a package for a later version is refused unless told otherwise", async () => {
  await using cluster = await startPackageCluster({ functionRevisionSelectors: true });
  await cluster.push("acme/f:v1", functionPackage("x", '{crossplane: {version: ">=v3.0.0"}}'));
  await install(cluster, "Function", "f");
  const [revision] = await revisions(cluster, "Function", "f");
  await assert.rejects(
    pass(cluster, "Function", revision),
    /package is not compatible with Crossplane version \(v2\.4\.0\)/,
  );
  await install(cluster, "Function", "f", { ignoreCrossplaneConstraints: true });
  await assert.rejects(pass(cluster, "Function", revision), /waiting for package runtime/);
});

test("a Provider's CRDs are installed, owned by revision and package, and only then", async () => {
  await using cluster = await startPackageCluster();
  await cluster.push("acme/p:v1", providerPackage("x", thingCrd("as"), thingCrd("bs")));
  await install(cluster, "Provider", "p", { commonLabels: { team: "red" } });
  const [revision] = await revisions(cluster, "Provider", "p");
  assert.ok(revision);
  await certify(cluster, revision);
  await pass(cluster, "Provider", revision);
  const made = await cluster.kube.get(crd, { name: "as.example.org" });
  assert.equal(controllerOf(made)?.uid, revision.metadata.uid);
  assert.deepEqual(
    made.metadata.ownerReferences?.map(({ kind }) => kind),
    ["ProviderRevision", "Provider"],
  );
  assert.equal(made.metadata.labels?.["team"], "red");
  const [after] = await revisions(cluster, "Provider", "p");
  assert.ok(after);
  const refs = memberAt(after, ["status", "objectRefs"]) as unknown as { name: string }[];
  assert.deepEqual(
    refs.map(({ name }) => name),
    ["bs.example.org", "as.example.org"],
  );
  cluster.takeWrites();
  await pass(cluster, "Provider", revision);
  assert.deepEqual(cluster.takeWrites().filter((line) => !line.includes("dryRun")).length, 2, "only the dry runs");
});

test("case 43: an object of another package stops everything before anything is made", async () => {
  await using cluster = await startPackageCluster();
  await cluster.push("acme/p:v1", providerPackage("x", thingCrd("as"), thingCrd("bs")));
  const other = { apiVersion: "v1", kind: "ConfigMap", name: "theirs", uid: "u", controller: true };
  await cluster.kube.create({
    ...crd,
    metadata: { name: "bs.example.org", ownerReferences: [other] },
    spec: {
      group: "example.org",
      names: { plural: "bs", kind: "BS" },
      scope: "Namespaced",
      versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object" } } }],
    },
  } as KubeObject);
  await install(cluster, "Provider", "p");
  const [revision] = await revisions(cluster, "Provider", "p");
  assert.ok(revision);
  await certify(cluster, revision);
  await assert.rejects(
    pass(cluster, "Provider", revision),
    /bs\.example\.org is already controlled by ConfigMap theirs \(UID u\)/,
  );
  await assert.rejects(cluster.kube.get(crd, { name: "as.example.org" }), /not found/);
});

test("case 44, 45: a new revision takes over what the old one let go of; what it no longer brings stays", async () => {
  await using cluster = await startPackageCluster();
  await cluster.push("acme/p:v1", providerPackage("one", thingCrd("as"), thingCrd("bs")));
  await install(cluster, "Provider", "p");
  const [first] = await revisions(cluster, "Provider", "p");
  assert.ok(first);
  await certify(cluster, first);
  await pass(cluster, "Provider", first);
  await cluster.push("acme/p:v1", providerPackage("two", thingCrd("as")));
  await install(cluster, "Provider", "p");
  const [second] = await revisions(cluster, "Provider", "p");
  assert.ok(second && second.metadata.name !== first.metadata.name);
  await certify(cluster, second);
  await pass(cluster, "Provider", first);
  await pass(cluster, "Provider", second);
  const taken = await cluster.kube.get(crd, { name: "as.example.org" });
  assert.equal(controllerOf(taken)?.uid, second.metadata.uid);
  const left = await cluster.kube.get(crd, { name: "bs.example.org" });
  assert.equal(controllerOf(left), undefined);
  assert.ok(left.metadata.ownerReferences?.some(({ kind }) => kind === "Provider"));
});

test("case 23: a paused revision is not finalized; otherwise it leaves the Lock and goes", async () => {
  await using cluster = await startPackageCluster();
  await cluster.push("acme/f:v1", functionPackage("x"));
  await install(cluster, "Function", "f");
  const [revision] = await revisions(cluster, "Function", "f");
  assert.ok(revision);
  await certify(cluster, revision);
  await pass(cluster, "Function", revision);
  const lock = async (): Promise<number> => readLock(await cluster.kube.get(otherKinds.lock, { name: "lock" })).length;
  assert.equal(await lock(), 1);
  const name = revision.metadata.name ?? "";
  const pause = (value: string | null): Promise<KubeObject> =>
    cluster.kube.patch(
      { ...packageTypes.Function.revision, name },
      { metadata: { annotations: { "crossplane.io/paused": value } } },
      { type: "merge" },
    );
  await pause("true");
  await cluster.kube.delete({ ...packageTypes.Function.revision, name });
  await pass(cluster, "Function", revision);
  assert.equal((await revisions(cluster, "Function", "f")).length, 1);
  await pause(null);
  await pass(cluster, "Function", revision);
  assert.equal((await revisions(cluster, "Function", "f")).length, 0);
  assert.equal(await lock(), 0);
});

test("case 72: of two active revisions the highest is in the Lock", async () => {
  await using cluster = await startPackageCluster({ functionRevisionSelectors: true });
  for (const note of ["one", "two"]) {
    await cluster.push("acme/f:v1", functionPackage(note));
    await install(cluster, "Function", "f", { revisionHistoryLimit: 3, activeRevisionLimit: 2 });
    const [current] = await revisions(cluster, "Function", "f");
    assert.ok(current);
    await certify(cluster, current);
    await pass(cluster, "Function", current);
  }
  const [newest, oldest] = await revisions(cluster, "Function", "f");
  await pass(cluster, "Function", oldest);
  const entries = readLock(await cluster.kube.get(otherKinds.lock, { name: "lock" }));
  assert.deepEqual(
    entries.map(({ name }) => name),
    [newest?.metadata.name],
  );
  assert.equal(await healthy(cluster, "Function", "f"), "True");
});
