// SPDX-License-Identifier: Apache-2.0

import assert from "node:assert/strict";
import { test } from "node:test";
import { silentLog } from "@purlin/base";
import { manualClock } from "@purlin/base/testing";
import type { CacheChange } from "@purlin/kube-client";
import type { WatchId } from "@purlin/kube-controller";
import type { JsonObject } from "@purlin/kube-objects/json";
import { type KubeObject, keyText, type TypeRef } from "@purlin/kube-objects/object";
import { createCompositionUsers } from "../composite-state.ts";
import { createWatchCollection } from "./dependency-tracker.ts";
import { createSelfUpdates, onlyAddedReferences, onlyConditions } from "./self-updates.ts";

function xr(spec: JsonObject, resourceVersion = "1", more: Partial<KubeObject> = {}): KubeObject {
  return { apiVersion: "e/v1", kind: "App", metadata: { name: "x", namespace: "ns", resourceVersion }, spec, ...more };
}
const updated = (previous: KubeObject, object: KubeObject): CacheChange => ({ type: "updated", previous, object });

test("the watch event of an own write starts no reconcile, once", () => {
  const selfUpdates = createSelfUpdates();
  selfUpdates.expect(xr({ a: 1 }, "2"));
  selfUpdates.expect(xr({ a: 1 }, "3"));
  assert.equal(selfUpdates.isNews(updated(xr({}), xr({ a: 1 }, "3"))), false);
  assert.equal(selfUpdates.isNews(updated(xr({}), xr({ a: 1 }, "2"))), false);
  assert.equal(selfUpdates.isNews(updated(xr({}), xr({ a: 1 }, "3"))), true, "a resync of the same version is");
  assert.equal(selfUpdates.isNews(updated(xr({}), xr({ a: 2 }, "4"))), true, "so is another version");
});

test("an XR that came, or went, is news", () => {
  const selfUpdates = createSelfUpdates();
  selfUpdates.expect(xr({}, "2"));
  assert.equal(selfUpdates.isNews({ type: "added", object: xr({}, "2") }), true);
  assert.equal(selfUpdates.isNews({ type: "deleted", object: xr({}, "2") }), true);
  assert.equal(selfUpdates.isNews(updated(xr({}), xr({}, "2"))), true, "nothing is remembered of one that went");
});

test("no more than a few versions are waited for", () => {
  const selfUpdates = createSelfUpdates();
  for (let version = 0; version < 20; version++) selfUpdates.expect(xr({}, String(version)));
  assert.equal(selfUpdates.isNews(updated(xr({}), xr({}, "0"))), true);
  assert.equal(selfUpdates.isNews(updated(xr({}), xr({}, "19"))), false);
});

test("an event that comes before its writer knows of it waits for the end of the pass", () => {
  const selfUpdates = createSelfUpdates();
  const key = { namespace: "ns", name: "x" };
  const foreign = updated(xr({}), xr({ a: 1 }, "9"));
  selfUpdates.begin(key);
  assert.equal(selfUpdates.isNews(updated(xr({}), xr({}, "2"))), false);
  assert.equal(selfUpdates.isNews(foreign), false);
  selfUpdates.expect(xr({}, "2"));
  assert.deepEqual(selfUpdates.end(key), [foreign]);
  assert.equal(selfUpdates.isNews(foreign), true, "nothing waits when no pass runs");
});

test("however often an XR changes while a pass runs, little is kept, and it is woken", () => {
  const selfUpdates = createSelfUpdates();
  const key = { namespace: "ns", name: "x" };
  selfUpdates.begin(key);
  for (let version = 2; version < 1000; version++) selfUpdates.isNews(updated(xr({}), xr({}, String(version))));
  for (const own of [997, 998, 999]) selfUpdates.expect(xr({}, String(own)));
  const news = selfUpdates.end(key);
  assert.equal(news.length, 61);
  assert.equal(news.at(-1)?.object.metadata.resourceVersion, "996");
});

test("of an XR that is gone nothing is waited for", () => {
  const selfUpdates = createSelfUpdates();
  selfUpdates.expect(xr({}, "2"));
  selfUpdates.forget({ namespace: "ns", name: "x" });
  assert.equal(selfUpdates.isNews(updated(xr({}), xr({}, "2"))), true);
});

const [a, b] = ["a", "b"].map((name) => ({ apiVersion: "v1", kind: "ConfigMap", name }));
const refs = (...resourceRefs: unknown[]): JsonObject => ({ crossplane: { resourceRefs } }) as JsonObject;

const references: Readonly<Record<string, { reason: string; before: KubeObject; stored: KubeObject; want: boolean }>> =
  {
    First: {
      reason: "what is made will wake it",
      before: xr({ crossplane: {} }),
      stored: xr(refs(a), "2"),
      want: true,
    },
    Added: { reason: "so will one more", before: xr(refs(a)), stored: xr(refs(a, b), "2"), want: true },
    Removed: { reason: "what went will not", before: xr(refs(a, b)), stored: xr(refs(b), "2"), want: false },
    Edited: {
      reason: "a user edited the spec",
      before: xr({ size: 1 }),
      stored: xr({ size: 2, ...refs(a) }, "2"),
      want: false,
    },
  };

for (const [name, { reason, before, stored, want }] of Object.entries(references)) {
  test(`stored references start no reconcile, ${name}: ${reason}`, () => {
    assert.equal(onlyAddedReferences(before, stored, "modern"), want);
  });
}

const status = (more: JsonObject, spec: JsonObject = {}): KubeObject => xr(spec, "2", { status: more });

const statuses: Readonly<Record<string, { reason: string; before: KubeObject; stored: KubeObject; want: boolean }>> = {
  Conditions: { reason: "conditions are ours", before: status({}), stored: status({ conditions: [] }), want: true },
  Url: {
    reason: "functions may read what functions wrote",
    before: status({}),
    stored: status({ url: "u" }),
    want: false,
  },
  Edited: {
    reason: "a user edited the spec",
    before: status({}),
    stored: status({ conditions: [] }, { a: 1 }),
    want: false,
  },
};

for (const [name, { reason, before, stored, want }] of Object.entries(statuses)) {
  test(`a written status starts no reconcile, ${name}: ${reason}`, () => {
    assert.equal(onlyConditions(before, stored, "modern"), want);
  });
}

const followers: Readonly<Record<string, { reason: string; spec: JsonObject; want: string[] }>> = {
  Automatic: {
    reason: "an automatic one follows",
    spec: { compositionRef: { name: "c" }, compositionUpdatePolicy: "Automatic" },
    want: ["ns/x"],
  },
  Unset: { reason: "one without policy follows", spec: { compositionRef: { name: "c" } }, want: ["ns/x"] },
  Manual: {
    reason: "a pinned one sleeps",
    spec: { compositionRef: { name: "c" }, compositionUpdatePolicy: "Manual" },
    want: [],
  },
  ManualSelector: {
    reason: "a pinned one with a selector follows",
    spec: {
      compositionRef: { name: "c" },
      compositionUpdatePolicy: "Manual",
      compositionRevisionSelector: { matchLabels: {} },
    },
    want: ["ns/x"],
  },
  Other: { reason: "one of another Composition does not", spec: { compositionRef: { name: "d" } }, want: [] },
  None: { reason: "one without Composition does not", spec: {}, want: [] },
};

for (const [name, { reason, spec, want }] of Object.entries(followers)) {
  test(`the XRs that follow a Composition, ${name}: ${reason}`, () => {
    const users = createCompositionUsers("modern");
    users.note({ type: "added", object: xr({ crossplane: spec }) });
    assert.deepEqual([...users.of("c")].map(keyText), want);
  });
}

test("an XR that moves on, or goes, no longer follows", () => {
  const users = createCompositionUsers("legacy");
  const on = (name: string): KubeObject => xr({ compositionRef: { name } });
  users.note({ type: "added", object: on("c") });
  users.note(updated(on("c"), on("d")));
  assert.deepEqual([[...users.of("c")].length, [...users.of("d")].length], [0, 1]);
  users.note({ type: "deleted", object: on("d") });
  assert.deepEqual([...users.of("d")], []);
});

function collection(needed: readonly string[]) {
  const clock = manualClock();
  const stopped: string[] = [];
  const watch = (type: string, kind: string): WatchId => ({ type, object: { apiVersion: "v1", kind } });
  const running = [
    watch("CompositeResource", "App"),
    watch("CompositionRevision", "R"),
    watch("Dependency", "Secret"),
    watch("Dependency", "ConfigMap"),
  ];
  const made = createWatchCollection({
    controller: "composite/x",
    engine: {
      watchesOf: () => running,
      stopWatches: async (_, watches) => void stopped.push(...watches.map(({ object }) => object.kind)),
    },
    tracker: () => ({ isNeeded: ({ kind }: TypeRef) => needed.includes(kind) }),
    clock,
    log: silentLog,
  });
  return { ...made, clock, stopped };
}

test("after a minute watches on unneeded kinds end, and no others", async () => {
  const { schedule, clock, stopped } = collection(["ConfigMap"]);
  schedule();
  schedule();
  assert.equal(clock.waiting, 1);
  clock.advance(59_999);
  assert.deepEqual(stopped, []);
  clock.advance(1);
  await Promise.resolve();
  assert.deepEqual([stopped, clock.waiting], [["Secret"], 0]);
});

test("a kind that is needed again keeps its watch", async () => {
  const { collect, stopped } = collection(["ConfigMap", "Secret"]);
  await collect();
  assert.deepEqual(stopped, []);
});

test("a controller that has stopped collects nothing", () => {
  const { schedule, close, clock } = collection([]);
  schedule();
  close();
  schedule();
  assert.equal(clock.waiting, 0);
});
