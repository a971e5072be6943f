// SPDX-License-Identifier: Apache-2.0

import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import { StatusError, type StatusReason } from "@purlin/kube-objects/errors";
import { memberAt } from "@purlin/kube-objects/object";
import { appKind, ready, shop, startTestClaims, type TestClaims } from "../../test/definition-control.ts";

const claimRefTo = (name: string, apiVersion: string = appKind.claimType.apiVersion) => ({
  apiVersion,
  kind: "App",
  namespace: shop,
  name,
});

function failure(code: number, reason: StatusReason): StatusError {
  return new StatusError({
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Failure",
    reason,
    code,
    message: `denied as ${reason}`,
  });
}

suite("binding a claim", () => {
  let claims: TestClaims;
  before(async () => {
    claims = await startTestClaims();
  });
  after(() => claims[Symbol.asyncDispose]());

  test("a new claim gets a composite resource, in as few writes as that takes", async () => {
    await claims.create("new", { image: "a" }, { labels: { tier: "front" } });
    claims.control.takeWrites();
    claims.control.events.take();
    assert.deepEqual(await claims.pass("new"), {});
    const xr = await claims.xr("new");
    const { name = "" } = xr.metadata;
    assert.match(name, /^new-[bcdfghjklmnpqrstvwxz2456789]{5}$/);
    assert.equal(xr.metadata.generateName, "new-");
    assert.deepEqual(xr.metadata.labels, {
      "crossplane.io/claim-name": "new",
      "crossplane.io/claim-namespace": "shop",
      tier: "front",
    });
    assert.deepEqual(xr["spec"], { image: "a", claimRef: claimRefTo("new"), compositionUpdatePolicy: "Automatic" });
    const claim = await claims.claim("new");
    assert.deepEqual(claim.metadata.finalizers, ["finalizer.apiextensions.crossplane.io"]);
    assert.deepEqual(memberAt(claim, ["spec", "resourceRef"]), { ...appKind.compositeType, name });
    const apps = "/apis/platform.example.org/v1alpha1/namespaces/shop/apps/new";
    assert.deepEqual(claims.control.takeWrites(), [
      `PUT ${apps}`,
      `PATCH /apis/platform.example.org/v1alpha1/xapps/${name}`,
      `PUT ${apps}/status`,
    ]);
    const reporters = claims.control.events.all.map(({ object, source, controller }) => [object, source, controller]);
    const reporter = "offered/compositeresourcedefinition.apiextensions.crossplane.io";
    assert.deepEqual(reporters[0], ["App/new", reporter, `claim/${appKind.definition}`]);
    assert.deepEqual(claims.control.events.take(), [
      "Normal BindCompositeResource: Successfully bound composite resource",
      "Normal BindCompositeResource: Composite resource is not yet ready",
    ]);
  });

  test("generateName is in the creating patch alone, and a settled claim writes nothing", async () => {
    await claims.create("steady", { image: "a" });
    await claims.pass("steady");
    await claims.editStatus(await claims.xr("steady"), { url: "u", conditions: [ready()] });
    await claims.pass("steady");
    assert.equal((await claims.xr("steady")).metadata.generateName, undefined);
    claims.control.takeWrites();
    claims.control.events.take();
    for (let i = 0; i < 3; i++) assert.deepEqual(await claims.pass("steady"), {});
    assert.deepEqual(claims.control.takeWrites(), []);
    assert.deepEqual(claims.control.events.take(), []);
    await claims.edit(await claims.xr("steady"), ["spec", "image"], "foreign");
    await claims.pass("steady");
    assert.equal(
      claims.control.takeWrites().filter((line) => line.includes("xapps")).length,
      2,
      "the edit, and one write",
    );
    assert.equal(memberAt(await claims.xr("steady"), ["spec", "image"]), "a");
  });

  test("a claim that waits says so once, and again when it waits again", async () => {
    const notYet = "Normal BindCompositeResource: Composite resource is not yet ready";
    await claims.create("patient", { image: "a" });
    await claims.pass("patient");
    claims.control.events.take();
    for (let i = 0; i < 3; i++) await claims.pass("patient");
    assert.deepEqual(claims.control.events.take(), []);
    await claims.editStatus(await claims.xr("patient"), { conditions: [ready()] });
    await claims.pass("patient");
    await claims.editStatus(await claims.xr("patient"), { conditions: [] });
    await claims.pass("patient");
    assert.deepEqual(claims.control.events.take(), [notYet]);
  });

  test("a claim that is not there is no error", async () => {
    assert.deepEqual(await claims.pass("absent"), {});
  });

  test("events name the composite resource that was known when they came about, and the external name", async () => {
    const external = { "crossplane.io/external-name": "outside" };
    await claims.create("annotated", { image: "a" }, { annotations: external });
    const annotationsOf = (): unknown[] => claims.control.events.all.map(({ event }) => event.annotations);
    claims.control.events.take();
    await claims.pass("annotated");
    assert.deepEqual(
      new Set(annotationsOf().map((said) => JSON.stringify(said))),
      new Set(['{"external-name":"outside"}']),
    );
    const { name = "" } = (await claims.xr("annotated")).metadata;
    await claims.editStatus(await claims.xr("annotated"), { conditions: [ready()] });
    await claims.pass("annotated");
    await claims.editStatus(await claims.xr("annotated"), { conditions: [] });
    claims.control.events.take();
    await claims.pass("annotated");
    assert.ok(annotationsOf().length > 0);
    for (const said of annotationsOf()) assert.deepEqual(said, { "external-name": "outside", "composite-name": name });
    await claims.create("unknown", { image: "a" }, { annotations: { "crossplane.io/paused": "true" } });
    claims.control.events.take();
    await claims.pass("unknown");
    assert.deepEqual(annotationsOf(), [undefined], "a paused claim is not reconciled");
  });

  test("a paused claim reports that, and is not reconciled until it is resumed", async () => {
    await claims.create("paused", { image: "a" }, { annotations: { "crossplane.io/paused": "true" } });
    claims.control.events.take();
    await claims.pass("paused");
    const message = "Reconciliation (including deletion) is paused via the pause annotation";
    assert.deepEqual(claims.control.events.take(), [`Normal ReconciliationPaused: ${message}`]);
    const synced = await claims.condition("paused", "Synced");
    assert.equal(synced?.status, "False");
    assert.equal(synced.reason, "ReconcilePaused");
    assert.equal(synced.message, message);
    const claim = await claims.claim("paused");
    assert.equal(memberAt(claim, ["spec", "resourceRef"]), undefined);
    assert.equal(claim.metadata.finalizers, undefined);
    await claims.edit(claim, ["metadata", "annotations"], undefined);
    await claims.pass("paused");
    assert.equal((await claims.condition("paused", "Synced"))?.status, "True");
    assert.ok(await claims.xr("paused"));
  });

  test("pause comes before deletion", async () => {
    await claims.create("held", { image: "a" });
    await claims.pass("held");
    const claim = await claims.claim("held");
    await claims.edit(claim, ["metadata", "annotations"], { "crossplane.io/paused": "true" });
    await claims.control.client.delete({ ...appKind.claimType, namespace: shop, name: "held" });
    await claims.pass("held");
    assert.ok(await claims.xr("held"), "its composite resource stays");
    assert.equal((await claims.condition("held", "Synced"))?.reason, "ReconcilePaused");
  });

  test("any other value does not pause, and goes to the composite resource", async () => {
    await claims.create("unpaused", { image: "a" }, { annotations: { "crossplane.io/paused": "false" } });
    await claims.pass("unpaused");
    assert.deepEqual((await claims.xr("unpaused")).metadata.annotations, { "crossplane.io/paused": "false" });
  });

  test("a composite resource of another claim is refused, once, and left alone", async () => {
    const spec = { claimRef: claimRefTo("owner"), image: "theirs" };
    const xr = await claims.control.client.create({ ...appKind.compositeType, metadata: { name: "taken" }, spec });
    await claims.create("thief", { image: "a", resourceRef: { ...appKind.compositeType, name: "taken" } });
    claims.control.events.take();
    assert.deepEqual(await claims.pass("thief"), {}, "no requeue");
    const text =
      'refusing to operate on composite resource "taken" that is not bound to this claim: bound to claim "owner"';
    assert.deepEqual(claims.control.events.take(), [`Warning BindCompositeResource: ${text}`]);
    const synced = await claims.condition("thief", "Synced");
    assert.deepEqual([synced?.status, synced?.reason, synced?.message], ["False", "ReconcileError", text]);
    const claim = await claims.claim("thief");
    assert.equal(claim.metadata.finalizers, undefined);
    const now = await claims.control.client.get(appKind.compositeType, { name: "taken" });
    assert.equal(now?.metadata.resourceVersion, xr.metadata.resourceVersion);
    claims.control.takeWrites();
    await claims.pass("thief");
    assert.deepEqual(claims.control.takeWrites(), []);
  });

  test("an unclaimed composite resource is bound and takes the claim's values", async () => {
    await claims.control.client.create({
      ...appKind.compositeType,
      metadata: { name: "free" },
      spec: { image: "old" },
    });
    await claims.create("finder", { image: "new", resourceRef: { ...appKind.compositeType, name: "free" } });
    claims.control.events.take();
    await claims.pass("finder");
    const xr = await claims.xr("finder");
    assert.equal(xr.metadata.name, "free");
    assert.equal(memberAt(xr, ["spec", "image"]), "new");
    assert.deepEqual(memberAt(xr, ["spec", "claimRef"]), claimRefTo("finder"));
    const bound = "Normal BindCompositeResource: Successfully bound composite resource";
    assert.equal(claims.control.events.take().filter((text) => text === bound).length, 1);
    await claims.pass("finder");
    assert.ok(!claims.control.events.take().includes(bound));
  });

  test("a reference to nothing makes a composite resource of that name, also when it was deleted by hand", async () => {
    await claims.create("named", { image: "a", resourceRef: { ...appKind.compositeType, name: "exactly-this" } });
    await claims.pass("named");
    const first = await claims.xr("named");
    assert.equal(first.metadata.name, "exactly-this");
    await claims.control.client.delete({ ...appKind.compositeType, name: "exactly-this" });
    await claims.pass("named");
    const second = await claims.xr("named");
    assert.equal(second.metadata.name, "exactly-this");
    assert.notEqual(second.metadata.uid, first.metadata.uid);
  });

  test("a reference in another version of the claim's kind is another claim's", async () => {
    const ref = claimRefTo("moved", "platform.example.org/v1");
    await claims.control.client.create({
      ...appKind.compositeType,
      metadata: { name: "versioned" },
      spec: { claimRef: ref },
    });
    await claims.create("moved", { resourceRef: { ...appKind.compositeType, name: "versioned" } });
    await claims.pass("moved");
    assert.equal(
      (await claims.condition("moved", "Synced"))?.message,
      'refusing to operate on composite resource "versioned" that is not bound to this claim: bound to claim "moved" of version platform.example.org/v1: set apiVersion: platform.example.org/v1alpha1 in the claimRef of the composite resource, or start with --accept-other-claim-versions',
    );
  });

  test("a claim of the same name, in another namespace or of another kind, is reported with namespace or kind", async () => {
    const others = {
      'bound to claim "twin-0" in namespace "far"': { namespace: "far" },
      'bound to claim "twin-1" of kind Other': { kind: "Other" },
    };
    for (const [index, [text, difference]] of Object.entries(others).entries()) {
      const name = `twin-${index}`;
      const spec = { claimRef: { ...claimRefTo(name), ...difference } };
      await claims.control.client.create({ ...appKind.compositeType, metadata: { name }, spec });
      await claims.create(name, { resourceRef: { ...appKind.compositeType, name } });
      await claims.pass(name);
      assert.ok((await claims.condition(name, "Synced"))?.message?.endsWith(`: ${text}`), text);
    }
  });

  test("a composite resource that cannot be read is reported", async () => {
    await using other = await startTestClaims();
    await other.create("blind", { resourceRef: { ...appKind.compositeType, name: "hidden" } });
    const stop = other.control.failWhen(({ path }) =>
      path.includes("/xapps") ? failure(403, "Forbidden") : undefined,
    );
    const failed = await other.pass("blind");
    stop();
    assert.ok(failed instanceof Error);
    assert.match(failed.message, /^cannot get bound composite resource: .*denied as Forbidden$/);
    const synced = await other.condition("blind", "Synced");
    assert.deepEqual([synced?.status, synced?.message], ["False", failed.message]);
    assert.deepEqual(other.control.events.take(), [`Warning BindCompositeResource: ${failed.message}`]);
  });

  test("a crash between claim and composite resource leads to one composite resource", async () => {
    await claims.create("crash", { image: "a" });
    const stop = claims.control.failWhen(({ method, path }) =>
      method === "PATCH" && path.includes("/xapps/crash-") ? failure(500, "InternalError") : undefined,
    );
    const failed = await claims.pass("crash");
    assert.ok(failed instanceof Error);
    assert.equal(
      failed.message,
      "cannot bind and sync claim with composite resource: cannot apply composite resource: denied as InternalError",
    );
    const synced = await claims.condition("crash", "Synced");
    assert.deepEqual([synced?.status, synced?.reason, synced?.message], ["False", "ReconcileError", failed.message]);
    const name = memberAt(await claims.claim("crash"), ["spec", "resourceRef", "name"]);
    assert.match(String(name), /^crash-/);
    stop();
    await claims.pass("crash");
    assert.equal((await claims.xr("crash")).metadata.name, name);
    const all = await claims.control.client.list(appKind.compositeType, {
      labels: { "crossplane.io/claim-name": "crash" },
    });
    assert.equal(all.length, 1);
    assert.equal((await claims.condition("crash", "Synced"))?.status, "True");
  });

  test("a claim that changed meanwhile is left for the next pass, without a word", async () => {
    await claims.create("stale", { image: "a" });
    claims.control.events.take();
    const stop = claims.control.failWhen(({ method, path }) =>
      method === "PUT" && path.endsWith("/apps/stale") ? failure(409, "Conflict") : undefined,
    );
    assert.ok((await claims.pass("stale")) instanceof Error);
    stop();
    assert.deepEqual(claims.control.events.take(), []);
    assert.deepEqual(
      await claims.control.client.list(appKind.compositeType, { labels: { "crossplane.io/claim-name": "stale" } }),
      [],
    );
    assert.equal(await claims.condition("stale", "Synced"), undefined);
  });

  test("a name of 63 characters gives a name of 63 characters", async () => {
    const name = "a".repeat(63);
    await claims.create(name, { image: "a" });
    assert.deepEqual(await claims.pass(name), {});
    const xr = await claims.xr(name);
    assert.equal(xr.metadata.name?.length, 63);
    assert.equal(xr.metadata.labels?.["crossplane.io/claim-name"], name);
  });

  test("a claim whose spec is not an object is reported", async () => {
    const claim = { ...appKind.claimType, metadata: { namespace: shop, name: "x" }, spec: "text" };
    const { checkSpec } = await import("./sync.ts");
    assert.throws(() => checkSpec(claim), { message: "claim spec was not an object" });
  });
});

test("when ten names in a row are taken the claim says so, and tries again", async () => {
  let tries = 0;
  await using claims = await startTestClaims({
    random: () => {
      tries++;
      return 0;
    },
  });
  await claims.control.client.create({ ...appKind.compositeType, metadata: { name: "full-bbbbb" }, spec: {} });
  await claims.create("full", { image: "a" });
  const failed = await claims.pass("full");
  assert.ok(failed instanceof Error);
  assert.equal(
    failed.message,
    "cannot bind and sync claim with composite resource: cannot generate a name for composite resource: cannot generate a name for a resource",
  );
  assert.equal(tries, 50);
});

test("with the setting, a reference in another version is this claim's and is brought up to date", async () => {
  await using claims = await startTestClaims({ settings: { acceptOtherVersions: true } });
  const ref = claimRefTo("moved", "platform.example.org/v1");
  await claims.control.client.create({
    ...appKind.compositeType,
    metadata: { name: "versioned" },
    spec: { claimRef: ref },
  });
  await claims.create("moved", { resourceRef: { ...appKind.compositeType, name: "versioned" } });
  await claims.pass("moved");
  assert.deepEqual(memberAt(await claims.xr("moved"), ["spec", "claimRef"]), claimRefTo("moved"));
});
