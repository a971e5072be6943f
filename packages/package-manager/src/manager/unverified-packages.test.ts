// SPDX-License-Identifier: Apache-2.0
// Packages that an ImageConfig demands signatures of. They cannot be verified, so they are not installed.
import assert from "node:assert/strict";
import { rm } from "node:fs/promises";
import { test } from "node:test";
import { type KubeObject, memberAt } from "@purlin/kube-objects/object";
import { functionPackage, type PackageCluster, startPackageCluster } from "../../test/package-cluster.ts";
import {
  applyPackage,
  certify,
  install,
  managePackage,
  packageCondition,
  passRevision,
  revisionHealth,
  revisions,
  states,
} from "../../test/package-scene.ts";
import { otherKinds, packageTypes } from "../package-kinds.ts";

const functionF = { kind: "Function", name: "f" } as const;
const key = { name: "signers", key: { secretRef: { name: "cosign", key: "cosign.pub" }, hashAlgorithm: "sha256" } };
const verification = { provider: "Cosign", cosign: { authorities: [key] } };

async function demandSignatures(cluster: PackageCluster, spec: object = { verification }): Promise<void> {
  const metadata = { name: "signed" };
  const matchImages = [{ type: "Prefix", prefix: `${cluster.registry}/acme/` }];
  const object = { ...otherKinds.imageConfig, metadata, spec: { matchImages, ...spec } };
  await cluster.kube.apply(object as KubeObject, { fieldManager: "user", force: true });
}

const problem = (cluster: PackageCluster, tag: string): string =>
  `cannot unpack package: signature verification failed: ImageConfig "signed" requires verified signatures of ${cluster.registry}/acme/f:${tag}, and Purlin cannot verify signatures yet; to install it unverified, remove spec.verification from the ImageConfig or narrow its spec.matchImages`;

async function appliedRefs(cluster: PackageCluster): Promise<unknown> {
  const found = await cluster.kube.get(packageTypes.Function.package, { name: "f" });
  return memberAt(found, ["status", "appliedImageConfigRefs"]);
}

test("what an ImageConfig demands signatures of is not installed, and its conditions say why", async () => {
  await using cluster = await startPackageCluster();
  const digest = await cluster.push("acme/f:v1", functionPackage("v1"));
  await rm(cluster.store.pathOf(digest));
  await demandSignatures(cluster);
  await applyPackage(cluster, functionF);
  await assert.rejects(managePackage(cluster, "Function", "f"), { message: problem(cluster, "v1") });
  assert.deepEqual(await revisions(cluster, "Function", "f"), []);
  const text = problem(cluster, "v1");
  assert.equal(await packageCondition(cluster, functionF, "Installed"), `False UnpackingPackage: ${text}`);
  assert.equal(await packageCondition(cluster, functionF, "Healthy"), `False UnhealthyPackageRevision: ${text}`);
  assert.equal(await appliedRefs(cluster), undefined);
  assert.deepEqual(cluster.takeEvents(), [`Warning UnpackPackage: ${text}`]);
  await demandSignatures(cluster, { rewriteImage: { prefix: `${cluster.registry}/acme/` } });
  await managePackage(cluster, "Function", "f");
  assert.deepEqual(await states(cluster, "Function", "f"), ["1 Active"], "without the rule it is installed");
});

test("a package that is in the local store already is refused as well", async () => {
  await using cluster = await startPackageCluster();
  await cluster.push("acme/f:v1", functionPackage("v1"));
  await demandSignatures(cluster);
  await applyPackage(cluster, functionF);
  await assert.rejects(managePackage(cluster, "Function", "f"), /signature verification failed/);
  assert.deepEqual(await revisions(cluster, "Function", "f"), []);
});

test("a rule that comes later leaves what is installed as it is, and refuses the next version", async () => {
  await using cluster = await startPackageCluster();
  await cluster.push("acme/f:v1", functionPackage("v1"));
  await install(cluster, "Function", "f");
  const pass = async (): Promise<string> => {
    const [current] = await revisions(cluster, "Function", "f");
    await certify(cluster, current);
    await passRevision(cluster, "Function", (await revisions(cluster, "Function", "f"))[0]).catch(() => {});
    return revisionHealth(cluster, "Function", "f");
  };
  assert.equal(await pass(), "True");
  await demandSignatures(cluster);
  await managePackage(cluster, "Function", "f");
  assert.equal(await packageCondition(cluster, functionF, "Installed"), "True ActivePackageRevision");
  assert.equal(await appliedRefs(cluster), undefined);
  assert.equal(await pass(), "True");
  // The tag moves: neither a new revision nor the one that is there installs what it points to now.
  const moved = await cluster.push("acme/f:v1", functionPackage("v1, moved"));
  await rm(cluster.store.pathOf(moved));
  await assert.rejects(managePackage(cluster, "Function", "f"), { message: problem(cluster, "v1") });
  assert.deepEqual(await states(cluster, "Function", "f"), ["1 Active"]);
  assert.match(await pass(), /^False cannot get package: signature verification failed: ImageConfig "signed"/);
});
