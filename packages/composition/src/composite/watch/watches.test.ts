// SPDX-License-Identifier: Apache-2.0

import assert from "node:assert/strict";
import { test } from "node:test";
import { finish, silentLog } from "@purlin/base";
import { manualClock } from "@purlin/base/testing";
import { create, MatchLabels, ResourceSelector } from "@purlin/function-protocol";
import type { CacheChange } from "@purlin/kube-client";
import { noEvents, type WatchSpec } from "@purlin/kube-controller";
import { type KubeObject, keyText } from "@purlin/kube-objects/object";
import { type CompositeState, createCompositeState } from "../composite-state.ts";
import type { CompositeDeps } from "../context.ts";
import { baseWatches, watchOn } from "./watches.ts";

const kind = { definition: "caches.e", type: { apiVersion: "e/v1", kind: "Cache" }, schema: "modern" } as const;
const one = { name: "one" };

function start(): {
  state: CompositeState;
  watches: readonly WatchSpec[];
  keys: (type: string, change: CacheChange) => string[];
} {
  const deps = {
    kind,
    events: noEvents,
    engine: { enqueue() {}, startWatches: async () => {}, stopWatches: async () => {}, watchesOf: () => [] },
    clock: manualClock(),
    log: silentLog,
  } as unknown as CompositeDeps;
  const state = createCompositeState(deps);
  const watches = [...baseWatches(kind, state), watchOn({ apiVersion: "v1", kind: "ConfigMap" }, state)];
  const keys = (type: string, change: CacheChange): string[] => {
    const found = watches.find((watch) => watch.type === type);
    return [...(found?.keys(change) ?? [])].filter((key) => key !== undefined).map(keyText);
  };
  return { state, watches, keys };
}

const map = (name: string, labels: Record<string, string> = {}, more: KubeObject["metadata"] = {}): KubeObject => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, namespace: "ns", labels, ...more },
});
const xr = (name: string, composition: string, more: KubeObject["metadata"] = {}): KubeObject => ({
  apiVersion: "e/v1",
  kind: "Cache",
  metadata: { name, ...more },
  spec: { crossplane: { compositionRef: { name: composition } } },
});
const revision = (composition: string, type = kind.type): KubeObject => ({
  apiVersion: "apiextensions.crossplane.io/v1",
  kind: "CompositionRevision",
  metadata: { name: `${composition}-1`, labels: { "crossplane.io/composition-name": composition } },
  spec: { compositeTypeRef: type },
});

test("every kind of change of a composed object leads to its XR", () => {
  const { state, keys } = start();
  finish(state.tracker.record(one, { composed: [map("a")], requirements: [] }));
  assert.deepEqual(keys("Dependency", { type: "added", object: map("a") }), ["one"]);
  assert.deepEqual(keys("Dependency", { type: "updated", object: map("a"), previous: map("a") }), ["one"]);
  assert.deepEqual(keys("Dependency", { type: "deleted", object: map("a") }), ["one"]);
  assert.deepEqual(keys("Dependency", { type: "added", object: map("b") }), []);
});

test("XRs whose selectors have very many labels are looked for in parts", () => {
  const { state } = start();
  const labels = new Map(Array.from({ length: 1000 }, (_, i) => [`l${i}`, "x"]));
  for (let xr = 0; xr < 30; xr++) {
    const value = create(MatchLabels, { labels: new Map([...labels, ["z", `${xr}`]]) });
    const match = { case: "matchLabels", value } as const;
    const selector = create(ResourceSelector, { apiVersion: "v1", kind: "ConfigMap", match });
    finish(
      state.tracker.record({ name: `${xr}` }, { composed: [], requirements: [{ step: "s", name: "r", selector }] }),
    );
  }
  const object = map("a", { ...Object.fromEntries(labels), z: "5" });
  const found = [...watchOn({ apiVersion: "v1", kind: "ConfigMap" }, state).keys({ type: "added", object })];
  assert.deepEqual(found.filter((key) => key !== undefined).map(keyText), ["5"]);
  assert.ok(found.length > 5, `${found.length} parts`);
});

test("a definition that changes is looked at again while its server has not published it", () => {
  const { state } = start();
  const watch = watchOn({ apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition" }, state);
  const crd = (generation: number): KubeObject => ({
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: "things.x.org", generation },
    spec: { group: "x.org", names: { kind: "Thing" }, versions: [{ name: "v1" }] },
  });
  const schemas = [{ apiVersion: "x.org/v1", kind: "Thing" }];
  finish(state.tracker.record(one, { composed: [], requirements: [], schemas }));
  const woken = (change: CacheChange): string[] =>
    [...watch.keys(change)].filter((key) => key !== undefined).map(keyText);
  assert.deepEqual(woken({ type: "updated", object: crd(1), previous: crd(1) }), ["one"]);
  assert.equal(state.settling.lookAgainMs(one), undefined, "a change of its status alone starts no reconcile");
  assert.deepEqual(woken({ type: "updated", object: crd(2), previous: crd(1) }), ["one"]);
  assert.equal(state.settling.lookAgainMs(one), 6000);
});

test("an update that concerns an XR before and after weighs two", () => {
  const { state, keys } = start();
  finish(state.tracker.record(one, { composed: [map("a")], requirements: [] }));
  const update: CacheChange = { type: "updated", object: map("a"), previous: map("a") };
  const woken = Array.from({ length: 60 }, () => keys("Dependency", update).length).reduce((a, b) => a + b);
  assert.equal(woken, 51, "a burst of 100, two at a time, and the one that opens it");
  assert.equal(state.breaker.state(one).open, true);
});

test("what is being deleted is delivered all the same", () => {
  const { state, keys } = start();
  finish(state.tracker.record(one, { composed: [map("a")], requirements: [] }));
  const update: CacheChange = { type: "updated", object: map("a"), previous: map("a") };
  for (let i = 0; i < 60; i++) keys("Dependency", update);
  assert.deepEqual(keys("Dependency", update), []);
  const going = map("a", {}, { deletionTimestamp: "2026-01-01T00:00:00Z" });
  assert.deepEqual(keys("Dependency", { type: "updated", object: going, previous: map("a") }), ["one"]);
});

test("an XR that goes takes its breaker along", () => {
  const { state, keys } = start();
  for (let i = 0; i < 120; i++) state.breaker.admit(one, map("noisy"), 1);
  const going = xr("one", "c", { deletionTimestamp: "2026-01-01T00:00:00Z" });
  assert.deepEqual(keys("CompositeResource", { type: "updated", object: going, previous: xr("one", "c") }), ["one"]);
  assert.equal(state.breaker.state(one).open, false);
});

test("a revision wakes the followers of its Composition, if it is for their kind", () => {
  const { keys } = start();
  for (const [name, composition] of [
    ["one", "c"],
    ["two", "c"],
    ["three", "d"],
  ] as const) {
    keys("CompositeResource", { type: "added", object: xr(name, composition) });
  }
  assert.deepEqual(keys("CompositionRevision", { type: "added", object: revision("c") }).sort(), ["one", "two"]);
  const other = revision("c", { apiVersion: "e/v2" as "e/v1", kind: "Cache" });
  assert.deepEqual(keys("CompositionRevision", { type: "added", object: other }), []);
  keys("CompositeResource", { type: "deleted", object: xr("one", "c") });
  assert.deepEqual(keys("CompositionRevision", { type: "updated", object: revision("c"), previous: revision("c") }), [
    "two",
  ]);
});

test("a pass that runs is not woken by its own writes, and is by those of others", () => {
  const { state, keys } = start();
  const before = xr("one", "c", { resourceVersion: "1" });
  const ours = xr("one", "c", { resourceVersion: "2" });
  const theirs = xr("one", "c", { resourceVersion: "3" });
  state.selfUpdates.begin(one);
  assert.deepEqual(keys("CompositeResource", { type: "updated", object: ours, previous: before }), []);
  assert.deepEqual(keys("CompositeResource", { type: "updated", object: theirs, previous: ours }), []);
  state.selfUpdates.expect(ours);
  assert.deepEqual(
    state.selfUpdates.end(one).map(({ object }) => object.metadata.resourceVersion),
    ["3"],
  );
});

test("the XRs that one change wakes are woken in parts", () => {
  const { state, watches } = start();
  const names = Array.from({ length: 10_000 }, (_, i) => `x${i}`);
  for (const name of names) {
    finish(state.tracker.record({ name }, { composed: [map("shared")], requirements: [] }));
    state.users.note({ type: "added", object: xr(name, "c") });
  }
  for (const [type, object] of [
    ["Dependency", map("shared")],
    ["CompositionRevision", revision("c")],
  ] as const) {
    const keys = [...(watches.find((watch) => watch.type === type)?.keys({ type: "added", object }) ?? [])];
    const woken = keys.filter((key) => key !== undefined).map(keyText);
    assert.deepEqual(woken.sort(), names.toSorted());
    assert.ok(keys.length - woken.length >= 30, `${keys.length - woken.length} parts`);
  }
});
