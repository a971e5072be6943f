// SPDX-License-Identifier: Apache-2.0

import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import { silentLog, systemClock } from "@purlin/base";
import { type ControllerClient, crdType } from "@purlin/kube-controller";
import { eventually } from "@purlin/kube-controller/testing";
import type { KubeObject } from "@purlin/kube-objects/object";
import { appKind, shop, startTestClaims, type TestClaims } from "../../test/definition-control.ts";
import { find } from "../../test/test-control.ts";
import { refusal } from "../../test/test-doubles.ts";
import { createClaimController } from "./reconciler.ts";

const deleted = "Normal DeleteCompositeResource: Successfully deleted composite resource";

suite("deleting a claim", () => {
  let claims: TestClaims;
  before(async () => {
    claims = await startTestClaims();
  });
  after(() => claims[Symbol.asyncDispose]());

  const xrs = (claim: string): Promise<readonly KubeObject[]> =>
    claims.control.client.list(appKind.compositeType, { labels: { "crossplane.io/claim-name": claim } });
  const claim = (name: string): Promise<KubeObject | undefined> =>
    claims.control.client.get(appKind.claimType, { namespace: shop, name });

  async function remove(name: string): Promise<void> {
    await claims.control.client.delete({ ...appKind.claimType, namespace: shop, name });
    claims.control.takeWrites();
    claims.control.events.take();
  }

  test("in the background the composite resource is deleted and the claim goes at once", async () => {
    await claims.create("background", {});
    await claims.pass("background");
    const { name } = (await claims.xr("background")).metadata;
    await remove("background");
    assert.deepEqual(await claims.pass("background"), {});
    assert.deepEqual(await xrs("background"), []);
    assert.equal(await claim("background"), undefined);
    assert.deepEqual(claims.control.events.take(), [deleted]);
    assert.deepEqual(
      claims.control.takeWrites(),
      [
        `DELETE /apis/platform.example.org/v1alpha1/xapps/${name}`,
        "PUT /apis/platform.example.org/v1alpha1/namespaces/shop/apps/background",
      ],
      "a claim that is gone gets no status",
    );
  });

  test("a claim with another finalizer reports that it is being deleted", async () => {
    await claims.create("kept", {}, { finalizers: ["test/held"] });
    await claims.pass("kept");
    await remove("kept");
    assert.deepEqual(await claims.pass("kept"), {});
    assert.equal((await claims.condition("kept", "Ready"))?.reason, "Deleting");
    assert.equal((await claims.condition("kept", "Synced"))?.status, "True");
    assert.deepEqual((await claims.claim("kept")).metadata.finalizers, ["test/held"]);
  });

  test("a composite resource that the cache has not seen yet is not left behind", async () => {
    await claims.create("unseen", {});
    await claims.pass("unseen");
    await remove("unseen");
    const { client, events } = claims.control;
    const behind: ControllerClient = {
      ...client,
      get: async (type, key, options) =>
        type.kind === appKind.compositeType.kind ? undefined : client.get(type, key, options),
    };
    const { reconcile } = createClaimController({
      kind: appKind,
      client: behind,
      events,
      clock: systemClock,
      log: silentLog,
    });
    await reconcile({ namespace: shop, name: "unseen" }, new AbortController().signal);
    assert.deepEqual([await xrs("unseen"), await claim("unseen")], [[], undefined]);
  });

  test("in the foreground the claim stays until its composite resource is gone", async () => {
    await claims.create("foreground", { compositeDeletePolicy: "Foreground" });
    await claims.pass("foreground");
    await claims.edit(await claims.xr("foreground"), ["metadata", "finalizers"], ["test/held"]);
    await remove("foreground");
    assert.deepEqual(await claims.pass("foreground"), { requeue: true });
    const [xr] = await xrs("foreground");
    assert.ok(xr?.metadata.deletionTimestamp);
    assert.ok(xr.metadata.finalizers?.includes("foregroundDeletion"));
    assert.deepEqual(await claims.pass("foreground"), { requeue: true });
    assert.equal((await claims.condition("foreground", "Ready"))?.reason, "Deleting");
    assert.ok(await claim("foreground"));
    claims.control.takeWrites();
    assert.deepEqual(await claims.pass("foreground"), { requeue: true });
    assert.deepEqual(claims.control.takeWrites(), [], "waiting writes nothing");
    assert.deepEqual(claims.control.events.take(), []);
    const waiting = await claims.control.client.get(appKind.compositeType, { name: xr.metadata.name ?? "" });
    assert.ok(waiting);
    await claims.edit(waiting, ["metadata", "finalizers"], undefined);
    assert.deepEqual(await claims.pass("foreground"), {});
    assert.equal(await claim("foreground"), undefined);
    assert.deepEqual(claims.control.events.take(), [deleted]);
  });

  test("a claim that never had a composite resource goes with the same words", async () => {
    await claims.create("alone", {}, { finalizers: ["finalizer.apiextensions.crossplane.io"] });
    await remove("alone");
    assert.deepEqual(await claims.pass("alone"), {});
    assert.equal(await claim("alone"), undefined);
    assert.deepEqual(claims.control.events.take(), [deleted]);
  });

  test("when the composite resource cannot be deleted the claim stays and says why", async () => {
    await claims.create("stuck", {});
    await claims.pass("stuck");
    await remove("stuck");
    const message = "denied";
    const stop = claims.control.failWhen(({ method, path }) =>
      method === "DELETE" && path.includes("/xapps/") ? refusal(message) : undefined,
    );
    const failed = await claims.pass("stuck");
    stop();
    assert.ok(failed instanceof Error);
    assert.equal(failed.message, `cannot delete bound composite resource: ${message}`);
    assert.deepEqual(claims.control.events.take(), [`Warning DeleteCompositeResource: ${failed.message}`]);
    const synced = await claims.condition("stuck", "Synced");
    assert.deepEqual([synced?.status, synced?.message], ["False", failed.message]);
    assert.ok((await claims.claim("stuck")).metadata.finalizers?.includes("finalizer.apiextensions.crossplane.io"));
    assert.deepEqual(await claims.pass("stuck"), {});
    assert.equal(await claim("stuck"), undefined);
  });

  test("an unclaimed composite resource that the claim refers to is deleted with it", async () => {
    await claims.control.client.create({ ...appKind.compositeType, metadata: { name: "unbound" }, spec: {} });
    const finalizers = ["finalizer.apiextensions.crossplane.io"];
    await claims.create("referrer", { resourceRef: { ...appKind.compositeType, name: "unbound" } }, { finalizers });
    await remove("referrer");
    assert.deepEqual(await claims.pass("referrer"), {});
    assert.equal(await claims.control.client.get(appKind.compositeType, { name: "unbound" }), undefined);
    assert.equal(await claim("referrer"), undefined);
  });

  test("a claim that was refused keeps its finalizer, and its composite resource stays", async () => {
    const claimRef = { ...appKind.claimType, namespace: shop, name: "owner" };
    await claims.control.client.create({ ...appKind.compositeType, metadata: { name: "theirs" }, spec: { claimRef } });
    const finalizers = ["finalizer.apiextensions.crossplane.io"];
    await claims.create("intruder", { resourceRef: { ...appKind.compositeType, name: "theirs" } }, { finalizers });
    await remove("intruder");
    assert.deepEqual(await claims.pass("intruder"), {});
    assert.ok(await claim("intruder"));
    assert.ok(await claims.control.client.get(appKind.compositeType, { name: "theirs" }));
  });
});

test("a claim goes although its definition has taken the kind of its composite resource away before", async () => {
  await using claims = await startTestClaims();
  const { users, client } = claims.control;
  await claims.create("last", {});
  await claims.pass("last");
  await client.delete({ ...appKind.claimType, namespace: shop, name: "last" });
  await users.delete({ ...crdType, name: appKind.definition });
  await eventually("the kind is gone", async () => (await find(users, crdType, appKind.definition)) === undefined);
  await eventually("the claim is gone", async () => {
    await claims.pass("last");
    return (await find(users, appKind.claimType, "last", shop)) === undefined;
  });
});
