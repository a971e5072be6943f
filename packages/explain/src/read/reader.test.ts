// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { KubeReader } from "@purlin/kube-client";
import type { KubeObject } from "@purlin/kube-objects/object";
import { app, made, memoryClient } from "../../test/memory-inspection.ts";
import { Reader, textOfRef } from "./reader.ts";

const appRef = (name: string) => ({ apiVersion: "example.org/v1", kind: "App", name, namespace: "default" });
const appType = { apiVersion: "example.org/v1", kind: "App" };
const failing = (error: unknown): Pick<KubeReader, "get" | "list"> => ({
  get: async () => {
    throw error;
  },
  list: async () => {
    throw error;
  },
});

describe("objects", () => {
  test("the state of a read distinguishes a missing object from a missing kind", async () => {
    const reader = new Reader({ client: memoryClient([app("web")]) });
    assert.deepEqual(await reader.read(appRef("web")), { state: "found", object: app("web") });
    assert.deepEqual(await reader.read(appRef("db")), { state: "missing", isKindServed: true });
    const lost = { apiVersion: "lost.example.org/v1", kind: "Lost", name: "a" };
    assert.deepEqual(await reader.read(lost), { state: "missing", isKindServed: false });
    assert.deepEqual(reader.notRead, []);
    assert.equal(await reader.find(appRef("db")), undefined);
    assert.deepEqual(await reader.find(appRef("web")), app("web"));
  });

  test("an object is read once, also by two readers at the same time", async () => {
    const client = memoryClient([app("web")]);
    const reader = new Reader({ client });
    await Promise.all([reader.read(appRef("web")), reader.find(appRef("web"))]);
    await reader.read(appRef("web"));
    assert.deepEqual(client.requests, ["get App default/web"]);
    assert.equal(reader.requests, 1);
  });

  test("an added object is not read", async () => {
    const client = memoryClient([]);
    const reader = new Reader({ client });
    const newer = app("web", { replicas: 2 });
    reader.add(newer);
    assert.equal(await reader.find(appRef("web")), newer);
    assert.deepEqual(client.requests, []);
  });

  test("objects of equal names in different namespaces, kinds or versions are different", () => {
    const refs = [
      appRef("a"),
      { ...appRef("a"), namespace: "team" },
      { ...appRef("a"), namespace: undefined },
      { ...appRef("a"), kind: "Apps" },
      { ...appRef("a"), apiVersion: "example.org/v2" },
    ];
    assert.equal(new Set(refs.map(textOfRef)).size, refs.length);
    assert.equal(textOfRef(appRef("a")), "example.org/v1/App default/a");
  });
});

describe("lists", () => {
  test("a list is read once for each selection", async () => {
    const client = memoryClient([app("a", {}, { labels: { tier: "gold" } }), app("b")]);
    const reader = new Reader({ client });
    assert.equal((await reader.list(appType))?.length, 2);
    assert.equal((await reader.list(appType))?.length, 2);
    assert.equal((await reader.list(appType, { labelSelector: "tier=gold" }))?.length, 1);
    assert.deepEqual(client.requests, ["list App", "list App"]);
  });

  test("a kind that is not served has no objects; one that may not be read has unknown ones", async () => {
    const reader = new Reader({ client: memoryClient([], { denied: ["Secret"] }) });
    assert.deepEqual(await reader.list(appType), []);
    assert.equal(await reader.list({ apiVersion: "v1", kind: "Secret" }), undefined);
    assert.deepEqual(reader.notRead, ["Secret objects: forbidden"]);
  });
});

describe("reads by list", () => {
  test("all objects of a kind are one request", async () => {
    const client = memoryClient([app("a"), app("b")]);
    const reader = new Reader({ client, byList: true });
    assert.deepEqual(await reader.find(appRef("a")), app("a"));
    assert.deepEqual(await reader.find(appRef("b")), app("b"));
    assert.deepEqual(await reader.read(appRef("c")), { state: "missing", isKindServed: true });
    assert.deepEqual(client.requests, ["list App"]);
  });

  test("an empty list does not show whether the kind is served, so one object is read", async () => {
    const client = memoryClient([], { served: ["App"] });
    const reader = new Reader({ client, byList: true });
    assert.deepEqual(await reader.read(appRef("a")), { state: "missing", isKindServed: true });
    assert.deepEqual(await reader.read({ ...appRef("a"), kind: "Lost" }), { state: "missing", isKindServed: false });
    assert.deepEqual(client.requests, ["list App", "get App default/a", "list Lost", "get Lost default/a"]);
  });

  test("objects of a kind that may not be listed are unread", async () => {
    const reader = new Reader({ client: memoryClient([], { denied: ["App"] }), byList: true });
    assert.deepEqual(await reader.read(appRef("a")), { state: "unread" });
  });
});

describe("events", () => {
  const event = (name: string, uid: string): KubeObject =>
    made("v1/Event", `default/${name}`, { involvedObject: { uid } });
  const events = [event("one", "uid-web"), event("two", "uid-db"), event("three", "uid-web")];
  const namesOf = (all: readonly KubeObject[]): (string | undefined)[] => all.map(({ metadata }) => metadata.name);

  test("the events of an object are selected by its uid, in its namespace", async () => {
    const client = memoryClient([...events, made("v1/Event", "team/four", { involvedObject: { uid: "uid-web" } })]);
    assert.deepEqual(namesOf(await new Reader({ client }).eventsOf(app("web"))), ["one", "three"]);
  });

  test("events of cluster-scoped objects are in the namespace default", async () => {
    const wide = made("example.org/v1/XShop", "db");
    assert.deepEqual(namesOf(await new Reader({ client: memoryClient(events) }).eventsOf(wide)), ["two"]);
  });

  test("by list, one request reads the events of all objects", async () => {
    const client = memoryClient(events);
    const reader = new Reader({ client, byList: true });
    assert.deepEqual(namesOf(await reader.eventsOf(app("web"))), ["one", "three"]);
    assert.deepEqual(namesOf(await reader.eventsOf(app("db"))), ["two"]);
    assert.deepEqual(namesOf(await reader.eventsOf(app("none"))), []);
    assert.deepEqual(client.requests, ["list Event"]);
  });

  test("events that may not be read are left out", async () => {
    for (const byList of [true, false]) {
      const reader = new Reader({ client: memoryClient([], { denied: ["Event"] }), byList });
      assert.deepEqual(await reader.eventsOf(app("web")), []);
      assert.deepEqual(reader.notRead, ["Event objects: forbidden"]);
    }
  });
});

describe("limits", () => {
  for (const [limit, expected] of [
    [1, ["App objects: the limit of 1 requests is reached"]],
    [2, []],
    [3, []],
  ] as const) {
    test(`two reads with a limit of ${limit} requests`, async () => {
      const client = memoryClient([app("a"), app("b")]);
      const reader = new Reader({ client, budget: { requests: limit } });
      await reader.read(appRef("a"));
      await reader.read(appRef("b"));
      assert.deepEqual(reader.notRead, expected);
      assert.equal(client.requests.length, Math.min(limit, 2));
    });
  }

  test("what is not read is one sorted line each, however often it was wanted", async () => {
    const reader = new Reader({ client: memoryClient([], { denied: ["App", "Pod", "Event"] }) });
    for (const kind of ["Pod", "App", "Event", "Pod"])
      await reader.list({ apiVersion: "v1", kind }, { namespace: kind });
    await reader.read(appRef("a"));
    assert.deepEqual(reader.notRead, ["App objects: forbidden", "Event objects: forbidden", "Pod objects: forbidden"]);
  });

  test("any other error is shown with its text", async () => {
    const reader = new Reader({ client: failing(new Error("connect ECONNREFUSED 127.0.0.1:6443")) });
    assert.deepEqual(await reader.read(appRef("a")), { state: "unread" });
    assert.equal(await reader.list(appType), undefined);
    assert.deepEqual(reader.notRead, ["App objects: connect ECONNREFUSED 127.0.0.1:6443"]);
  });

  test("a request that takes too long is a timeout", async () => {
    const client: Pick<KubeReader, "get" | "list"> = {
      ...failing(undefined),
      get: (_, __, options) =>
        new Promise((_, reject) => options?.signal?.addEventListener("abort", () => reject(new Error("aborted")))),
    };
    for (const budget of [{ requestMs: 1 }, { totalMs: 1 }]) {
      const reader = new Reader({ client, budget });
      assert.deepEqual(await reader.read(appRef("a")), { state: "unread" });
      assert.deepEqual(reader.notRead, ["App objects: timeout"]);
    }
  });

  test("a reader that is stopped throws the reason of the stop", async () => {
    const reason = new Error("interrupted");
    const reader = new Reader({ client: failing(new Error("any")), signal: AbortSignal.abort(reason) });
    await assert.rejects(reader.read(appRef("a")), reason);
  });
});
