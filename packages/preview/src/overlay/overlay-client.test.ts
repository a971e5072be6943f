// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { compositionKinds } from "@purlin/composition";
import { isNoMatch } from "@purlin/kube-client";
import { forbidden, isConflict, textOf } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";
import { appDefinition, configMap, overlayStage } from "../../test/overlay-stage.ts";
import { createSessionBase, type SessionBase } from "../session.ts";
import { collectGarbage } from "./overlay-client.ts";

const type = { apiVersion: "v1", kind: "ConfigMap" };
const at = (name: string) => ({ ...type, namespace: "default", name });
const key = (name: string) => ({ namespace: "default", name });
const merge = { fieldManager: "test", type: "merge" } as const;
const apply = { fieldManager: "test", force: true };

let base: SessionBase;
let owner: KubeObject;
before(async () => {
  base = await createSessionBase([]);
  await base.ensureNamespace("default");
  owner = await base.client.create(configMap("owner"));
  const { uid = "" } = owner.metadata;
  const ownerReferences = [{ apiVersion: "v1", kind: "ConfigMap", name: "owner", uid, controller: true }];
  const owned = configMap("owned", { a: "b" });
  await base.client.create({ ...owned, metadata: { ...owned.metadata, labels: { app: "x" }, ownerReferences } });
  const held = configMap("held");
  await base.client.create({ ...held, metadata: { ...held.metadata, finalizers: ["example.org/wait"] } });
});
after(() => base[Symbol.asyncDispose]());

const namesOf = (objects: readonly KubeObject[]): readonly (string | undefined)[] =>
  objects.map(({ metadata }) => metadata.name).sort();

describe("reads", () => {
  test("the namespace of a key does not count for a cluster-scoped kind", async () => {
    await using stage = overlayStage(base.client);
    const namespace = { apiVersion: "v1", kind: "Namespace" };
    const found = await stage.client.get(namespace, { namespace: "other", name: "default" });
    assert.equal(found?.metadata.name, "default");
    const live = await stage.client.live.get(namespace, { namespace: "other", name: "default" });
    assert.equal(live.metadata.name, "default");
  });

  test("lists select by labels, by a field and by the controller", async () => {
    await using stage = overlayStage(base.client);
    const fresh = configMap("fresh", { a: "b" });
    await stage.client.create({ ...fresh, metadata: { ...fresh.metadata, labels: { app: "x", tier: "y" } } });
    const list = async (options: object) =>
      namesOf(await stage.client.list(type, { namespace: "default", ...options }));
    assert.deepEqual(await list({ labels: { app: "x" } }), ["fresh", "owned"]);
    assert.deepEqual(await list({ labels: { app: "x", tier: "y" } }), ["fresh"]);
    assert.deepEqual(await list({ labels: { app: "z" } }), []);
    assert.deepEqual(await list({ field: { path: ["data", "a"], value: "b" } }), ["fresh", "owned"]);
    assert.deepEqual(await list({ controller: owner.metadata.uid }), ["owned"]);
    assert.deepEqual(await list({ controller: "" }), ["fresh", "held", "owner"]);
  });

  test("reads past caches see the overlay, and fail for objects that do not exist", async () => {
    await using stage = overlayStage(base.client);
    await stage.client.apply(configMap("owned", { a: "new" }), apply);
    assert.deepEqual((await stage.client.live.get(type, key("owned")))["data"], { a: "new" });
    await assert.rejects(stage.client.live.get(type, key("none")), { message: 'configmaps "none" not found' });
    const { items } = await stage.client.live.list(type, { namespace: "default", labelSelector: "app in (x),!tier" });
    assert.deepEqual(namesOf(items), ["owned"]);
  });

  test("watches are refused", async () => {
    await using stage = overlayStage(base.client);
    await assert.rejects(stage.client.live.watch(type, {} as never), { message: "a preview is not watched" });
  });
});

describe("kinds that the preview defines", () => {
  const app = { apiVersion: "example.org/v1", kind: "App" };
  const shop = (spec: JsonObject): KubeObject => ({ ...app, metadata: { name: "shop", namespace: "default" }, spec });

  test("are mapped, served and defaulted as their definition says", async () => {
    await using stage = overlayStage(base.client);
    await assert.rejects(stage.client.mapper.mapping(app), isNoMatch);
    const crd = await stage.client.create(
      appDefinition({ size: { type: "integer", default: 3 }, name: { type: "string" } }),
    );
    assert.deepEqual(await stage.client.mapper.mapping(app), { ...app, resource: "apps", namespaced: true });
    const conditions =
      (crd["status"] as { readonly conditions?: readonly { readonly type: string }[] }).conditions ?? [];
    assert.equal(
      conditions.some(({ type: name }) => name === "Established"),
      true,
    );
    const stored = await stage.client.create(shop({ name: "a", lost: true }));
    assert.deepEqual(stored["spec"], { name: "a", size: 3 });
    assert.deepEqual([...(stage.entry(stored)?.approximate ?? [])], ["new-kind"]);
    assert.deepEqual(stage.sent, ["create"], "the live server judges the definition only");
    assert.deepEqual(namesOf(await stage.client.list(app)), ["shop"]);
    assert.equal((await stage.overlay.definitionOf(app))?.metadata.name, "apps.example.org");
  });

  test("refuse what their schema refuses", async () => {
    await using stage = overlayStage(base.client);
    await stage.client.create(appDefinition({ size: { type: "integer", maximum: 3 } }));
    await assert.rejects(stage.client.create(shop({ size: 4 })), {
      message:
        'App.example.org "shop" is invalid: spec.size: Invalid value: 4: spec.size in body should be less than or equal to 3',
    });
    assert.equal(stage.entry(shop({}))?.refusal?.isInvalid, true);
  });

  test("a version that is not served has no mapping; a cluster-scoped kind is mapped as such", async () => {
    await using stage = overlayStage(base.client);
    await stage.client.create(appDefinition({}, { scope: "Cluster" }));
    assert.equal((await stage.client.mapper.mapping(app)).namespaced, false);
    await assert.rejects(stage.client.mapper.mapping({ ...app, apiVersion: "example.org/v2" }), isNoMatch);
    await assert.rejects(stage.client.mapper.mapping({ ...app, kind: "Other" }), isNoMatch);
  });

  test("a kind whose definition the preview removed is served no longer", async () => {
    await using served = await createSessionBase([appDefinition({})]);
    await using stage = overlayStage(served.client);
    assert.equal((await stage.client.mapper.mapping(app)).resource, "apps");
    await stage.client.delete({ ...compositionKinds.crd, name: "apps.example.org" });
    await assert.rejects(stage.client.mapper.mapping(app), isNoMatch);
  });

  test("built-in kinds have no definition", async () => {
    await using stage = overlayStage(base.client);
    for (const apiVersion of ["v1", "apps/v1", "rbac.authorization.k8s.io/v1"])
      assert.equal(await stage.overlay.definitionOf({ apiVersion, kind: "Role" }), undefined);
    assert.equal(await stage.overlay.definitionOf({ apiVersion: "none.example.org/v1", kind: "None" }), undefined);
  });
});

describe("writes", () => {
  test("an apply that changes nothing is not sent", async () => {
    await using stage = overlayStage(base.client);
    const seen: (KubeObject | undefined)[] = [];
    const beforeSend = (current: KubeObject | undefined) => void seen.push(current);
    const first = await stage.client.applyIfChanged(configMap("new", { a: "1" }), { ...apply, beforeSend } as never);
    const again = await stage.client.applyIfChanged(configMap("new", { a: "1" }), { ...apply, beforeSend } as never);
    assert.deepEqual([first.sent, again.sent, seen], [true, false, [undefined]]);
    assert.equal(again.object, first.object);
    const third = await stage.client.applyIfChanged(configMap("new", { a: "2" }), { ...apply, beforeSend } as never);
    assert.deepEqual([third.sent, seen.length, seen[1]], [true, 2, first.object]);
  });

  test("a generated name is the same in every preview, and another in another namespace", async () => {
    const name = async (namespace: string): Promise<string> => {
      await using stage = overlayStage(base.client);
      await stage.client.create({ apiVersion: "v1", kind: "Namespace", metadata: { name: "team" } });
      const metadata = { generateName: "job-", namespace };
      return (await stage.client.create({ ...type, metadata })).metadata.name ?? "";
    };
    const [one, two, far] = [await name("default"), await name("default"), await name("team")];
    assert.match(one, /^job-[0-9a-f]{5}$/);
    assert.equal(one, two);
    assert.notEqual(one, far);
  });

  test("a version that was read from the overlay is good for an update and for a JSON patch", async () => {
    await using stage = overlayStage(base.client);
    const read = await stage.client.apply(configMap("owned", { a: "1" }), apply);
    const updated = await stage.client.update({ ...read, data: { a: "2" } });
    const isCurrent = { op: "test", path: "/metadata/resourceVersion", value: updated.metadata.resourceVersion ?? "" };
    const replace = { op: "replace", path: "/data/a", value: "3" };
    const patched = await stage.client.patch(at("owned"), [isCurrent, replace] as never, { ...merge, type: "json" });
    assert.deepEqual(patched["data"], { a: "3" });
  });
});

describe("deletes", () => {
  test("an object that does not exist is not found; another uid is a conflict", async () => {
    await using stage = overlayStage(base.client);
    await assert.rejects(stage.client.delete(at("none")), { message: 'configmaps "none" not found' });
    await assert.rejects(stage.client.delete(at("owner"), { preconditions: { uid: "other" } }), (error) => {
      assert.match(textOf(error), /^Operation cannot be fulfilled on configmaps "owner": the UID in the precondition/);
      return isConflict(error);
    });
    assert.equal(
      await stage.client.delete(at("owner"), { preconditions: { uid: owner.metadata.uid ?? "" } }),
      undefined,
    );
    assert.deepEqual(stage.sent, ["delete"]);
  });

  test("a collection is deleted one by one: what has finalizers stays, in deletion", async () => {
    await using stage = overlayStage(base.client);
    await stage.client.create(configMap("fresh"));
    await stage.client.deleteCollection(type, { namespace: "default" });
    const left = await stage.client.list(type, { namespace: "default" });
    assert.deepEqual(
      left.map(({ metadata }) => [metadata.name, metadata.deletionTimestamp !== undefined]),
      [["held", true]],
    );
  });

  test("finalizers hold an object; the last one releases it", async () => {
    await using stage = overlayStage(base.client);
    const held = await stage.client.delete(at("held"));
    assert.equal(held?.metadata.deletionTimestamp, "2024-01-01T00:00:00Z");
    assert.equal(held?.metadata.deletionGracePeriodSeconds, 0);
    const { version } = stage.overlay;
    assert.equal(await stage.client.delete(at("held")), held, "a second delete changes nothing");
    assert.equal(stage.overlay.version, version);
    await stage.client.patch(at("held"), { metadata: { finalizers: null } }, merge);
    assert.equal(await stage.client.get(type, key("held")), undefined);
    assert.deepEqual(stage.changes, ["updated held", "deleted held"]);
  });

  test("a foreground deletion adds its finalizer once", async () => {
    await using stage = overlayStage(base.client);
    const once = await stage.client.delete(at("owner"), { propagationPolicy: "Foreground" });
    const twice = await stage.client.delete(at("owner"), { propagationPolicy: "Foreground" });
    assert.deepEqual(once?.metadata.finalizers, ["foregroundDeletion"]);
    assert.equal(twice, once);
  });

  test("an object of the preview is deleted without a request", async () => {
    await using stage = overlayStage(base.client);
    await stage.client.create(configMap("new"));
    await stage.client.delete(at("new"));
    assert.deepEqual(stage.sent, ["create"]);
  });

  const resource = { group: "", resource: "configmaps" };
  test("missing rights are a reason, a denial is a refusal", async () => {
    await using stage = overlayStage(base.client);
    stage.refusal = forbidden(resource, "owner", 'User "u" cannot delete resource "configmaps"');
    assert.equal(await stage.client.delete(at("owner")), undefined);
    assert.deepEqual([...(stage.entry(owner)?.approximate ?? [])], ["forbidden"]);
    const denial = forbidden(resource, "owned", 'admission webhook "w" denied the request: no');
    stage.refusal = denial;
    await assert.rejects(stage.client.delete(at("owned")), denial);
    assert.deepEqual(stage.entry(configMap("owned"))?.refusal, { text: denial.message, isInvalid: false });
    assert.equal((await stage.client.get(type, key("owned")))?.metadata.name, "owned");
  });

  test("the denial of a Usage that the preview no longer has does not count", async () => {
    await using stage = overlayStage(base.client);
    const webhook = "nousages.protection.crossplane.io";
    stage.refusal = forbidden(resource, "owner", `admission webhook "${webhook}" denied the request: in use`);
    assert.equal(await stage.client.delete(at("owner")), undefined);
    assert.equal(stage.entry(owner)?.refusal, undefined);
  });
});

describe("garbage collection", () => {
  const dependents = (stage: ReturnType<typeof overlayStage>) => () =>
    stage.client.list(type, { namespace: "default" });

  test("what a deleted object owns is deleted; a second turn changes nothing", async () => {
    await using stage = overlayStage(base.client);
    await stage.client.delete(at("owner"));
    assert.equal(await collectGarbage(stage.overlay, dependents(stage)), true);
    assert.deepEqual(namesOf(await stage.client.list(type, { namespace: "default" })), ["held"]);
    assert.equal(await collectGarbage(stage.overlay, dependents(stage)), false);
  });

  test("objects that still exist lose nothing", async () => {
    await using stage = overlayStage(base.client);
    await stage.client.apply(configMap("owner", { a: "b" }), apply);
    assert.equal(await collectGarbage(stage.overlay, dependents(stage)), false);
    assert.deepEqual(stage.changes, ["updated owner"]);
  });

  test("a foreground deletion ends after its dependents are gone", async () => {
    await using stage = overlayStage(base.client);
    await stage.client.delete(at("owner"), { propagationPolicy: "Foreground" });
    for (let turn = 0; turn < 3; turn++) await collectGarbage(stage.overlay, dependents(stage));
    assert.deepEqual(
      stage.changes.filter((text) => text.startsWith("deleted")),
      ["deleted owned", "deleted owner"],
    );
  });

  test("a dependent whose deletion is refused stays, and is not tried again", async () => {
    await using stage = overlayStage(base.client);
    await stage.client.delete(at("owner"));
    stage.refusal = forbidden(
      { group: "", resource: "configmaps" },
      "owned",
      'admission webhook "w" denied the request',
    );
    assert.equal(await collectGarbage(stage.overlay, dependents(stage)), false);
    assert.equal(await collectGarbage(stage.overlay, dependents(stage)), false);
    assert.deepEqual(stage.sent, ["delete", "delete"]);
  });
});
