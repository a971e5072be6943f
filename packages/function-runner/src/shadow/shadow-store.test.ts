// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { manualClock } from "@purlin/base/testing";
import type { ShadowClass, ShadowDetail } from "./compare-answers.ts";
import { ShadowStore } from "./shadow-store.ts";

const folder = mkdtempSync(join(tmpdir(), "purlin-shadow-store-"));
after(() => rmSync(folder, { recursive: true }));

const rollout = "rollout";

function detail(uid: string, found: ShadowClass = "none", more: Partial<ShadowDetail> = {}): ShadowDetail {
  return {
    composite: { apiVersion: "example.org/v1", kind: "App", name: `app-${uid}`, uid },
    step: "compose",
    class: found,
    at: "2026-01-01T00:00:00Z",
    durationMs: 1,
    stableMs: 1,
    resources: [],
    differing: 0,
    ...more,
  };
}

const uids = (count: number): string[] => Array.from({ length: count }, (_, index) => `u${index}`);

test("every composite resource counts, also more than 50,000 of them", () => {
  const store = new ShadowStore();
  const all = uids(60_000);
  for (const uid of all) store.add(rollout, detail(uid, uid === "u59999" ? "delete" : "none"));
  const { total, classes } = store.report(rollout);
  assert.deepEqual([total, classes.delete, classes.none], [60_000, 1, 59_999]);
  assert.ok(all.every((uid) => store.has(rollout, uid)));
  assert.deepEqual(
    store.details(rollout).map(({ composite }) => composite.uid),
    ["u59999"],
  );
});

test("a composite resource counts by its worst step, and a newer run replaces an older one", () => {
  const store = new ShadowStore();
  store.add(rollout, detail("1", "delete"));
  store.add(rollout, detail("1", "change", { step: "other" }));
  store.add(rollout, detail("2", "change"));
  const counted = (): readonly number[] => {
    const { total, classes } = store.report(rollout);
    return [total, classes.delete, classes.change, classes.none];
  };
  assert.deepEqual(counted(), [2, 1, 1, 0]);
  store.add(rollout, detail("1", "none"));
  assert.deepEqual(counted(), [2, 0, 2, 0]);
  store.add(rollout, detail("1", "none", { step: "other" }));
  assert.deepEqual(counted(), [2, 0, 1, 1]);
});

test("reports of composite resources and rollouts that are gone do not pile up", () => {
  const store = new ShadowStore();
  for (let generation = 0; generation < 20; generation++) {
    const living = uids(50).map((uid) => ({ uid: `${generation}-${uid}` }));
    for (const { uid } of living) store.add(rollout, detail(uid, "delete"));
    store.retainComposites(rollout, living);
    const { total, classes } = store.report(rollout);
    assert.deepEqual([total, classes.delete, store.details(rollout).length], [50, 50, 50]);
    assert.ok(living.every(({ uid }) => store.has(rollout, uid)));
  }
  for (const uid of uids(100)) store.add(`gone-${uid}`, detail("1"));
  store.retainRollouts([rollout]);
  assert.equal(store.report("gone-u7").total, 0);
  assert.equal(store.report(rollout).total, 50);
});

test("a composite resource that is deleted does not count, also while others are not compared yet", () => {
  const store = new ShadowStore();
  store.add(rollout, detail("gone", "delete"));
  store.add(rollout, detail("1"));
  store.retainComposites(rollout, [{ uid: "1" }, { uid: "2" }, { uid: "3" }]);
  const { total, classes } = store.report(rollout);
  assert.deepEqual([total, classes.delete, store.details(rollout).length], [1, 0, 0]);
});

test("a large store is written in parts: other work runs in between", async () => {
  const file = join(folder, "large.json");
  const clock = manualClock();
  const store = new ShadowStore({ file, clock });
  const fields = [{ path: "data", op: "replace", old: "x".repeat(15_000), new: "y" }] as const;
  const resources = [{ resource: "a", apiVersion: "v1", kind: "ConfigMap", class: "change", fields }] as const;
  for (const uid of uids(1000)) store.add(rollout, detail(uid, "change", { resources }));
  for (const uid of uids(20_000)) store.add(rollout, detail(`n-${uid}`));
  clock.advance(2000);
  let turns = 0;
  for (; !existsSync(file); turns++) await setImmediate();
  assert.ok(turns > 3, `${turns} turns of the event loop`);
  const again = new ShadowStore({ file });
  assert.deepEqual(again.report(rollout), store.report(rollout));
  assert.deepEqual(again.details(rollout), store.details(rollout));
});

test("what comes while the file is written is written next, and closing wins over a write that is under way", async () => {
  const file = join(folder, "busy.json");
  const clock = manualClock();
  const store = new ShadowStore({ file, clock });
  const kept = (): number => new ShadowStore({ file }).report(rollout).total;
  for (const uid of uids(5000)) store.add(rollout, detail(uid));
  clock.advance(2000);
  store.add(rollout, detail("late"));
  while (kept() < 5000) await setImmediate();
  // The clock of the test stands still, so the next write is due after the usual time.
  while (kept() < 5001) {
    clock.advance(2000);
    await setImmediate();
  }
  store.add(rollout, detail("later"));
  clock.advance(2000);
  store.add(rollout, detail("last"));
  store.close();
  assert.equal(kept(), 5003);
  const stored = readFileSync(file, "utf8");
  for (let turn = 0; turn < 200; turn++) await setImmediate();
  assert.equal(readFileSync(file, "utf8"), stored, "the older write does not replace it");
});

test("a clock that jumps while the file is written does not put the next time off for long", async () => {
  const clock = manualClock();
  const store = new ShadowStore({ file: join(folder, "jump.json"), clock });
  store.add(rollout, detail("1"));
  clock.advance(2000);
  store.add(rollout, detail("2"));
  clock.advance(24 * 60 * 60_000);
  // The next write is scheduled when this one is over.
  while (clock.waiting === 0) await setImmediate();
  assert.deepEqual(clock.delays, [60_000]);
  store.close();
});

test("a file of another version is not read", () => {
  const file = join(folder, "version.json");
  const store = new ShadowStore({ file });
  store.add(rollout, detail("1"));
  store.close();
  assert.equal(new ShadowStore({ file }).report(rollout).total, 1);
  writeFileSync(file, readFileSync(file, "utf8").replace('"version":2', '"version":1'));
  assert.equal(new ShadowStore({ file }).report(rollout).total, 0);
});
