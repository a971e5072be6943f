// SPDX-License-Identifier: Apache-2.0
// Which composite resources a rollout wakes and when; which rollout has a target; and clocks that jump.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { RolloutView } from "@purlin/function-runner";
import type { KubeObject } from "@purlin/kube-objects/object";
import { plan } from "../test/memory-cluster.ts";
import type { CompositeRow } from "./composites.ts";
import { conflict, createClaims, createMover, rivalOf, targets } from "./mover.ts";
import { createJumpDetector, createOutageWatch, type ShadowSource } from "./observe.ts";
import { type RolloutState, readState } from "./state.ts";

const frozen = [{ name: "f", stable: "f-1", candidate: "f-2" }];
const stateOf = (more: Partial<RolloutState> = {}): RolloutState => ({
  ...readState({}),
  phase: "Progressing",
  frozen,
  ...more,
});

describe("waking", () => {
  const row = (uid: string, more: Partial<CompositeRow> = {}): CompositeRow =>
    ({
      object: { metadata: { labels: {} } },
      uid,
      key: { name: uid },
      controller: "c",
      bucket: 0,
      isMovable: true,
      isSynced: true,
      isOnCandidate: false,
      isObserved: false,
      ...more,
    }) as unknown as CompositeRow;

  function mover() {
    let now = 0;
    const woken: string[] = [];
    const made = createMover({
      engine: { enqueue: (controller, key, delay) => void woken.push(`${controller} ${key.name} ${delay}`) },
      monotonic: () => now,
    });
    return { ...made, take: () => woken.splice(0), pass: (ms: number) => (now += ms) };
  }
  const all = stateOf({ threshold: 10_000 });

  test("those on the wrong revision are woken, a hundred a second", () => {
    const { move, take } = mover();
    const rows = [row("a"), row("b"), row("on", { isOnCandidate: true }), row("paused", { isMovable: false })];
    move("r", { rows, state: all, shadow: undefined });
    assert.deepEqual(take(), ["c a 0", "c b 10"]);
    move("s", { rows, state: stateOf({ threshold: 0 }), shadow: undefined });
    assert.deepEqual(take(), ["c on 0"]);
  });

  test("again only after ten seconds, or in another step, or on the way back", () => {
    const { move, take, pass, forget } = mover();
    const rows = [row("a")];
    const moves = (state: RolloutState): number => {
      move("r", { rows, state, shadow: undefined });
      return take().length;
    };
    assert.deepEqual([moves(all), moves(all)], [1, 0]);
    pass(9999);
    assert.equal(moves(all), 0);
    pass(1);
    assert.equal(moves(all), 1);
    assert.equal(moves({ ...all, currentStep: 1 }), 1);
    assert.equal(moves({ ...all, currentStep: 1, phase: "RollingBack" }), 1);
    forget("r");
    assert.equal(moves(all), 1);
  });

  test("the wakes of composite resources that came and went are forgotten when there are 200,000", () => {
    const { move, take, pass } = mover();
    const rowsAt = (first: number, count: number) => Array.from({ length: count }, (_, at) => row(`x${first + at}`));
    const moved = (rows: readonly CompositeRow[]): number => {
      move("r", { rows, state: all, shadow: undefined });
      return take().length;
    };
    assert.equal(moved(rowsAt(0, 200_000)), 200_000);
    assert.equal(moved(rowsAt(0, 1)), 0, "as many as are remembered");
    assert.equal(moved(rowsAt(200_000, 1)), 1);
    // Without the bound, one that was woken would not be woken again before its time.
    pass(1);
    assert.equal(moved(rowsAt(0, 1)), 1, "one too many: all are forgotten, and woken once more");
    assert.equal(moved(rowsAt(0, 1)), 0);
  });

  test("nothing moves before revisions are frozen", () => {
    const { move, take } = mover();
    move("r", { rows: [row("a")], state: { ...all, frozen: [] }, shadow: undefined });
    assert.deepEqual(take(), []);
  });

  test("those to shadow are woken until they have a report", () => {
    const { move, take } = mover();
    const shadow = { has: (_: string, uid: string) => uid === "seen" } as unknown as ShadowSource;
    const rows = [row("a", { bucket: 99 }), row("seen", { bucket: 99 }), row("out", { bucket: 100 })];
    move("r", { rows, state: stateOf({ shadowThreshold: 100 }), shadow });
    assert.deepEqual(take(), ["c a 0"]);
    move("s", { rows, state: stateOf({ shadowThreshold: 100, phase: "Paused" }), shadow });
    assert.deepEqual(take(), []);
  });

  test("twenty members are woken for gates that lack samples, every three seconds", () => {
    const { move, take, pass } = mover();
    const rows = Array.from({ length: 30 }, (_, index) => row(`m${index}`, { isOnCandidate: true }));
    const gates = [{ name: "g", result: "Unknown", message: "", sample: 0 }] as const;
    const nudge = (): number => {
      move("r", { rows, state: { ...all, gates }, shadow: undefined });
      return take().length;
    };
    assert.deepEqual([nudge(), nudge()], [20, 0]);
    pass(3000);
    assert.equal(nudge(), 1, "each three seconds after it was woken");
    pass(190);
    assert.equal(nudge(), 19);
    move("r", { rows, state: { ...all, gates: [] }, shadow: undefined });
    assert.deepEqual(take(), []);
  });

  test("when a rollout is deleted, those on the candidate are woken, each time", () => {
    const { wake, take } = mover();
    for (let time = 0; time < 2; time++) {
      wake("r", [row("a", { isOnCandidate: true }), row("b")]);
      assert.deepEqual(take(), ["c a 0"]);
    }
  });
});

describe("rivals", () => {
  const functions = plan({ functionRefs: [{ name: "f" }] });
  const composition = { ...functions, functions: [], composition: "apps" };
  const view = (name: string, more: Partial<RolloutView> = {}): RolloutView => ({
    uid: name,
    name,
    created: "2026-01-01T00:00:00Z",
    phase: "Pending",
    targets: { functions: ["f"], composition: undefined },
    functions: new Map(),
    compositionLabels: {},
    cohorts: [],
    threshold: 0,
    shadowThreshold: 0,
    ...more,
  });
  const started = { functions: new Map([["f", { stable: "f-1", candidate: "f-2" }]]) } as Partial<RolloutView>;

  test("have a Function, or the Composition, in common", () => {
    assert.equal(targets(functions, { functions: ["e", "f"], composition: undefined }), true);
    assert.equal(targets(functions, { functions: ["e"], composition: "apps" }), false);
    assert.equal(targets(composition, { functions: [], composition: "apps" }), true);
    assert.equal(targets(composition, { functions: ["f"], composition: "other" }), false);
  });

  test("one that has revisions comes first, then the older one, then the first by name", () => {
    const first = (own: RolloutView, other: RolloutView): string | undefined => rivalOf(own, [other], functions)?.name;
    assert.equal(first(view("b"), view("a")), "a");
    assert.equal(first(view("a"), view("b")), undefined);
    assert.equal(first(view("a"), view("b", { created: "2025-01-01T00:00:00Z" })), "b");
    assert.equal(first(view("a", { created: "2025-01-01T00:00:00Z" }), view("b", started)), "b");
    assert.equal(first(view("b", started), view("a")), undefined);
  });

  test("rollouts that have ended are not rivals", () => {
    assert.equal(rivalOf(view("b"), [view("a", { phase: "Succeeded" })], functions), undefined);
  });

  test("the conflict names the other rollout and the target", () => {
    assert.deepEqual(conflict("first", functions), {
      reason: "Conflict",
      message:
        'FunctionRollout "first" came first for a Function of this rollout: this one waits until that one has ended or is deleted',
    });
    const of = conflict("first", composition);
    assert.match("message" in of ? of.message : "", /came first for Composition "apps": /);
  });

  test("a claim lasts while the rollout moves something", () => {
    const claims = createClaims();
    const holder = (): string | undefined => claims.holder("b", functions);
    claims.settle("a", functions, stateOf());
    assert.deepEqual([holder(), claims.holder("a", functions)], ["a", undefined]);
    for (const state of [stateOf({ phase: "Succeeded" }), stateOf({ frozen: [] }), stateOf({ reason: "Conflict" })]) {
      claims.settle("a", functions, stateOf());
      claims.settle("a", functions, state);
      assert.equal(holder(), undefined);
    }
    claims.settle("a", functions, stateOf({ reason: "Conflict", startedAt: 1 }));
    assert.equal(holder(), "a", "one that has started keeps its targets");
    claims.release("a");
    assert.equal(holder(), undefined);
  });
});

describe("clocks", () => {
  test("a jump of more than two seconds counts, in either direction", () => {
    let [wall, steady] = [1_000_000, 0];
    const jumps = createJumpDetector({ clock: { now: () => wall }, monotonic: () => steady });
    const after = (wallMs: number, steadyMs: number): number => {
      wall += wallMs;
      steady += steadyMs;
      return jumps.sinceLast("r");
    };
    assert.equal(after(0, 0), 0, "the first look");
    assert.equal(after(5000, 5000), 0);
    assert.equal(after(7000, 5000), 0, "two seconds");
    assert.equal(after(7001, 5000), 2001);
    assert.equal(after(-60_000, 1000), -61_000);
    jumps.forget("r");
    assert.equal(after(60_000, 0), 0);
  });

  const revision = (status: string, time = "t1", name = "candidate"): KubeObject => ({
    apiVersion: "pkg.crossplane.io/v1",
    kind: "FunctionRevision",
    metadata: { name },
    status: { conditions: [{ type: "RuntimeHealthy", status, lastTransitionTime: time, message: "exited" }] },
  });

  test("an outage lasts since the first look at it", () => {
    let now = 0;
    const watch = createOutageWatch({ monotonic: () => now });
    const see = (...candidates: readonly (KubeObject | undefined)[]) => {
      const { status, forMs, message } = watch.see("r", { candidates, stables: [] });
      return { status, forMs, message };
    };
    assert.deepEqual(see(revision("True")), { status: "True", forMs: 0, message: "" });
    assert.deepEqual(see(revision("True"), revision("False")), { status: "False", forMs: 0, message: "exited" });
    now = 500;
    assert.equal(see(revision("False")).forMs, 500);
    assert.equal(see(revision("False", "t2")).forMs, 0, "another outage");
    assert.deepEqual(see(undefined), { status: "Unknown", forMs: 0, message: "" });
    assert.deepEqual(see(), { status: "Unknown", forMs: 0, message: "" });
  });

  test("outages of both sides are counted, also those that ended between two looks", () => {
    let now = 0;
    const watch = createOutageWatch({ monotonic: () => now });
    const see = (candidate: KubeObject, stable = revision("True", "t0", "stable")) =>
      watch.see("r", { candidates: [candidate, undefined], stables: [stable] }).outages;
    assert.deepEqual(see(revision("False", "t1"))(9000), { candidate: 0, stable: 0 }, "it starts");
    assert.equal(see(revision("True", "t2"))(9000).candidate, 0, "it is up");
    now = 1000;
    assert.equal(see(revision("False", "t3"))(9000).candidate, 1, "it goes down");
    assert.equal(see(revision("False", "t3"))(9000).candidate, 1, "it is still down");
    assert.equal(see(revision("True", "t4"))(9000).candidate, 1, "it is up again");
    now = 2000;
    assert.equal(see(revision("True", "t5"))(9000).candidate, 2, "down and up since the last look");
    assert.equal(see(revision("False", "t6"))(9000).candidate, 3, "down");
    now = 3000;
    const all = see(revision("False", "t7"), revision("True", "t7", "stable"));
    assert.deepEqual(all(9000), { candidate: 4, stable: 1 }, "up and down since the last look");
    assert.deepEqual(all(1000), { candidate: 3, stable: 1 }, "within a second");
    assert.equal(all(999).candidate, 1);
    for (let at = 8; at < 80; at++) see(revision("True", `t${at}`));
    assert.equal(see(revision("True", "t79"))(9000).candidate, 16, "the last ones are kept");
    watch.forget("r");
    assert.equal(see(revision("False", "t90"))(9000).candidate, 0, "forgotten");
  });

  test("a rollout is watched since the first look", () => {
    let now = 100;
    const watch = createOutageWatch({ monotonic: () => now });
    assert.equal(watch.watchedMs("r"), 0);
    now = 700;
    assert.equal(watch.watchedMs("r"), 600);
    watch.forget("r");
    assert.equal(watch.watchedMs("r"), 0);
  });
});
