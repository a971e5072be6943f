// SPDX-License-Identifier: Apache-2.0

import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import type { JsonObject } from "@purlin/kube-objects/json";
import { type KubeObject, memberAt } from "@purlin/kube-objects/object";
import { appKind, ready, startTestClaims, type TestClaims } from "../../test/definition-control.ts";
import { kinds } from "../composite-resource/constants.ts";

const specOf = (object: KubeObject): JsonObject => object["spec"] as JsonObject;

/** Passes until nothing is written, and how many that took. */
async function settle(claims: TestClaims, name: string): Promise<number> {
  for (let passes = 1; passes < 10; passes++) {
    claims.control.takeWrites();
    assert.deepEqual(await claims.pass(name), {});
    if (claims.control.takeWrites().length === 0) return passes;
  }
  throw new Error(`${name} does not settle`);
}

suite("from claim to composite resource and back", () => {
  let claims: TestClaims;
  before(async () => {
    claims = await startTestClaims();
  });
  after(() => claims[Symbol.asyncDispose]());

  test("labels and annotations come and go with the claim's; others' stay", async () => {
    await claims.create("meta", {}, { labels: { a: "1", b: "2" }, annotations: { note: "n" } });
    await claims.pass("meta");
    await claims.edit(await claims.xr("meta"), ["metadata", "labels", "theirs"], "x");
    await claims.edit(await claims.claim("meta"), ["metadata", "labels"], { a: "3" });
    await claims.edit(await claims.claim("meta"), ["metadata", "annotations"], undefined);
    await claims.pass("meta");
    const { labels, annotations } = (await claims.xr("meta")).metadata;
    assert.deepEqual(labels, {
      "crossplane.io/claim-name": "meta",
      "crossplane.io/claim-namespace": "shop",
      a: "3",
      theirs: "x",
    });
    assert.equal(annotations, undefined);
  });

  test("what belongs to Kubernetes stays on the claim", async () => {
    const reserved = { "app.kubernetes.io/name": "web", "foo-k8s.io/x": "y", "kubernetes.io": "z" };
    const applied = { "kubectl.kubernetes.io/last-applied-configuration": "{}" };
    await claims.create("reserved", {}, { labels: { ...reserved, own: "o" }, annotations: applied });
    await claims.pass("reserved");
    const { labels, annotations } = (await claims.xr("reserved")).metadata;
    assert.deepEqual(Object.keys(labels ?? {}).sort(), [
      "crossplane.io/claim-name",
      "crossplane.io/claim-namespace",
      "own",
    ]);
    assert.equal(annotations, undefined);
    assert.deepEqual((await claims.claim("reserved")).metadata.labels, { ...reserved, own: "o" });
  });

  test("what is removed from the claim is removed from the composite resource, and that is that", async () => {
    await claims.create("spec", { image: "a", sizes: ["s", "m"], net: { port: 1, host: "h" } });
    await claims.pass("spec");
    await claims.edit(await claims.claim("spec"), ["spec", "sizes"], ["m"]);
    await claims.edit(await claims.claim("spec"), ["spec", "net"], { host: "h" });
    await claims.edit(await claims.claim("spec"), ["spec", "image"], undefined);
    await claims.pass("spec");
    const { sizes, net, image } = specOf(await claims.xr("spec"));
    assert.deepEqual({ sizes, net, image }, { sizes: ["m"], net: { host: "h" }, image: undefined });
    assert.equal(await settle(claims, "spec"), 1);
    assert.equal(memberAt(await claims.claim("spec"), ["spec", "image"]), undefined);
  });

  test("the external name goes to the composite resource once; then its own wins", async () => {
    const key = "crossplane.io/external-name";
    await claims.create("external", {}, { annotations: { [key]: "first" } });
    await claims.pass("external");
    assert.equal((await claims.xr("external")).metadata.annotations?.[key], "first");
    await claims.edit(await claims.claim("external"), ["metadata", "annotations", key], "second");
    await claims.pass("external");
    assert.equal((await claims.xr("external")).metadata.annotations?.[key], "first");
    assert.equal((await claims.claim("external")).metadata.annotations?.[key], "first");
    assert.equal(await settle(claims, "external"), 1);
  });

  test("what was selected flows back and stays, whatever the selector says later", async () => {
    const compositionSelector = { matchLabels: { tier: "a", zone: "z" } };
    await claims.create("selecting", { compositionSelector });
    await claims.pass("selecting");
    assert.deepEqual(specOf(await claims.xr("selecting"))["compositionSelector"], compositionSelector);
    await claims.edit(await claims.xr("selecting"), ["spec", "compositionRef"], { name: "chosen" });
    await claims.pass("selecting");
    assert.deepEqual(specOf(await claims.claim("selecting"))["compositionRef"], { name: "chosen" });
    await claims.edit(await claims.claim("selecting"), ["spec", "compositionSelector"], { matchLabels: { tier: "b" } });
    await claims.pass("selecting");
    const xr = specOf(await claims.xr("selecting"));
    assert.deepEqual(xr["compositionSelector"], { matchLabels: { tier: "b" } }, "a removed label does not come back");
    assert.deepEqual(xr["compositionRef"], { name: "chosen" });
    assert.deepEqual(specOf(await claims.claim("selecting"))["compositionSelector"], { matchLabels: { tier: "b" } });
    assert.equal(await settle(claims, "selecting"), 1);
  });

  test("the claim's Composition is forced onto the composite resource", async () => {
    await claims.create("choosy", { compositionRef: { name: "mine" } });
    await claims.pass("choosy");
    await claims.edit(await claims.xr("choosy"), ["spec", "compositionRef"], { name: "other" });
    await claims.pass("choosy");
    assert.deepEqual(specOf(await claims.xr("choosy"))["compositionRef"], { name: "mine" });
    assert.deepEqual(specOf(await claims.claim("choosy"))["compositionRef"], { name: "mine" });
  });

  test("under Automatic the composite resource's revision counts", async () => {
    await claims.create("auto", {});
    await claims.pass("auto");
    await claims.edit(await claims.xr("auto"), ["spec", "compositionRevisionRef"], { name: "r2" });
    // A copy that shares nothing with the one before: what counts is that it is equal.
    const copy = structuredClone(await claims.xr("auto"));
    await claims.control.client.update({
      ...copy,
      metadata: { ...copy.metadata, labels: { ...copy.metadata.labels, x: "y" } },
    });
    await claims.edit(await claims.claim("auto"), ["spec", "compositionRevisionRef"], { name: "r1" });
    await claims.pass("auto");
    assert.deepEqual(specOf(await claims.claim("auto"))["compositionRevisionRef"], { name: "r2" });
    assert.deepEqual(specOf(await claims.xr("auto"))["compositionRevisionRef"], { name: "r2" });
    assert.equal(await settle(claims, "auto"), 1);
  });

  test("under Manual the claim's revision counts, from the pass after the composite resource says Manual", async () => {
    await claims.create("manual", { compositionUpdatePolicy: "Manual", compositionRevisionRef: { name: "r1" } });
    await claims.pass("manual");
    assert.equal(specOf(await claims.xr("manual"))["compositionRevisionRef"], undefined, "a new one has no policy yet");
    await claims.edit(await claims.xr("manual"), ["spec", "compositionRevisionRef"], { name: "newest" });
    await claims.pass("manual");
    assert.deepEqual(specOf(await claims.xr("manual"))["compositionRevisionRef"], { name: "r1" });
    await claims.edit(await claims.claim("manual"), ["spec", "compositionRevisionRef"], { name: "r3" });
    await claims.pass("manual");
    assert.deepEqual(specOf(await claims.xr("manual"))["compositionRevisionRef"], { name: "r3" });
    assert.equal(await settle(claims, "manual"), 1);
  });

  test("a revision selector that the definition gave flows to a claim that has none", async () => {
    await claims.create("defaulted", {});
    await claims.pass("defaulted");
    const selector = { matchLabels: { channel: "stable" } };
    await claims.edit(await claims.xr("defaulted"), ["spec", "compositionRevisionSelector"], selector);
    await claims.pass("defaulted");
    assert.deepEqual(specOf(await claims.claim("defaulted"))["compositionRevisionSelector"], selector);
    assert.equal(await settle(claims, "defaulted"), 2, "it is sent from now on");
    await claims.create("own", { compositionRevisionSelector: { matchLabels: { channel: "alpha" } } });
    await claims.pass("own");
    await claims.edit(await claims.xr("own"), ["spec", "compositionRevisionSelector"], selector);
    await claims.pass("own");
    assert.deepEqual(specOf(await claims.xr("own"))["compositionRevisionSelector"], {
      matchLabels: { channel: "alpha" },
    });
  });

  test("fields of the control plane in a permissive claim stay there", async () => {
    const smuggled = {
      resourceRefs: [{ apiVersion: "v1", kind: "Secret", name: "s", namespace: "kube-system" }],
      claimRef: { apiVersion: "a/b", kind: "C", namespace: "n", name: "n" },
    };
    await claims.create("smuggler", { ...smuggled, crossplane: { own: true } });
    await claims.pass("smuggler");
    const xr = specOf(await claims.xr("smuggler"));
    assert.equal(xr["resourceRefs"], undefined);
    assert.equal(memberAt(xr, ["claimRef", "name"]), "smuggler");
    assert.deepEqual(xr["crossplane"], { own: true }, "to a legacy claim that is a field like any other");
    assert.deepEqual(specOf(await claims.claim("smuggler"))["resourceRefs"], smuggled.resourceRefs);
  });

  test("what is the claim's alone never goes to the composite resource", async () => {
    const alone = { writeConnectionSecretToRef: { name: "mine" }, compositeDeletePolicy: "Foreground" };
    await claims.create("private", alone);
    await claims.pass("private");
    const xr = specOf(await claims.xr("private"));
    for (const field of [...Object.keys(alone), "resourceRef"]) assert.equal(xr[field], undefined, field);
  });

  test("the claim's status is the composite resource's, and what is the claim's own stays", async () => {
    await claims.create("reported", {});
    await claims.pass("reported");
    await claims.editStatus(await claims.xr("reported"), {
      url: "u",
      hosts: ["a", "b"],
      conditions: [ready("False")],
      connectionDetails: { lastPublishedTime: "2026-01-01T00:00:00Z" },
      claimConditionTypes: ["DatabaseReady"],
      claimConditions: ["DatabaseReady"],
      lastHandledReconcileAt: "token",
      crossplane: { functionRevisions: [{ step: "s", functionRevision: "f-1" }] },
    });
    await claims.pass("reported");
    const status = (await claims.claim("reported"))["status"] as JsonObject;
    assert.deepEqual(Object.keys(status).sort(), ["conditions", "hosts", "url"]);
    assert.equal(status["url"], "u");
    await claims.editStatus(await claims.xr("reported"), { hosts: ["b"], conditions: [ready("False")] });
    await claims.pass("reported");
    const later = (await claims.claim("reported"))["status"] as JsonObject;
    assert.deepEqual(Object.keys(later).sort(), ["conditions", "hosts"], "a field that is gone there is gone here");
    assert.deepEqual(later["conditions"], status["conditions"]);
    assert.equal(await settle(claims, "reported"), 1);
  });

  test("a claim waits for its composite resource to be ready, and does not mind what that one's Synced says", async () => {
    await claims.create("waiting", { writeConnectionSecretToRef: { name: "never" } });
    assert.deepEqual(await claims.pass("waiting"), {}, "the watch wakes it");
    const waiting = await claims.condition("waiting", "Ready");
    assert.deepEqual(
      [waiting?.status, waiting?.reason, waiting?.message],
      ["False", "Waiting", "Claim is waiting for composite resource to become Ready"],
    );
    const failed = {
      type: "Synced",
      status: "False",
      reason: "ReconcileError",
      lastTransitionTime: "2026-01-01T00:00:00Z",
    };
    await claims.editStatus(await claims.xr("waiting"), { conditions: [failed, ready()] });
    await claims.pass("waiting");
    assert.equal((await claims.condition("waiting", "Ready"))?.reason, "Available");
    assert.equal((await claims.condition("waiting", "Synced"))?.status, "True");
  });

  test("a composite resource of plain updates is upgraded in two passes, and then left alone", async () => {
    const xr = {
      ...appKind.compositeType,
      metadata: { name: "plain", labels: { old: "x" } },
      spec: { image: "a", sizes: ["s"] },
    };
    await claims.control.client.create(xr, { fieldManager: "crossplane" });
    await claims.create("upgraded", {
      image: "a",
      sizes: ["s"],
      resourceRef: { ...appKind.compositeType, name: "plain" },
    });
    const managers = async (): Promise<string[]> =>
      ((await claims.xr("upgraded")).metadata.managedFields ?? []).map(({ manager = "" }) => manager).sort();
    assert.deepEqual(await managers(), ["crossplane"]);
    await claims.pass("upgraded");
    assert.deepEqual(await managers(), ["apiextensions.crossplane.io/claim", "before-first-apply"]);
    await claims.pass("upgraded");
    assert.deepEqual(await managers(), ["apiextensions.crossplane.io/claim"]);
    assert.equal(await settle(claims, "upgraded"), 1);
    await claims.edit(await claims.claim("upgraded"), ["spec", "sizes"], undefined);
    await claims.pass("upgraded");
    assert.equal(specOf(await claims.xr("upgraded"))["sizes"], undefined, "now removing removes");
  });
});

suite("a definition that enforces a Composition", () => {
  test("the claim's is not sent, and is overwritten with the composite resource's", async () => {
    await using claims = await startTestClaims({ definition: { enforcedCompositionRef: { name: "enforced" } } });
    await claims.create("obedient", { compositionRef: { name: "mine" } });
    await claims.pass("obedient");
    assert.equal(specOf(await claims.xr("obedient"))["compositionRef"], undefined);
    await claims.edit(await claims.xr("obedient"), ["spec", "compositionRef"], { name: "enforced" });
    await claims.pass("obedient");
    assert.deepEqual(specOf(await claims.claim("obedient"))["compositionRef"], { name: "enforced" });
    assert.equal(await settle(claims, "obedient"), 1);
  });

  test("one that cannot be found enforces nothing", async () => {
    await using claims = await startTestClaims({ definition: { enforcedCompositionRef: { name: "enforced" } } });
    await claims.control.client.delete({ ...kinds.definition, name: appKind.definition });
    await claims.create("free", { compositionRef: { name: "mine" } });
    await claims.pass("free");
    assert.deepEqual(specOf(await claims.xr("free"))["compositionRef"], { name: "mine" });
  });
});

suite("Manual with a revision selector", () => {
  let claims: TestClaims;
  before(async () => {
    claims = await startTestClaims();
    for (const [name, channel] of [
      ["r1", "stable"],
      ["r2", "alpha"],
      ["r3", "alpha"],
    ] as const) {
      await claims.control.client.create({
        ...kinds.revision,
        metadata: { name, labels: { channel } },
        spec: {
          revision: Number(name.slice(1)),
          compositeTypeRef: appKind.compositeType,
          mode: "Pipeline",
          pipeline: [],
        },
      });
    }
  });
  after(() => claims[Symbol.asyncDispose]());

  const manual = (channel: string, revision: string): JsonObject => ({
    compositionUpdatePolicy: "Manual",
    compositionRevisionSelector: { matchLabels: { channel } },
    compositionRevisionRef: { name: revision },
  });

  test("a revision that carries the labels is sent", async () => {
    await claims.create("agrees", manual("stable", "r1"));
    await claims.pass("agrees");
    await claims.pass("agrees");
    assert.deepEqual(specOf(await claims.xr("agrees"))["compositionRevisionRef"], { name: "r1" });
    assert.equal(await settle(claims, "agrees"), 1);
  });

  for (const { name, revision, why } of [
    { name: "lacks", revision: "r1", why: "lacks a label" },
    { name: "gone", revision: "r0", why: "is missing" },
  ]) {
    test(`a revision that ${why} is not sent, the composite resource's flows back, and both stay`, async () => {
      await claims.create(name, manual("alpha", revision));
      await claims.pass(name);
      await claims.edit(await claims.xr(name), ["spec", "compositionRevisionRef"], { name: "r3" });
      await claims.pass(name);
      assert.deepEqual(specOf(await claims.xr(name))["compositionRevisionRef"], { name: "r3" });
      assert.deepEqual(specOf(await claims.claim(name))["compositionRevisionRef"], { name: "r3" });
      await settle(claims, name);
      assert.equal(await settle(claims, name), 1);
      assert.deepEqual(specOf(await claims.xr(name))["compositionRevisionRef"], { name: "r3" });
    });
  }

  test("the selector edited twice moves claim and composite resource with it", async () => {
    await claims.create("moving", manual("stable", "r1"));
    await claims.pass("moving");
    await claims.pass("moving");
    for (const { channel, chosen } of [
      { channel: "alpha", chosen: "r3" },
      { channel: "stable", chosen: "r1" },
    ]) {
      const before = specOf(await claims.xr("moving"))["compositionRevisionRef"];
      await claims.edit(await claims.claim("moving"), ["spec", "compositionRevisionSelector"], {
        matchLabels: { channel },
      });
      await claims.pass("moving");
      assert.deepEqual(specOf(await claims.xr("moving"))["compositionRevisionRef"], before, "never left without one");
      // What the controller of composite resources does then.
      await claims.edit(await claims.xr("moving"), ["spec", "compositionRevisionRef"], { name: chosen });
      await claims.pass("moving");
      assert.deepEqual(specOf(await claims.claim("moving"))["compositionRevisionRef"], { name: chosen });
      await settle(claims, "moving");
      assert.deepEqual(specOf(await claims.xr("moving"))["compositionRevisionRef"], { name: chosen });
    }
  });
});
