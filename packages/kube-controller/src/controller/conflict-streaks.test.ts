// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { conflict } from "@purlin/kube-objects/errors";
import { createConflictStreaks } from "./controller.ts";

const lost = conflict({ group: "", resource: "configmaps" }, "a", "the object has been modified");

test("a streak ends with a success or another failure", () => {
  const streaks = createConflictStreaks();
  const key = { name: "x" };
  const end: readonly (() => void)[] = [() => streaks.ended(key), () => streaks.ended(key, new Error("boom"))];
  for (const reset of end) {
    for (let i = 0; i < 7; i++) {
      assert.equal(streaks.isRace(key, lost), true);
      streaks.ended(key, lost);
    }
    assert.equal(streaks.isRace(key, lost), false);
    assert.equal(streaks.isRace({ name: "y" }, lost), true, "of another object");
    reset();
  }
  assert.equal(streaks.isRace(key, new Error("boom")), false);
});
