// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { controllerOf, type KubeObject, memberAt, withMember } from "@purlin/kube-objects/object";
import { caughtUp, functionPackage, startPackageCluster } from "../../test/package-cluster.ts";
import {
  certify,
  install,
  passRevision,
  providerPackage,
  revisionHealth,
  revisions,
  thingCrd,
} from "../../test/package-scene.ts";
import { createEstablished } from "../establish/establish.ts";
import { readLock } from "../lock/lock-store.ts";
import { otherKinds, packageTypes } from "../package-kinds.ts";

const crd = { apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition" };

test("a function waits for its certificate, then is healthy, and installs nothing", async () => {
  await using cluster = await startPackageCluster();
  await cluster.push("acme/f:v1", `${functionPackage("x")}---${thingCrd("inputs")}`);
  await install(cluster, "Function", "f");
  const [revision] = await revisions(cluster, "Function", "f");
  assert.ok(revision);
  await assert.rejects(passRevision(cluster, "Function", revision), /waiting for package runtime controller/);
  assert.match(
    await revisionHealth(cluster, "Function", "f"),
    /^False cannot establish control of object: waiting for/,
  );
  await certify(cluster, (await revisions(cluster, "Function", "f"))[0] ?? revision);
  await passRevision(cluster, "Function", revision);
  assert.equal(await revisionHealth(cluster, "Function", "f"), "True");
  const [after] = await revisions(cluster, "Function", "f");
  assert.deepEqual(after && memberAt(after, ["status", "capabilities"]), ["composition"]);
  assert.equal(after?.metadata.annotations?.["note"], "x");
  assert.deepEqual(after?.metadata.finalizers, ["revision.pkg.crossplane.io"]);
  await assert.rejects(cluster.kube.get(crd, { name: "inputs.example.org" }), /not found/);
  cluster.takeWrites();
  await passRevision(cluster, "Function", revision);
  assert.deepEqual(cluster.takeWrites(), [], "a second look changes nothing");
});

test("a certificate that comes a moment later causes neither a failure nor an event", async () => {
  await using cluster = await startPackageCluster();
  await cluster.push("acme/f:v1", functionPackage("x"));
  await install(cluster, "Function", "f");
  const [revision] = await revisions(cluster, "Function", "f");
  await certify(cluster, revision);
  const { client } = cluster.deps;
  let looks = 0;
  // As it looks while the runtime's controller is at work.
  const get: typeof client.get = async (type, key, options) => {
    const found = await client.get(type, key, options);
    const isEarly = type.kind === "FunctionRevision" && ++looks < 5;
    return found && isEarly ? withMember(found, ["status", "tlsServerSecretName"], undefined) : found;
  };
  cluster.takeEvents();
  await passRevision(cluster, "Function", revision, { client: { ...client, get } });
  assert.equal(await revisionHealth(cluster, "Function", "f"), "True");
  assert.deepEqual(cluster.takeEvents(), ["Normal SyncPackage: Successfully configured package revision"]);
});

test("a Provider installed as a Function says what it is", async () => {
  await using cluster = await startPackageCluster();
  await cluster.push("acme/f:v1", providerPackage("x"));
  await install(cluster, "Function", "f");
  const [revision] = await revisions(cluster, "Function", "f");
  await assert.rejects(
    passRevision(cluster, "Function", revision),
    /the package is a Provider, not a Function; install it as a Provider/,
  );
  assert.match(await revisionHealth(cluster, "Function", "f"), /^False validating package contents failed/);
});

const foreignKinds = [
  ["CustomResourceDefinition", "apiextensions.k8s.io/v1", "functions.pkg.crossplane.io", "the control plane"],
  ["CustomResourceDefinition", "apiextensions.k8s.io/v1", "roles.rbac.authorization.k8s.io", "Kubernetes"],
  // Inactive, so no API server looks at its group.
  ["ManagedResourceDefinition", "apiextensions.crossplane.io/v1alpha1", "deployments.apps", "Kubernetes"],
] as const;
for (const [kind, apiVersion, name, owner] of foreignKinds) {
  test(`a Provider that brings a ${kind} ${name}, to get rights for that kind, is refused`, async () => {
    await using cluster = await startPackageCluster();
    const [plural = "", ...group] = name.split(".");
    const definition = thingCrd(plural)
      .replaceAll("example.org", group.join("."))
      .replace("CustomResourceDefinition", kind)
      .replace("apiextensions.k8s.io/v1", apiVersion);
    await cluster.push("acme/p:v1", providerPackage("x", definition));
    await install(cluster, "Provider", "p");
    const [revision] = await revisions(cluster, "Provider", "p");
    await certify(cluster, revision);
    const text = `${kind} "${name}" has a group of ${owner}; build the package without it`;
    await assert.rejects(passRevision(cluster, "Provider", revision), ({ message }: Error) => message.includes(text));
    assert.match(await revisionHealth(cluster, "Provider", "p"), /^False validating package contents failed/);
    const [after] = await revisions(cluster, "Provider", "p");
    assert.equal(after && memberAt(after, ["status", "objectRefs"]), undefined);
  });
}

test("a package for another version is refused without a retry, unless constraints are ignored", async () => {
  await using cluster = await startPackageCluster({ functionRevisionSelectors: true });
  await cluster.push("acme/f:v1", functionPackage("x", '{crossplane: {version: ">=v2.0.0"}}'));
  await install(cluster, "Function", "f");
  const [revision] = await revisions(cluster, "Function", "f");
  const crossplaneVersion = "v2.4.0-rc.1";
  cluster.takeEvents();
  await passRevision(cluster, "Function", revision, { crossplaneVersion });
  const text = "incompatible Crossplane version: package is not compatible with Crossplane version (v2.4.0-rc.1)";
  assert.equal(await revisionHealth(cluster, "Function", "f"), `False ${text}; required: >=v2.0.0`);
  assert.deepEqual(cluster.takeEvents(), [`Warning LintPackage: ${text}; required: >=v2.0.0`]);
  await install(cluster, "Function", "f", { ignoreCrossplaneConstraints: true });
  await assert.rejects(
    passRevision(cluster, "Function", revision, { crossplaneVersion }),
    /waiting for package runtime/,
  );
  await certify(cluster, (await revisions(cluster, "Function", "f"))[0]);
  await passRevision(cluster, "Function", revision, { crossplaneVersion });
  assert.equal(await revisionHealth(cluster, "Function", "f"), "True");
});

test("a Provider's CRDs are installed, owned by revision and package, and only then", async () => {
  await using cluster = await startPackageCluster();
  await cluster.push("acme/p:v1", providerPackage("x", thingCrd("as"), thingCrd("bs")));
  await install(cluster, "Provider", "p", { commonLabels: { team: "red" } });
  const [revision] = await revisions(cluster, "Provider", "p");
  assert.ok(revision);
  await certify(cluster, revision);
  await passRevision(cluster, "Provider", revision);
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
  await passRevision(cluster, "Provider", revision);
  assert.deepEqual(
    cluster.takeWrites().filter((line) => !line.endsWith(" (dry run)")),
    [],
    "only dry runs",
  );
});

test("an object of another package stops everything before anything is made", async () => {
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
    passRevision(cluster, "Provider", revision),
    /bs\.example\.org is already controlled by ConfigMap theirs \(UID u\)/,
  );
  await assert.rejects(cluster.kube.get(crd, { name: "as.example.org" }), /not found/);
});

test("a new revision takes over what the old one released; objects that it no longer has stay", async () => {
  await using cluster = await startPackageCluster();
  await cluster.push("acme/p:v1", providerPackage("one", thingCrd("as"), thingCrd("bs")));
  await install(cluster, "Provider", "p");
  const [first] = await revisions(cluster, "Provider", "p");
  assert.ok(first);
  await certify(cluster, first);
  await passRevision(cluster, "Provider", first);
  await cluster.push("acme/p:v1", providerPackage("two", thingCrd("as")));
  await install(cluster, "Provider", "p");
  const [second] = await revisions(cluster, "Provider", "p");
  assert.ok(second && second.metadata.name !== first.metadata.name);
  await certify(cluster, second);
  await passRevision(cluster, "Provider", first);
  await passRevision(cluster, "Provider", second);
  const taken = await cluster.kube.get(crd, { name: "as.example.org" });
  assert.equal(controllerOf(taken)?.uid, second.metadata.uid);
  const left = await cluster.kube.get(crd, { name: "bs.example.org" });
  assert.equal(controllerOf(left), undefined);
  assert.ok(left.metadata.ownerReferences?.some(({ kind }) => kind === "Provider"));
});

test("a paused revision is not finalized; otherwise it leaves the Lock and goes", async () => {
  await using cluster = await startPackageCluster();
  await cluster.push("acme/f:v1", functionPackage("x"));
  await install(cluster, "Function", "f");
  const [revision] = await revisions(cluster, "Function", "f");
  assert.ok(revision);
  await certify(cluster, revision);
  await passRevision(cluster, "Function", revision);
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
  await passRevision(cluster, "Function", revision);
  assert.equal((await revisions(cluster, "Function", "f")).length, 1);
  await pause(null);
  await passRevision(cluster, "Function", revision);
  assert.equal((await revisions(cluster, "Function", "f")).length, 0);
  assert.equal(await lock(), 0);
});

test("of two active revisions the highest is in the Lock", async () => {
  await using cluster = await startPackageCluster({ functionRevisionSelectors: true });
  for (const note of ["one", "two"]) {
    await cluster.push("acme/f:v1", functionPackage(note));
    await install(cluster, "Function", "f", { revisionHistoryLimit: 3, activeRevisionLimit: 2 });
    const [current] = await revisions(cluster, "Function", "f");
    assert.ok(current);
    await certify(cluster, current);
    await passRevision(cluster, "Function", current);
  }
  const [newest, oldest] = await revisions(cluster, "Function", "f");
  await passRevision(cluster, "Function", oldest);
  const entries = readLock(await cluster.kube.get(otherKinds.lock, { name: "lock" }));
  assert.deepEqual(
    entries.map(({ name }) => name),
    [newest?.metadata.name],
  );
  assert.equal(await revisionHealth(cluster, "Function", "f"), "True");
});

test("a revision that is being deleted does not represent its package: the next one is in the Lock, and stays there", async () => {
  await using cluster = await startPackageCluster({ functionRevisionSelectors: true });
  for (const note of ["one", "two"]) {
    await cluster.push("acme/f:v1", functionPackage(note));
    await install(cluster, "Function", "f", { revisionHistoryLimit: 3, activeRevisionLimit: 2 });
    const [current] = await revisions(cluster, "Function", "f");
    await certify(cluster, current);
    await passRevision(cluster, "Function", current);
  }
  const [newest, oldest] = await revisions(cluster, "Function", "f");
  await cluster.kube.delete({ ...packageTypes.Function.revision, name: newest?.metadata.name ?? "" });
  const locked = async (): Promise<string[]> =>
    readLock(await cluster.kube.get(otherKinds.lock, { name: "lock" })).map(({ name }) => name);
  assert.deepEqual(await locked(), [newest?.metadata.name], "its finalizer holds it");
  await passRevision(cluster, "Function", oldest);
  assert.deepEqual(await locked(), [oldest?.metadata.name]);
  await passRevision(cluster, "Function", newest);
  assert.equal((await revisions(cluster, "Function", "f")).length, 1);
  assert.deepEqual(await locked(), [oldest?.metadata.name]);
});

test("an established provider is not written again until a user changes one of its objects", async () => {
  await using cluster = await startPackageCluster();
  await cluster.push("acme/p:v1", providerPackage("x", thingCrd("as"), thingCrd("bs")));
  await install(cluster, "Provider", "p");
  await certify(cluster, (await revisions(cluster, "Provider", "p"))[0]);
  const [revision] = await revisions(cluster, "Provider", "p");
  const established = createEstablished();
  const pass = async (): Promise<string[]> => {
    await caughtUp(cluster, [crd]);
    cluster.takeWrites();
    await passRevision(cluster, "Provider", revision, { established });
    return cluster.takeWrites().map((line) => line.replace(/^(\w+) .*\/(\w+)\.example\.org\b/, "$1 $2"));
  };
  await pass();
  assert.deepEqual(
    (await pass()).toSorted(),
    ["PUT as (dry run)", "PUT bs (dry run)"],
    "what it wrote is looked at once",
  );
  assert.deepEqual(await pass(), []);
  const stored = await cluster.kube.get(crd, { name: "as.example.org" });
  await cluster.kube.update(withMember(stored, ["spec", "names", "shortNames"], ["mine"]));
  assert.deepEqual(await pass(), ["PUT as (dry run)", "PUT as"]);
});

test("one that is Inactive is not in the Lock, also when there is no other", async () => {
  await using cluster = await startPackageCluster({ functionRevisionSelectors: true });
  await cluster.push("acme/f:v1", functionPackage("x"));
  await install(cluster, "Function", "f", { revisionActivationPolicy: "Manual" });
  const [revision] = await revisions(cluster, "Function", "f");
  assert.equal(revision && memberAt(revision, ["spec", "desiredState"]), "Inactive");
  await passRevision(cluster, "Function", revision);
  assert.equal(await revisionHealth(cluster, "Function", "f"), "True");
  assert.deepEqual(readLock(await cluster.kube.get(otherKinds.lock, { name: "lock" })), []);
});

test("one that is Inactive and has released what it installed no longer needs its registry", async () => {
  await using cluster = await startPackageCluster();
  await cluster.push("acme/p:v1", providerPackage("x", thingCrd("as")));
  await install(cluster, "Provider", "p");
  await certify(cluster, (await revisions(cluster, "Provider", "p"))[0]);
  await passRevision(cluster, "Provider", (await revisions(cluster, "Provider", "p"))[0]);
  const [active] = await revisions(cluster, "Provider", "p");
  assert.ok(active);
  await cluster.kube.update(withMember(active, ["spec", "desiredState"], "Inactive"));
  const gone = (): Promise<never> => Promise.reject(new Error("the registry is gone"));
  const packages = { ...cluster.deps.packages, resolve: gone, contents: gone };
  await passRevision(cluster, "Provider", active, { packages });
  assert.equal(await revisionHealth(cluster, "Provider", "p"), "True");
  const [released] = await revisions(cluster, "Provider", "p");
  assert.ok(released && Array.isArray(memberAt(released, ["status", "objectRefs"])), "its objects are still listed");
  assert.equal(controllerOf(await cluster.kube.get(crd, { name: "as.example.org" })), undefined);
});
