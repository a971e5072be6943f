// SPDX-License-Identifier: Apache-2.0

import assert from "node:assert/strict";
import { test } from "node:test";
import { silentLog } from "@purlin/base";
import { createReconciler, noEvents, withConditionTexts } from "@purlin/kube-controller";
import { conditionsOf, type KubeObject, pausedCondition, saysPaused } from "@purlin/kube-objects/object";
import { clearConditions } from "./package-deps.ts";

const clock = { now: () => Date.parse("2026-01-01T00:00:00Z"), schedule: () => () => {} };
const type = { apiVersion: "pkg.crossplane.io/v1", kind: "Function" };

test("an object that is no longer paused loses all its conditions", async () => {
  const texts = [pausedCondition, { type: "Healthy", status: "True", reason: "Fine" } as const];
  let stored: KubeObject = withConditionTexts({ ...type, metadata: { name: "f", generation: 3 } }, texts, clock);
  assert.equal(saysPaused(stored), true);
  const client = {
    get: async () => stored,
    update: async (object: KubeObject) => {
      stored = object;
      return object;
    },
  } as never;
  const reconcile = createReconciler({
    client,
    events: noEvents,
    clock,
    log: silentLog,
    type,
    timeoutMs: 1000,
    async reconcile(context) {
      await clearConditions(context);
      return {};
    },
  });
  await reconcile({ name: "f" }, new AbortController().signal);
  assert.deepEqual(conditionsOf(stored), []);
  assert.equal(saysPaused(stored), false);
});
