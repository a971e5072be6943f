// SPDX-License-Identifier: Apache-2.0
// Packages that change, wait, go back or go away, on a real API server with a real registry.
import assert from "node:assert/strict";
import { test } from "node:test";
import { type KubeObject, memberAt, textAt, withMember } from "@purlin/kube-objects/object";
import { functionPackage, type PackageCluster, startPackageCluster } from "../../test/package-cluster.ts";
import {
  applyPackage,
  install,
  managePackage,
  packageCondition,
  providerPackage,
  revisions,
  serve,
  states,
} from "../../test/package-scene.ts";
import { packageTypes } from "../package-kinds.ts";

const functionF = { kind: "Function", name: "f" } as const;
const reference = (cluster: PackageCluster, tag: string): object => ({ package: `${cluster.registry}/acme/f:${tag}` });
const statesOfF = (cluster: PackageCluster): Promise<string[]> => states(cluster, "Function", "f");

test("an unknown policy is accepted, and is not Automatic", async () => {
  await using cluster = await startPackageCluster();
  await cluster.push("acme/f:v1", functionPackage("x"));
  await install(cluster, "Function", "f", { revisionActivationPolicy: "Foo" });
  assert.deepEqual(await statesOfF(cluster), ["1 "]);
  assert.equal(
    await packageCondition(cluster, functionF, "Installed"),
    "False InactivePackageRevision: Package is inactive",
  );
});

test("only a package that is always pulled is looked at again by the clock", async () => {
  await using cluster = await startPackageCluster();
  await cluster.push("acme/f:v1", functionPackage("x"));
  const rows: Record<string, object> = { Always: { requeueAfterMs: 60_000 }, IfNotPresent: {}, Never: {} };
  for (const [packagePullPolicy, result] of Object.entries(rows)) {
    await applyPackage(cluster, { ...functionF, spec: { packagePullPolicy: "IfNotPresent" } });
    await managePackage(cluster, "Function", "f");
    await applyPackage(cluster, { ...functionF, spec: { packagePullPolicy } });
    assert.deepEqual(await managePackage(cluster, "Function", "f"), result, packagePullPolicy);
  }
});

test("without a registry a tag cannot be looked up, whatever is there; a digest needs none", async () => {
  await using cluster = await startPackageCluster();
  const digest = await cluster.push("acme/f:v1", functionPackage("x"));
  await install(cluster, "Function", "f");
  await cluster.closeRegistry();
  await applyPackage(cluster, { ...functionF, spec: { packagePullPolicy: "Never" } });
  await assert.rejects(managePackage(cluster, "Function", "f"), /cannot unpack package: cannot reach 127\.0\.0\.1/);
  assert.match(
    await packageCondition(cluster, functionF, "Installed"),
    /^False UnpackingPackage: cannot unpack package: cannot reach/,
  );
  const pinned = { package: `${cluster.registry}/acme/f@${digest}`, packagePullPolicy: "Never" };
  await applyPackage(cluster, { ...functionF, spec: pinned });
  await managePackage(cluster, "Function", "f");
  assert.equal(await packageCondition(cluster, functionF, "Installed"), "True ActivePackageRevision");
  const unknown = { ...pinned, package: `${cluster.registry}/acme/f@sha256:${"0".repeat(64)}` };
  await applyPackage(cluster, { ...functionF, spec: unknown });
  await assert.rejects(
    managePackage(cluster, "Function", "f"),
    /cannot unpack package: package not in cache and pull policy is Never/,
  );
});

test("with the flag on another tag of the same content changes the revision in place", async () => {
  await using cluster = await startPackageCluster({ functionRevisionSelectors: true });
  const [one, two] = [
    await cluster.push("acme/f:v1", functionPackage("x")),
    await cluster.push("acme/f:v2", functionPackage("x")),
  ];
  assert.equal(one, two);
  await install(cluster, "Function", "f", reference(cluster, "v1"));
  await install(cluster, "Function", "f", reference(cluster, "v2"));
  const all = await revisions(cluster, "Function", "f");
  assert.deepEqual(
    all.map((one) => textAt(one, ["spec", "image"])),
    [`${cluster.registry}/acme/f:v2`],
  );
});

test("with the flag off an edit alone makes a revision, and the old one goes when the new one serves", async () => {
  await using cluster = await startPackageCluster();
  await cluster.push("acme/f:v1", functionPackage("x"));
  await install(cluster, "Function", "f");
  await serve(cluster, { ...functionF, number: 1 });
  await install(cluster, "Function", "f", { revisionHistoryLimit: 3 });
  await serve(cluster, { ...functionF, number: 2 });
  await managePackage(cluster, "Function", "f");
  assert.deepEqual(await statesOfF(cluster), ["2 Active", "1 Inactive"]);
});

test("one revision goes a pass, the lowest; the current one and the history stay", async () => {
  await using cluster = await startPackageCluster({ functionRevisionSelectors: true });
  const keepAll = { revisionHistoryLimit: 0 };
  for (const [at, tag] of ["v1", "v2", "v3", "v4"].entries()) {
    await cluster.push(`acme/f:${tag}`, functionPackage(tag));
    await install(cluster, "Function", "f", { ...reference(cluster, tag), ...keepAll });
    await serve(cluster, { ...functionF, number: at + 1 });
    await managePackage(cluster, "Function", "f");
  }
  assert.equal((await statesOfF(cluster)).length, 4, "a history of 0 collects nothing");
  await applyPackage(cluster, { ...functionF, spec: { ...reference(cluster, "v4"), revisionHistoryLimit: 1 } });
  const left: string[][] = [];
  for (let pass = 0; pass < 4; pass++) {
    await managePackage(cluster, "Function", "f");
    left.push((await statesOfF(cluster)).map((one) => one.slice(0, 1)));
  }
  assert.deepEqual(left, [
    ["4", "3", "2"],
    ["4", "3"],
    ["4", "3"],
    ["4", "3"],
  ]);
});

for (const kind of ["Function", "Provider"] as const) {
  test(`an older revision of a ${kind} that a user activates is Inactive again at the next pass`, async () => {
    await using cluster = await startPackageCluster();
    for (const note of ["one", "two"]) {
      const text = kind === "Function" ? functionPackage(note) : providerPackage(note);
      await cluster.push("acme/x:v1", text);
      await install(cluster, kind, "x", { revisionHistoryLimit: 3 });
      await serve(cluster, { kind, name: "x", number: note === "one" ? 1 : 2 });
      await managePackage(cluster, kind, "x");
    }
    assert.deepEqual(await states(cluster, kind, "x"), ["2 Active", "1 Inactive"]);
    const [, older] = await revisions(cluster, kind, "x");
    assert.ok(older);
    await cluster.kube.update(withMember(older, ["spec", "desiredState"], "Active"));
    await managePackage(cluster, kind, "x");
    assert.deepEqual(await states(cluster, kind, "x"), ["2 Active", "1 Inactive"]);
  });
}

test("a paused package is not fetched, says so once, and starts again afterwards", async () => {
  await using cluster = await startPackageCluster();
  await cluster.push("acme/f:v1", functionPackage("x"));
  await install(cluster, "Function", "f");
  await cluster.closeRegistry();
  const paused = { annotations: { "crossplane.io/paused": "true" } };
  await applyPackage(cluster, { ...functionF, metadata: paused });
  cluster.takeEvents();
  await managePackage(cluster, "Function", "f");
  assert.deepEqual(cluster.takeEvents(), [
    "Normal ReconciliationPaused: Reconciliation is paused via the pause annotation",
  ]);
  assert.equal(
    await packageCondition(cluster, functionF, "Synced"),
    "False ReconcilePaused: Reconciliation (including deletion) is paused via the pause annotation",
  );
  cluster.takeWrites();
  await managePackage(cluster, "Function", "f");
  assert.deepEqual(cluster.takeWrites(), [], "nothing more to say");
  await applyPackage(cluster, functionF);
  await managePackage(cluster, "Function", "f");
  assert.equal(await packageCondition(cluster, functionF, "Installed"), "Unknown");
});

test("a package on its way out gets no revision", async () => {
  await using cluster = await startPackageCluster();
  await cluster.push("acme/f:v1", functionPackage("x"));
  await applyPackage(cluster, { ...functionF, metadata: { finalizers: ["example.org/wait"] } });
  await cluster.kube.delete({ ...packageTypes.Function.package, name: "f" });
  cluster.takeWrites();
  assert.deepEqual(await managePackage(cluster, "Function", "f"), {});
  assert.deepEqual(cluster.takeWrites(), []);
});

test("an ImageConfig that no longer matches is no longer named", async () => {
  await using cluster = await startPackageCluster();
  await cluster.push("acme/f:v1", functionPackage("x"));
  await cluster.push("mirror/f:v1", functionPackage("x"));
  const config = (prefix: string): KubeObject => ({
    apiVersion: "pkg.crossplane.io/v1beta1",
    kind: "ImageConfig",
    metadata: { name: "mirror" },
    spec: { matchImages: [{ prefix }], rewriteImage: { prefix: `${cluster.registry}/mirror/` } },
  });
  const applied = async (): Promise<unknown> => {
    const { status } = (await cluster.kube.get(packageTypes.Function.package, { name: "f" })) as KubeObject & {
      status: { appliedImageConfigRefs?: unknown; resolvedPackage: string };
    };
    return [status.appliedImageConfigRefs, status.resolvedPackage.replace(cluster.registry, "")];
  };
  await cluster.kube.apply(config(`${cluster.registry}/acme/`), { fieldManager: "user", force: true });
  await install(cluster, "Function", "f");
  assert.deepEqual(await applied(), [[{ name: "mirror", reason: "RewriteImage" }], "/mirror/f:v1"]);
  await cluster.kube.apply(config("nowhere.example.org/"), { fieldManager: "user", force: true });
  await managePackage(cluster, "Function", "f");
  assert.deepEqual(await applied(), [undefined, "/acme/f:v1"]);
});

test("with the flag off a limit of 2 leaves one Active, and no list of active ones", async () => {
  await using cluster = await startPackageCluster();
  const limits = { revisionHistoryLimit: 3, activeRevisionLimit: 2 };
  for (const [at, note] of ["one", "two"].entries()) {
    await cluster.push("acme/f:v1", functionPackage(note));
    await install(cluster, "Function", "f", limits);
    await serve(cluster, { ...functionF, number: at + 1 });
    await managePackage(cluster, "Function", "f");
  }
  assert.deepEqual(await statesOfF(cluster), ["2 Active", "1 Inactive"]);
  const stored = await cluster.kube.get(packageTypes.Function.package, { name: "f" });
  assert.equal(memberAt(stored, ["status", "activeRevisions"]), undefined);
});

test("with the flag off again, the list of active ones goes", async () => {
  await using cluster = await startPackageCluster({ functionRevisionSelectors: true });
  await cluster.push("acme/f:v1", functionPackage("x"));
  await install(cluster, "Function", "f");
  const names = async (): Promise<unknown> =>
    memberAt(await cluster.kube.get(packageTypes.Function.package, { name: "f" }), ["status", "activeRevisions"]);
  assert.equal(((await names()) as unknown[]).length, 1);
  const features = { ...cluster.deps.features, functionRevisionSelectors: false };
  await managePackage({ ...cluster, deps: { ...cluster.deps, features } }, "Function", "f");
  assert.equal(await names(), undefined);
});

test("when no old revision may go, a Warning says so and all stay", async () => {
  await using cluster = await startPackageCluster({ functionRevisionSelectors: true });
  for (const [at, tag] of ["v1", "v2", "v3"].entries()) {
    await cluster.push(`acme/f:${tag}`, functionPackage(tag));
    await install(cluster, "Function", "f", { ...reference(cluster, tag), revisionHistoryLimit: 0 });
    await serve(cluster, { ...functionF, number: at + 1 });
    await managePackage(cluster, "Function", "f");
  }
  const names = (await revisions(cluster, "Function", "f")).map(({ metadata }) => metadata.name ?? "");
  cluster.use(names);
  await applyPackage(cluster, { ...functionF, spec: { ...reference(cluster, "v3"), revisionHistoryLimit: 1 } });
  cluster.takeEvents();
  await managePackage(cluster, "Function", "f");
  assert.deepEqual(cluster.takeEvents(), [
    "Warning GarbageCollect: no old revision can be collected: each is active or named by a composition",
  ]);
  assert.equal((await statesOfF(cluster)).length, 3);
  cluster.use(names.slice(0, 2));
  await managePackage(cluster, "Function", "f");
  assert.deepEqual(
    (await statesOfF(cluster)).map((one) => one.slice(0, 1)),
    ["3", "2"],
    "the revision that no composition names is deleted",
  );
});

test("two revisions made from one moving tag keep what each was made of", async () => {
  await using cluster = await startPackageCluster({ functionRevisionSelectors: true });
  const digests: string[] = [];
  for (const note of ["one", "two"]) {
    digests.unshift(await cluster.push("acme/f:v1", functionPackage(note)));
    await install(cluster, "Function", "f", { revisionHistoryLimit: 3, activeRevisionLimit: 2 });
  }
  const all = await revisions(cluster, "Function", "f");
  assert.deepEqual(
    all.map((one) => textAt(one, ["spec", "digest"])),
    digests,
  );
  assert.deepEqual(
    new Set(all.map((one) => textAt(one, ["spec", "image"]))),
    new Set([`${cluster.registry}/acme/f:v1`]),
  );
});

test("a function under development has no package where that is allowed; elsewhere its annotation means nothing", async () => {
  for (const developmentFunctions of [true, false]) {
    await using cluster = await startPackageCluster({ developmentFunctions });
    await cluster.push("acme/f:v1", functionPackage("x"));
    const annotations = { "render.crossplane.io/runtime": "Development" };
    await applyPackage(cluster, { ...functionF, metadata: { annotations } });
    await managePackage(cluster, "Function", "f");
    assert.equal((await statesOfF(cluster)).length, developmentFunctions ? 0 : 1, `allowed: ${developmentFunctions}`);
  }
});
