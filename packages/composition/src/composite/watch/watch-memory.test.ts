// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { type CacheChange, type KubeObject, keyText, type TypeRef } from "@purlin/kube-client";
import { silentLog, type WatchId } from "@purlin/kube-controller";
import type { JsonObject } from "@purlin/kube-objects";
import { manualClock } from "../../testing/manual-clock.ts";
import { createCompositionUsers } from "./composition-users.ts";
import { createOwnEchoes } from "./own-echoes.ts";
import { createWatchCollection } from "./watch-collection.ts";

function xr(spec: JsonObject, resourceVersion = "1", more: Partial<KubeObject> = {}): KubeObject {
  return { apiVersion: "e/v1", kind: "App", metadata: { name: "x", namespace: "ns", resourceVersion }, spec, ...more };
}
const updated = (previous: KubeObject, object: KubeObject): CacheChange => ({ type: "updated", previous, object });

test("the event of our own status write is no news, once", () => {
  const echoes = createOwnEchoes();
  const before = xr({ a: 1 });
  const written = xr({ a: 1 }, "2", { status: { conditions: [] } });
  echoes.expect(written);
  assert.equal(echoes.isEcho(updated(before, written)), true);
  assert.equal(echoes.isEcho(updated(written, written)), false, "a resync of the same version is one");
});

test("another version, or more than our write, is news", () => {
  const echoes = createOwnEchoes();
  echoes.expect(xr({ a: 2 }, "3"));
  assert.equal(echoes.isEcho(updated(xr({ a: 1 }), xr({ a: 2 }, "2"))), false);
  assert.equal(echoes.isEcho(updated(xr({ a: 1 }), xr({ a: 2 }, "3"))), false, "an edit came with it");
});

test("an XR that came, or went, is news", () => {
  const echoes = createOwnEchoes();
  echoes.expect(xr({}, "2"));
  assert.equal(echoes.isEcho({ type: "added", object: xr({}, "2") }), false);
  assert.equal(echoes.isEcho({ type: "deleted", object: xr({}, "2") }), false);
});

const followers: Readonly<Record<string, { reason: string; spec: JsonObject; want: string[] }>> = {
  Automatic: {
    reason: "case 123: an automatic one follows",
    spec: { compositionRef: { name: "c" }, compositionUpdatePolicy: "Automatic" },
    want: ["ns/x"],
  },
  Unset: { reason: "one without policy follows", spec: { compositionRef: { name: "c" } }, want: ["ns/x"] },
  Manual: {
    reason: "case 123: a pinned one sleeps",
    spec: { compositionRef: { name: "c" }, compositionUpdatePolicy: "Manual" },
    want: [],
  },
  ManualSelector: {
    reason: "case 123, D2: a pinned one with a selector follows",
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
  test(`who follows a Composition, ${name}: ${reason}`, () => {
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

test("cases 119 and 120: after a minute watches on unneeded kinds end, and no others", async () => {
  const { schedule, clock, stopped } = collection(["ConfigMap"]);
  schedule();
  schedule();
  assert.equal(clock.waiting(), 1);
  clock.advance(59_999);
  assert.deepEqual(stopped, []);
  clock.advance(1);
  await Promise.resolve();
  assert.deepEqual([stopped, clock.waiting()], [["Secret"], 0]);
});

test("case 119: a kind that is needed again keeps its watch", async () => {
  const { collect, stopped } = collection(["ConfigMap", "Secret"]);
  await collect();
  assert.deepEqual(stopped, []);
});

test("a controller that has stopped collects nothing", () => {
  const { schedule, close, clock } = collection([]);
  schedule();
  close();
  schedule();
  assert.equal(clock.waiting(), 0);
});
