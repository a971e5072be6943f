// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { forbidden, invalid, isConflict, isNotFound } from "@purlin/kube-objects/errors";
import type { KubeObject } from "@purlin/kube-objects/object";
import { configMap, overlayStage } from "../../test/overlay-stage.ts";
import { createSessionBase, type SessionBase } from "../session.ts";
import { inVersion } from "./overlay.ts";
import { previewManager } from "./overlay-entry.ts";

const type = { apiVersion: "v1", kind: "ConfigMap" };
const resource = { group: "", resource: "configmaps" };
const all = { accepts: () => true };
const key = (name: string) => ({ namespace: "default", name });
const manager = { fieldManager: "test" };
const merge = { ...manager, type: "merge" } as const;

let base: SessionBase;
before(async () => {
  base = await createSessionBase([]);
  await base.ensureNamespace("default");
  for (const name of ["one", "two"]) await base.client.create(configMap(name, { text: "old" }));
});
after(() => base[Symbol.asyncDispose]());

const namesOf = (objects: readonly KubeObject[]): readonly (string | undefined)[] =>
  objects.map(({ metadata }) => metadata.name).sort();

describe("reads", () => {
  test("an object that was not written is the live one; one that does not exist is undefined", async () => {
    await using stage = overlayStage(base.client);
    assert.deepEqual((await stage.overlay.get(type, key("one")))?.["data"], { text: "old" });
    assert.equal(await stage.overlay.get(type, key("none")), undefined);
    assert.equal(stage.overlay.entries.size, 0);
  });

  test("a written object is read as it was written, and the live server stores nothing", async () => {
    await using stage = overlayStage(base.client);
    await stage.client.apply(configMap("one", { text: "new" }), { ...manager, force: true });
    assert.deepEqual((await stage.overlay.get(type, key("one")))?.["data"], { text: "new" });
    assert.deepEqual(stage.sent, ["apply"]);
    assert.deepEqual((await base.client.get(type, key("one")))["data"], { text: "old" });
  });

  test("a list has live objects, changed ones and new ones, without removed ones", async () => {
    await using stage = overlayStage(base.client);
    await stage.client.create(configMap("three"));
    await stage.client.apply(configMap("one", { text: "new" }), { ...manager, force: true });
    await stage.client.delete({ ...type, ...key("two") });
    const listed = await stage.overlay.list(type, { namespace: "default", ...all });
    assert.deepEqual(namesOf(listed), ["one", "three"]);
    assert.deepEqual(listed.find(({ metadata }) => metadata.name === "one")?.["data"], { text: "new" });
  });

  test("a list has written objects of its namespace only, and those that are accepted", async () => {
    await using stage = overlayStage(base.client);
    await stage.client.create({ apiVersion: "v1", kind: "Namespace", metadata: { name: "team" } });
    await stage.client.create(configMap("far", {}, "team"));
    assert.deepEqual(namesOf(await stage.overlay.list(type, { namespace: "default", ...all })), ["one", "two"]);
    assert.deepEqual(namesOf(await stage.overlay.list(type, { namespace: "team", ...all })), ["far"]);
    assert.deepEqual(namesOf(await stage.overlay.list(type, all)), ["far", "one", "two"]);
    const accepts = ({ metadata }: KubeObject): boolean => metadata.name !== "two";
    assert.deepEqual(namesOf(await stage.overlay.list(type, { namespace: "default", accepts })), ["one"]);
  });

  test("an object is shown in the version that is read", () => {
    const object = configMap("a");
    assert.equal(inVersion(object, type), object);
    assert.deepEqual(inVersion(object, { apiVersion: "v2", kind: "ConfigMap" }), { ...object, apiVersion: "v2" });
    assert.equal(object.apiVersion, "v1");
  });
});

describe("writes", () => {
  test("a new object has the same uid and time in every preview, and a version that grows", async () => {
    const created: KubeObject[] = [];
    for (let run = 0; run < 2; run++) {
      await using stage = overlayStage(base.client);
      const before = stage.overlay.version;
      const object = await stage.client.create(configMap("new"));
      assert.equal(object.metadata.resourceVersion, String(before + 1));
      assert.equal(stage.overlay.version, before + 1);
      created.push(object);
    }
    assert.match(
      created[0]?.metadata.uid ?? "",
      /^[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
    );
    assert.equal(created[0]?.metadata.uid, created[1]?.metadata.uid);
    assert.equal(created[0]?.metadata.creationTimestamp, "2024-01-01T00:00:00Z");
  });

  test("what is stored cannot be changed by its readers", async () => {
    await using stage = overlayStage(base.client);
    const { metadata } = await stage.client.create(configMap("new"));
    assert.throws(() => Object.assign(metadata, { name: "other" }), TypeError);
  });

  test("changes are reported before a write resolves", async () => {
    await using stage = overlayStage(base.client);
    await stage.client.create(configMap("new"));
    await stage.client.apply(configMap("new", { a: "b" }), { ...manager, force: true });
    await stage.client.delete({ ...type, ...key("new") });
    assert.deepEqual(stage.changes, ["added new", "updated new", "deleted new"]);
  });

  test("an object is created once, and updated and patched only while it exists", async () => {
    await using stage = overlayStage(base.client);
    await assert.rejects(stage.client.create(configMap("one")), { message: 'configmaps "one" already exists' });
    await assert.rejects(stage.client.update(configMap("none")), isNotFound);
    await assert.rejects(stage.client.patch({ ...type, ...key("none") }, { data: {} }, merge), isNotFound);
    assert.deepEqual(stage.sent, []);
    assert.equal(stage.overlay.entries.size, 0);
  });

  test("an update with an outdated version is a conflict, which is not kept as a refusal", async () => {
    await using stage = overlayStage(base.client);
    const read = await stage.overlay.get(type, key("one"));
    assert.ok(read);
    await stage.client.update({ ...read, data: { text: "1" } });
    await assert.rejects(stage.client.update({ ...read, data: { text: "2" } }), isConflict);
    assert.deepEqual((await stage.overlay.get(type, key("one")))?.["data"], { text: "1" });
    assert.equal(stage.entry(read)?.refusal, undefined);
  });

  test("a write that changes nothing leaves no entry", async () => {
    await using stage = overlayStage(base.client);
    const read = await base.client.get(type, key("one"));
    const { version } = stage.overlay;
    await stage.client.update(read);
    assert.deepEqual([stage.overlay.entries.size, stage.changes, stage.overlay.version], [0, [], version]);
    assert.deepEqual(stage.overlay.written(type), []);
  });

  test("writers are kept once each, in the order of their first write", async () => {
    await using stage = overlayStage(base.client);
    for (const [controller, text] of ["a", "b", "a"].entries()) {
      stage.writer = { controller: text, key: "k", round: controller };
      await stage.client.apply(configMap("one", { text: `${controller}` }), { ...manager, force: true });
    }
    stage.writer = { controller: "a", key: "other", round: 9 };
    await stage.client.apply(configMap("one", { text: "last" }), { ...manager, force: true });
    const writers = stage
      .entry(configMap("one"))
      ?.writers.map(({ controller, key, round }) => [controller, key, round]);
    assert.deepEqual(writers, [
      ["a", "k", 0],
      ["b", "k", 1],
      ["a", "other", 9],
    ]);
  });

  test("writes of one object happen one after the other, also after one that failed", async () => {
    await using stage = overlayStage(base.client);
    const results = await Promise.allSettled([
      stage.client.create(configMap("new", { a: "1" })),
      stage.client.create(configMap("new", { a: "2" })),
      stage.client.patch({ ...type, ...key("new") }, { data: { b: "3" } }, merge),
    ]);
    assert.deepEqual(
      results.map(({ status }) => status),
      ["fulfilled", "rejected", "fulfilled"],
    );
    assert.deepEqual((await stage.overlay.get(type, key("new")))?.["data"], { a: "1", b: "3" });
  });
});

describe("which server judges a write", () => {
  test("the live one judges the first write, the local one the second", async () => {
    await using stage = overlayStage(base.client);
    await stage.client.apply(configMap("one", { text: "1" }), { ...manager, force: true });
    assert.deepEqual([...(stage.entry(configMap("one"))?.approximate ?? [])], []);
    await stage.client.apply(configMap("one", { text: "2" }), { ...manager, force: true });
    assert.deepEqual([...(stage.entry(configMap("one"))?.approximate ?? [])], ["changed-before"]);
    assert.deepEqual(stage.sent, ["apply"]);
  });

  test("an object that was removed and made again is judged locally", async () => {
    await using stage = overlayStage(base.client);
    await stage.client.delete({ ...type, ...key("one") });
    const made = await stage.client.create(configMap("one", { text: "again" }));
    const entry = stage.entry(configMap("one"));
    assert.deepEqual([entry?.wasRemoved, [...(entry?.approximate ?? [])]], [true, ["changed-before"]]);
    assert.deepEqual(stage.sent, ["delete"]);
    assert.notEqual(made.metadata.uid, entry?.before?.metadata.uid);
  });

  test("objects in a namespace of the preview are judged locally", async () => {
    await using stage = overlayStage(base.client);
    await stage.client.create({ apiVersion: "v1", kind: "Namespace", metadata: { name: "team" } });
    await stage.client.create(configMap("a", {}, "team"));
    assert.deepEqual([...(stage.entry(configMap("a", {}, "team"))?.approximate ?? [])], ["new-namespace"]);
    assert.deepEqual(stage.sent, ["create"]);
  });

  test("objects in a live namespace that the preview changes are judged by the live server", async () => {
    await using stage = overlayStage(base.client);
    const labels = { a: "b" };
    await stage.client.patch({ apiVersion: "v1", kind: "Namespace", name: "default" }, { metadata: { labels } }, merge);
    await stage.client.create(configMap("a"));
    assert.deepEqual([...(stage.entry(configMap("a"))?.approximate ?? [])], []);
    assert.deepEqual(stage.sent, ["patch", "create"]);
  });
});

describe("refusals", () => {
  const denied = forbidden(resource, "one", 'User "u" cannot patch resource "configmaps"');
  const write = { ...manager, force: true };

  test("missing rights of the user do not refuse a write of a controller; the first text is kept", async () => {
    await using stage = overlayStage(base.client);
    stage.refusal = denied;
    await stage.client.apply(configMap("one", { text: "new" }), write);
    stage.refusal = forbidden(resource, "two", "another reason");
    await stage.client.apply(configMap("two", { text: "new" }), write);
    const entry = stage.entry(configMap("one"));
    assert.deepEqual([entry?.refusal, [...(entry?.approximate ?? [])]], [undefined, ["forbidden"]]);
    assert.deepEqual((await stage.overlay.get(type, key("one")))?.["data"], { text: "new" });
    assert.deepEqual([...stage.overlay.unjudged], [["forbidden", denied.message]]);
  });

  test("with the rights of controllers, missing rights refuse the write", async () => {
    await using stage = overlayStage(base.client, { hasControllerRights: true });
    stage.refusal = denied;
    await assert.rejects(stage.client.apply(configMap("one", { text: "new" }), write), { message: denied.message });
    const entry = stage.entry(configMap("one"));
    assert.deepEqual(entry?.refusal, { text: denied.message, isInvalid: false });
    assert.deepEqual(entry?.writers, [stage.writer]);
    assert.deepEqual([entry?.isChanged, stage.changes], [false, []]);
  });

  test("with the rights of controllers, what only the preview writes needs no rights", async () => {
    await using stage = overlayStage(base.client, { hasControllerRights: true });
    stage.refusal = denied;
    await stage.client.apply(configMap("one", { text: "new" }), { fieldManager: previewManager, force: true });
    const entry = stage.entry(configMap("one"));
    assert.deepEqual([entry?.refusal, entry?.approximate.size, stage.overlay.unjudged.size], [undefined, 0, 0]);
    assert.deepEqual((await stage.overlay.get(type, key("one")))?.["data"], { text: "new" });
  });

  for (const text of ["exceeded quota: q, requested: pods=1", 'admission webhook "w" denied the request: no']) {
    test(`a refusal that is not about rights counts for every user: ${text}`, async () => {
      await using stage = overlayStage(base.client);
      stage.refusal = forbidden(resource, "one", text);
      await assert.rejects(stage.client.apply(configMap("one", { text: "new" }), write));
      assert.equal(stage.entry(configMap("one"))?.refusal?.isInvalid, false);
      assert.equal(stage.overlay.unjudged.size, 0);
    });
  }

  test("a webhook that refuses dry runs leaves the judgment to the local server", async () => {
    await using stage = overlayStage(base.client);
    stage.refusal = new Error("admission webhook w does not support dry run");
    await stage.client.apply(configMap("one", { text: "new" }), write);
    assert.deepEqual([...(stage.entry(configMap("one"))?.approximate ?? [])], ["no-dry-run"]);
    assert.deepEqual([...stage.overlay.unjudged.keys()], ["no-dry-run"]);
  });

  test("an invalid object is refused as such; the next good write clears that", async () => {
    await using stage = overlayStage(base.client);
    const error = invalid({ group: "", kind: "ConfigMap" }, "one", []);
    stage.refusal = error;
    await assert.rejects(stage.client.apply(configMap("one", { text: "bad" }), write), error);
    assert.deepEqual(stage.entry(configMap("one"))?.refusal, { text: error.message, isInvalid: true });
    assert.deepEqual((await stage.overlay.get(type, key("one")))?.["data"], { text: "old" });
    await stage.client.apply(configMap("one", { text: "good" }), write);
    assert.equal(stage.entry(configMap("one"))?.refusal, undefined);
    assert.deepEqual(
      stage.sent,
      ["apply", "apply"],
      "a refused write changes nothing: the live server judges the next",
    );
  });
});

describe("objects that are stored and removed directly", () => {
  test("an object that is being deleted without finalizers is gone", async () => {
    await using stage = overlayStage(base.client);
    const live = (await stage.overlay.get(type, key("one"))) ?? assert.fail("absent");
    const ending = { ...live.metadata, deletionTimestamp: "2024-01-01T00:00:00Z" };
    const held = await stage.overlay.store(live, {
      ...live,
      metadata: { ...ending, finalizers: ["example.org/wait"] },
    });
    assert.deepEqual(held?.metadata.finalizers, ["example.org/wait"]);
    assert.equal(await stage.overlay.store(live, { ...live, metadata: { ...ending, finalizers: [] } }), undefined);
    assert.equal(await stage.overlay.get(type, key("one")), undefined);
    assert.deepEqual(stage.changes, ["updated one", "deleted one"]);
  });

  test("a status leaves the object unchanged otherwise", async () => {
    await using stage = overlayStage(base.client);
    const live = (await stage.overlay.get(type, key("one"))) ?? assert.fail("absent");
    await stage.overlay.store(live, { ...live, status: { a: 1 } }, true);
    assert.equal(stage.entry(live)?.isChanged, false);
    await stage.overlay.store(live, { ...live, data: {} });
    assert.equal(stage.entry(live)?.isChanged, true);
  });

  test("an object without an entry is not removed", async () => {
    await using stage = overlayStage(base.client);
    const { version } = stage.overlay;
    stage.overlay.remove(configMap("one"));
    assert.deepEqual([stage.changes, stage.overlay.version], [[], version]);
    await stage.overlay.touch(configMap("one"));
    stage.overlay.remove(configMap("one"));
    stage.overlay.remove(configMap("one"));
    assert.deepEqual([stage.changes, stage.overlay.version], [["deleted one"], version + 1]);
    assert.deepEqual(stage.overlay.written(type), []);
  });

  test("an entry of an object that does not exist has neither form", async () => {
    await using stage = overlayStage(base.client);
    const { before, now } = await stage.overlay.touch(configMap("none"));
    assert.deepEqual([before, now], [undefined, undefined]);
    const unknown = await stage.overlay.touch({ apiVersion: "example.org/v1", kind: "Lost", metadata: { name: "a" } });
    assert.equal(unknown.before, undefined);
  });
});
