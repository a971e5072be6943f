// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { developmentAnnotations } from "@purlin/function-runner";
import { type KubeObject, textAt } from "@purlin/kube-objects/object";
import { type PackageCluster, startPackageCluster } from "../../test/package-cluster.ts";
import {
  applyPackage,
  managePackage,
  packageCondition,
  providerPackage,
  revisions,
  states,
} from "../../test/package-scene.ts";
import { packageTypes } from "../package-kinds.ts";

const annotations = { [developmentAnnotations.source]: "/project/main.ts" };
const provider = { kind: "Provider", name: "p" } as const;
const trusting = { developmentFunctions: true, developmentTrust: { managers: ["files"] } };

/** Applies a Provider without a spec, from a file. */
function applyFile(cluster: PackageCluster, metadata: object = {}): Promise<KubeObject> {
  const object = { ...packageTypes.Provider.package, metadata: { name: "p", annotations, ...metadata } };
  return cluster.kube.apply(object as KubeObject, { fieldManager: "files", force: true });
}

/** A cluster that builds what is pushed as `acme/built:v1`. */
function building(cluster: PackageCluster, asked: string[], reference: () => string) {
  const sourcePackage = async (name: string, path: string): Promise<string> => {
    asked.push(`${name} ${path}`);
    return reference();
  };
  return { ...cluster, deps: { ...cluster.deps, sourcePackage } };
}

test("a Provider from a source file has a revision of what the file builds, and another one after a save", async () => {
  await using cluster = await startPackageCluster(trusting);
  const asked: string[] = [];
  let digest = await cluster.push("acme/built:v1", providerPackage("one"));
  let problem: string | undefined;
  const on = building(cluster, asked, () => {
    if (problem !== undefined) throw new Error(problem);
    return `${cluster.registry}/acme/built@${digest}`;
  });
  await applyFile(cluster);
  await managePackage(on, "Provider", "p");
  assert.deepEqual(asked, ["p /project/main.ts"]);
  const [first] = await revisions(cluster, "Provider", "p");
  assert.equal(textAt(first ?? {}, ["spec", "image"]), `${cluster.registry}/acme/built@${digest}`);
  for (const note of ["two", "three"]) {
    digest = await cluster.push("acme/built:v1", providerPackage(note));
    await managePackage(on, "Provider", "p");
    await managePackage(on, "Provider", "p");
  }
  assert.deepEqual(await states(cluster, "Provider", "p"), ["3 Active", "2 Inactive"], "the first one is collected");
  problem = "main.ts:1:1: no";
  const text = "cannot build package: main.ts:1:1: no";
  await assert.rejects(managePackage(on, "Provider", "p"), { message: text });
  assert.equal(await packageCondition(cluster, provider, "Installed"), `False UnpackingPackage: ${text}`);
  assert.ok(cluster.takeEvents().includes(`Warning BuildPackage: ${text}`));
  assert.deepEqual(await states(cluster, "Provider", "p"), ["3 Active", "2 Inactive"], "what runs continues");
  const stored = await cluster.kube.get(packageTypes.Provider.package, { name: "p" });
  assert.equal(stored["spec"], undefined, "the spec is left to the file");
});

const controller = { apiVersion: "example.org/v1", kind: "XPlatform", name: "x", uid: "u", controller: true };
const untrusted: Readonly<Record<string, (cluster: PackageCluster) => Promise<unknown>>> = {
  "that a user applied": (cluster) => applyPackage(cluster, { ...provider, metadata: { annotations } }),
  "that is composed": async (cluster) => {
    await applyPackage(cluster, provider);
    await applyFile(cluster, { ownerReferences: [controller] });
  },
  "that a file and a user applied": async (cluster) => {
    await applyFile(cluster);
    await applyPackage(cluster, { ...provider, metadata: { annotations } });
  },
};
for (const [what, apply] of Object.entries(untrusted)) {
  test(`the source file of a Provider ${what} is not built: its package is installed, and a condition says why`, async () => {
    await using cluster = await startPackageCluster(trusting);
    const asked: string[] = [];
    await cluster.push("acme/p:v1", providerPackage("one"));
    const on = building(cluster, asked, () => "");
    await apply(cluster);
    await managePackage(on, "Provider", "p");
    await managePackage(on, "Provider", "p");
    assert.deepEqual(asked, []);
    const [only] = await revisions(cluster, "Provider", "p");
    assert.equal(textAt(only ?? {}, ["spec", "image"]), `${cluster.registry}/acme/p:v1`);
    const ignored = await packageCondition(cluster, provider, "Development");
    assert.match(
      ignored ?? "",
      /^False AnnotationIgnored: annotation purlin\.dev\/source is ignored: .*put the Provider into a file/,
    );
  });
}

test("where nothing builds source files the annotation has no effect", async () => {
  await using cluster = await startPackageCluster(trusting);
  await cluster.push("acme/p:v1", providerPackage("one"));
  await applyPackage(cluster, { ...provider, metadata: { annotations } });
  await managePackage(cluster, "Provider", "p");
  assert.deepEqual(await states(cluster, "Provider", "p"), ["1 Active"]);
});
