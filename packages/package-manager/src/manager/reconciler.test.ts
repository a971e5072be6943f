// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { withheldAnnotation } from "@purlin/function-runner";
import { isConflict } from "@purlin/kube-objects/errors";
import { conditionsOf, type KubeObject, memberAt, withMember } from "@purlin/kube-objects/object";
import { functionPackage, type PackageCluster, startPackageCluster } from "../../test/package-cluster.ts";
import {
  applyPackage,
  managePackage,
  packageCondition,
  revisions,
  serve as serveRevision,
  states as statesOf,
} from "../../test/package-scene.ts";
import { packageTypes, policyMark } from "../package-kinds.ts";

const type = packageTypes.Function;
const name = "function-x";

const pass = (cluster: PackageCluster): ReturnType<typeof managePackage> => managePackage(cluster, "Function", name);
const states = (cluster: PackageCluster): Promise<string[]> => statesOf(cluster, "Function", name);
const serve = (cluster: PackageCluster, number: number): Promise<void> =>
  serveRevision(cluster, { kind: "Function", name, number });
const condition = (cluster: PackageCluster, which: string): Promise<string> =>
  packageCondition(cluster, { kind: "Function", name }, which);

function install(cluster: PackageCluster, tag: string, spec: object = {}, metadata: object = {}): Promise<KubeObject> {
  const reference = { package: `${cluster.registry}/acme/${name}:${tag}` };
  return applyPackage(cluster, { kind: "Function", name, spec: { ...reference, ...spec }, metadata });
}

test("a first install makes revision 1, Active and not yet healthy; nothing more is written", async () => {
  await using cluster = await startPackageCluster();
  await cluster.push(`acme/${name}:v1`, functionPackage("one"));
  await install(cluster, "v1");
  await pass(cluster);
  assert.deepEqual(await states(cluster), ["1 Active"]);
  assert.equal(await condition(cluster, "Installed"), "True ActivePackageRevision");
  assert.equal(
    await condition(cluster, "Healthy"),
    'False UnhealthyPackageRevision: Package revision health is "Unknown"',
  );
  cluster.takeWrites();
  await pass(cluster);
  assert.deepEqual(cluster.takeWrites(), []);
  await serve(cluster, 1);
  cluster.takeEvents();
  await pass(cluster);
  assert.equal(await condition(cluster, "Healthy"), "True HealthyPackageRevision");
  assert.deepEqual(cluster.takeEvents(), ["Normal InstallPackageRevision: Successfully installed package revision"]);
});

test("what cannot be fetched makes no revision and says why", async () => {
  await using cluster = await startPackageCluster();
  await install(cluster, "missing");
  await assert.rejects(pass(cluster), /cannot unpack package: cannot read .*answers 404/);
  assert.deepEqual(await states(cluster), []);
  const [installed, healthy] = [await condition(cluster, "Installed"), await condition(cluster, "Healthy")];
  assert.match(installed, /^False UnpackingPackage: cannot unpack package: /);
  assert.equal(healthy, installed.replace("UnpackingPackage", "UnhealthyPackageRevision"));
  assert.match(cluster.takeEvents().join(), /Warning UnpackPackage: cannot unpack package/);
});

test("an artifact that is not a package, or of another kind, is reported", async () => {
  await using cluster = await startPackageCluster();
  await cluster.push(`acme/${name}:v1`, "a: b\n");
  await install(cluster, "v1");
  await assert.rejects(pass(cluster), /package\.yaml:1: expected an object with apiVersion and kind/);
});

test("a moved tag makes a new revision, which replaces the old one when it serves", async () => {
  await using cluster = await startPackageCluster();
  await cluster.push(`acme/${name}:v1`, functionPackage("one"));
  await install(cluster, "v1");
  await pass(cluster);
  await serve(cluster, 1);
  await cluster.push(`acme/${name}:v1`, functionPackage("two"));
  await pass(cluster);
  assert.deepEqual(await states(cluster), ["2 Active", "1 Active"]);
  await pass(cluster);
  assert.deepEqual(await states(cluster), ["2 Active", "1 Active"], "as long as it does not serve");
  await serve(cluster, 2);
  await pass(cluster);
  assert.deepEqual(await states(cluster), ["2 Active", "1 Inactive"]);
});

test("an edit of the spec makes a revision, one of labels does not", async () => {
  await using cluster = await startPackageCluster();
  await cluster.push(`acme/${name}:v1`, functionPackage("one"));
  await install(cluster, "v1");
  await pass(cluster);
  await install(cluster, "v1", {}, { labels: { a: "b" } });
  await pass(cluster);
  assert.equal((await states(cluster)).length, 1);
  await install(cluster, "v1", { revisionHistoryLimit: 3 }, { labels: { a: "b" } });
  await pass(cluster);
  assert.equal((await states(cluster)).length, 2);
});

test("with the flag on only the content makes a revision; labels go to the current one", async () => {
  await using cluster = await startPackageCluster({ functionRevisionSelectors: true });
  await cluster.push(`acme/${name}:v1`, functionPackage("one"));
  await install(cluster, "v1", {}, { labels: { channel: "stable", "pkg.crossplane.io/package": "evil" } });
  await pass(cluster);
  await serve(cluster, 1);
  const limits = { revisionHistoryLimit: 4, activeRevisionLimit: 2 };
  await install(cluster, "v1", limits, { labels: { channel: "stable" } });
  await pass(cluster);
  assert.deepEqual(await states(cluster), ["1 Active"]);
  const digest = await cluster.push(`acme/${name}:v2`, functionPackage("two"));
  await install(cluster, "v2", limits, { labels: { channel: "alpha" } });
  await pass(cluster);
  await serve(cluster, 2);
  await pass(cluster);
  assert.deepEqual(await states(cluster), ["2 Active", "1 Active"]);
  const { items } = await cluster.kube.list(type.revision);
  const labels = (number: number): unknown =>
    items.find((one) => memberAt(one, ["spec", "revision"]) === number)?.metadata.labels;
  assert.deepEqual(labels(1), { channel: "stable", "pkg.crossplane.io/package": name });
  assert.deepEqual(labels(2), { channel: "alpha", "pkg.crossplane.io/package": name });
  const current = items.find((one) => memberAt(one, ["spec", "revision"]) === 2);
  assert.equal(current && memberAt(current, ["spec", "digest"]), digest);
  assert.equal(current?.metadata.name, `${name}-${digest.slice(7, 19)}`);
  assert.deepEqual(memberAt(await cluster.kube.get(type.package, { name }), ["status", "activeRevisions"]), [
    current?.metadata.name,
    items.find((one) => memberAt(one, ["spec", "revision"]) === 1)?.metadata.name,
  ]);

  await install(cluster, "v2", limits, {});
  await pass(cluster);
  const after = await cluster.kube.get(type.revision, { name: current?.metadata.name ?? "" });
  assert.deepEqual(after.metadata.labels, { "pkg.crossplane.io/package": name }, "a label that goes, goes there too");

  await install(cluster, "v2", { ...limits, activeRevisionLimit: 1 }, {});
  await pass(cluster);
  assert.deepEqual(await states(cluster), ["2 Active", "1 Inactive"], "a lower limit");
  await install(cluster, "v1", { ...limits, activeRevisionLimit: 1 }, {});
  await pass(cluster);
  assert.deepEqual(await states(cluster), ["3 Active", "2 Active"], "going back renumbers and hands over");
  await pass(cluster);
  assert.deepEqual(await states(cluster), ["3 Active", "2 Inactive"]);
  cluster.takeWrites();
  await pass(cluster);
  assert.deepEqual(cluster.takeWrites(), []);
});

test("an older revision of before the flag gets a certificate of its own, and stays Active", async () => {
  await using cluster = await startPackageCluster({ functionRevisionSelectors: true });
  const spec = { revisionHistoryLimit: 3, activeRevisionLimit: 2 };
  const secret = (one: KubeObject | undefined): unknown => one && memberAt(one, ["spec", "tlsServerSecretName"]);
  await cluster.push("acme/f:v1", functionPackage("one"));
  await applyPackage(cluster, { kind: "Function", name: "f", spec });
  await managePackage(cluster, "Function", "f");
  const [first] = await revisions(cluster, "Function", "f");
  assert.ok(first);
  await cluster.kube.update(withMember(first, ["spec", "tlsServerSecretName"], "f-tls-server"));
  await cluster.push("acme/f:v1", functionPackage("two"));
  await managePackage(cluster, "Function", "f");
  const [, older] = await revisions(cluster, "Function", "f");
  assert.equal(older?.metadata.name, first.metadata.name);
  assert.deepEqual(await statesOf(cluster, "Function", "f"), ["2 Active", "1 Active"]);
  assert.equal(secret(older), `${first.metadata.name}-tls-server`);
});

test("under Manual with the flag on users decide, and new revisions are Inactive", async () => {
  await using cluster = await startPackageCluster({ functionRevisionSelectors: true });
  const manual = { revisionActivationPolicy: "Manual", revisionHistoryLimit: 5 };
  for (const tag of ["v1", "v2", "v3"]) {
    await cluster.push(`acme/${name}:${tag}`, functionPackage(tag));
    await install(cluster, tag, manual);
    await pass(cluster);
  }
  assert.deepEqual(await states(cluster), ["3 Inactive", "2 Inactive", "1 Inactive"]);
  assert.equal(await condition(cluster, "Installed"), "False InactivePackageRevision: Package is inactive");
  for (const one of (await cluster.kube.list(type.revision)).items) {
    await cluster.kube.update(withMember(one, ["spec", "desiredState"], "Active"));
  }
  await pass(cluster);
  assert.deepEqual(await states(cluster), ["3 Active", "2 Active", "1 Active"]);
  const active = memberAt(await cluster.kube.get(type.package, { name }), ["status", "activeRevisions"]);
  assert.equal(Array.isArray(active) && active.length, 3);
});

test("under Manual, a concurrent edit of a user is not undone, and nothing is reported", async () => {
  await using cluster = await startPackageCluster({ functionRevisionSelectors: true });
  await cluster.push(`acme/${name}:v1`, functionPackage("one"));
  await install(cluster, "v1", { revisionActivationPolicy: "Manual" });
  await pass(cluster);
  const seen = await cluster.client.list(type.revision);
  const [only] = seen;
  assert.ok(only);
  await cluster.kube.update(withMember(only, ["spec", "desiredState"], "Active"));
  // A relabelled package is what the manager has to write about.
  await install(cluster, "v1", { revisionActivationPolicy: "Manual" }, { labels: { channel: "alpha" } });
  const { deps } = cluster;
  const behind: PackageCluster = {
    ...cluster,
    deps: { ...deps, client: { ...deps.client, list: async () => seen } },
  };
  cluster.takeEvents();
  await assert.rejects(pass(behind), isConflict);
  assert.deepEqual(cluster.takeEvents(), []);
  assert.deepEqual(await states(cluster), ["1 Active"]);
  await pass(cluster);
  assert.deepEqual(await states(cluster), ["1 Active"]);
  const [labelled] = (await cluster.kube.list(type.revision)).items;
  assert.equal(labelled?.metadata.labels?.["channel"], "alpha", "the next pass does what is left to do");
});

test("a revision that a rollout released while its package was fetched is not withheld again", async () => {
  await using cluster = await startPackageCluster({ functionRevisionSelectors: true, functionRollouts: true });
  const spec = { rolloutPolicy: { templateRef: { name: "waves" } } };
  await cluster.push(`acme/${name}:v1`, functionPackage("one"));
  await install(cluster, "v1", spec);
  await pass(cluster);
  await serve(cluster, 1);
  await cluster.push(`acme/${name}:v2`, functionPackage("two"));
  await install(cluster, "v2", spec);
  await pass(cluster);
  const marks = async (): Promise<unknown> =>
    (await revisions(cluster, "Function", name)).map((one) => one.metadata.annotations?.[withheldAnnotation]);
  assert.deepEqual(await marks(), [policyMark, undefined], "a new revision waits for its rollout");
  const { deps } = cluster;
  const seen = await cluster.client.list(type.revision);
  const candidate = seen.find((one) => one.metadata.annotations?.[withheldAnnotation] === policyMark);
  const released = { metadata: { annotations: { [withheldAnnotation]: null } } };
  await cluster.kube.patch({ ...type.revision, name: candidate?.metadata.name ?? "" }, released, { type: "merge" });
  const behind: PackageCluster = {
    ...cluster,
    deps: { ...deps, client: { ...deps.client, list: async () => seen } },
  };
  cluster.takeEvents();
  await assert.rejects(pass(behind), isConflict);
  assert.deepEqual(cluster.takeEvents(), []);
  assert.deepEqual(await marks(), [undefined, undefined]);
  await pass(cluster);
  assert.deepEqual(await marks(), [undefined, undefined]);
});

test("Manual as shipped leaves a new revision without a state and stops the old one", async () => {
  await using cluster = await startPackageCluster();
  await cluster.push(`acme/${name}:v1`, functionPackage("one"));
  await install(cluster, "v1", { revisionActivationPolicy: "Manual" });
  await pass(cluster);
  assert.deepEqual(await states(cluster), ["1 "]);
  const [only] = (await cluster.kube.list(type.revision)).items;
  assert.ok(only);
  await cluster.kube.update(withMember(only, ["spec", "desiredState"], "Active"));
  await pass(cluster);
  assert.deepEqual(await states(cluster), ["1 Active"], "what a user set stays");
  await cluster.push(`acme/${name}:v2`, functionPackage("two"));
  await install(cluster, "v2", { revisionActivationPolicy: "Manual" });
  await pass(cluster);
  assert.deepEqual(await states(cluster), ["2 ", "1 Inactive"]);
});

test("old revisions are collected one a pass, never an active one", async () => {
  await using cluster = await startPackageCluster({ functionRevisionSelectors: true });
  for (const [at, tag] of ["v1", "v2", "v3"].entries()) {
    await cluster.push(`acme/${name}:${tag}`, functionPackage(tag));
    await install(cluster, tag, { revisionHistoryLimit: 1 });
    await pass(cluster);
    await serve(cluster, at + 1);
    await pass(cluster);
  }
  assert.deepEqual(await states(cluster), ["3 Active", "2 Inactive"]);
});

test("a common label that goes from the package goes from the revision", async () => {
  await using cluster = await startPackageCluster({ functionRevisionSelectors: true });
  await cluster.push(`acme/${name}:v1`, functionPackage("one"));
  await install(cluster, "v1", { commonLabels: { a: "1", b: "2" } });
  await pass(cluster);
  await install(cluster, "v1", { commonLabels: { b: "2" } });
  await pass(cluster);
  const [revision] = (await cluster.kube.list(type.revision)).items;
  assert.deepEqual(revision && memberAt(revision, ["spec", "commonLabels"]), { b: "2" });
});

test("a paused package is left alone; its conditions start again afterwards", async () => {
  await using cluster = await startPackageCluster();
  await install(cluster, "v1", {}, { annotations: { "crossplane.io/paused": "true" } });
  await pass(cluster);
  assert.match(await condition(cluster, "Synced"), /^False ReconcilePaused/);
  await install(cluster, "v1", {});
  await pass(cluster);
  assert.deepEqual(conditionsOf(await cluster.kube.get(type.package, { name })), []);
});

test("a revision of another owner is not adopted", async () => {
  await using cluster = await startPackageCluster({ functionRevisionSelectors: true });
  const digest = await cluster.push(`acme/${name}:v1`, functionPackage("one"));
  const other = { apiVersion: "v1", kind: "ConfigMap", name: "other", uid: "other", controller: true };
  await cluster.kube.create({
    ...type.revision,
    metadata: {
      name: `${name}-${digest.slice(7, 19)}`,
      labels: { "pkg.crossplane.io/package": name },
      ownerReferences: [other],
    },
    spec: { desiredState: "Inactive", image: "x", revision: 1 },
  } as KubeObject);
  await install(cluster, "v1");
  await assert.rejects(pass(cluster), /cannot apply package revision: existing object is not controlled by UID/);
  assert.match(cluster.takeEvents().join(), /Warning InstallPackageRevision/);
});

test("a rewrite decides the source of the package, and is reported", async () => {
  await using cluster = await startPackageCluster();
  await cluster.push(`mirror/${name}:v1`, functionPackage("one"));
  const config = {
    apiVersion: "pkg.crossplane.io/v1beta1",
    kind: "ImageConfig",
    metadata: { name: "mirror" },
    spec: {
      matchImages: [{ prefix: "registry.example.org/acme/" }],
      rewriteImage: { prefix: `${cluster.registry}/mirror/` },
    },
  };
  await cluster.kube.create(config);
  const original = `registry.example.org/acme/${name}:v1`;
  await install(cluster, "v1", { package: original });
  await pass(cluster);
  const stored = await cluster.kube.get(type.package, { name });
  assert.equal(memberAt(stored, ["status", "resolvedPackage"]), `${cluster.registry}/mirror/${name}:v1`);
  assert.deepEqual(memberAt(stored, ["status", "appliedImageConfigRefs"]), [
    { name: "mirror", reason: "RewriteImage" },
  ]);
  const [revision] = (await cluster.kube.list(type.revision)).items;
  assert.equal(revision && memberAt(revision, ["spec", "image"]), original);
});
