// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { mastersGroup } from "@purlin/kube-apiserver";
import { createKubeClient } from "@purlin/kube-client";
import { installCrds } from "@purlin/kube-controller";
import { startTestServer, type TestServer } from "@purlin/kube-controller/testing";
import { isDeletionDenied } from "@purlin/kube-objects/errors";
import { configMapType, refTo, testDefinitionGuard, UsageScene, usageType } from "../../test/usage-scene.ts";
import { usageCrd } from "../crds/composition-crds.ts";
import { createDeletionGuard, createUsageGuard, dataLossText, deletesItsKind } from "./definition-guard.ts";

let server: TestServer;
before(async () => {
  server = await startTestServer({ guardDelete: createUsageGuard() });
});
after(() => server.stop());

test("a user with the name of the server itself, such as an impersonated one, deletes nothing that is protected", async () => {
  await using closing = new AsyncDisposableStack();
  const groups = [mastersGroup, "system:authenticated"];
  const users = createKubeClient(server.connect("kubectl", { name: "system:apiserver", groups }));
  closing.defer(() => users.close());
  await installCrds(users, [usageCrd()]);
  const metadata = { name: "used", namespace: "default" };
  await users.create({ ...configMapType, metadata });
  await users.create({ ...usageType, metadata: { ...metadata, name: "u" }, spec: { of: refTo("used"), reason: "r" } });
  await assert.rejects(users.delete({ ...configMapType, ...metadata }), isDeletionDenied);
  await assert.rejects(users.deleteCollection(configMapType, { namespace: "default" }), isDeletionDenied);
  assert.ok(await users.get(configMapType, metadata));
});

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

test("Usages of a definition are checked first", () => {
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
