// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { startTestServer } from "@purlin/kube-controller/testing";
import { testDefinitionGuard } from "../testing/definition-guard-cases.ts";
import { UsageScene } from "../testing/usage-scene.ts";
import { createDeletionGuard, dataLossText, deletesItsKind } from "./definition-guard.ts";
import { createUsageGuard } from "./usage-guard.ts";

let scene: UsageScene;
before(async () => {
  scene = await UsageScene.start(await startTestServer({ guardDelete: createDeletionGuard(undefined) }), {
    isIdle: true,
  });
});
after(() => scene?.[Symbol.asyncDispose]());

testDefinitionGuard("definitions on the embedded server, without Usages", () => scene);

const mrd = {
  metadata: { name: "kegs.example.org", uid: "1" },
  spec: { group: "example.org", names: { kind: "Keg", plural: "kegs" } },
};
const crd = { metadata: { ownerReferences: [{ uid: "1" }] } };

test("the garbage collector deletes the definitions of packages that are gone", () => {
  const deletion = { object: mrd, policy: "Background" };
  assert.equal(deletesItsKind({ ...deletion, user: { name: "alice" } }, crd), true);
  const collector = { name: "system:serviceaccount:kube-system:generic-garbage-collector" };
  assert.equal(deletesItsKind({ ...deletion, user: collector }, crd), false);
  assert.equal(deletesItsKind({ ...deletion, user: { name: "alice" } }, undefined), false);
  assert.match(dataLossText(mrd, 2) ?? "", /^This would delete 2 objects of Keg\.example\.org\./);
});

test("Usages of a definition are asked first", () => {
  const usages = createUsageGuard();
  const guard = createDeletionGuard(usages);
  guard.written("u", {
    apiVersion: "protection.crossplane.io/v1beta1",
    kind: "ClusterUsage",
    metadata: { name: "u" },
    spec: {
      of: {
        apiVersion: "apiextensions.crossplane.io/v1alpha1",
        kind: "ManagedResourceDefinition",
        resourceRef: { name: "kegs.example.org" },
      },
      reason: "r",
    },
  });
  const type = { group: "apiextensions.crossplane.io", kind: "ManagedResourceDefinition" };
  const stored = { get: () => crd, count: () => 3 };
  const deletion = { ...type, object: mrd, user: { name: "alice" }, policy: "Background", stored };
  assert.match(guard.refusalOf(deletion)?.status.message ?? "", /is in-use by 1 usage/);
  guard.written("u", undefined);
  assert.match(guard.refusalOf(deletion)?.status.message ?? "", /would delete 3 objects/);
});
