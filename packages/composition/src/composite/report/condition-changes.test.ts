// SPDX-License-Identifier: Apache-2.0

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Condition } from "@purlin/kube-objects/object";
import { available, reconcileError, reconcileSuccess } from "../../composite-resource/constants.ts";
import type { PipelineCondition } from "../run/step-results.ts";
import { conditionsAfter } from "./status-after.ts";

const old = "2026-01-01T00:00:00Z";
const now = "2026-02-01T00:00:00Z";
const stamp = { time: now, generation: 7 };
const stored = (type: string, more: Partial<Condition> = {}): Condition => ({
  type,
  status: "True",
  reason: "Fine",
  lastTransitionTime: old,
  ...more,
});
const said = (type: string, more: Partial<PipelineCondition> = {}): PipelineCondition => ({
  type,
  status: "True",
  reason: "Fine",
  forClaim: false,
  ...more,
});
const success = { before: [], after: [reconcileSuccess, available], undetermined: false };
const failure = { before: [reconcileError("boom")], after: [], undetermined: true };

test("the controller's own conditions carry the generation, those of functions none", () => {
  const after = conditionsAfter([], { ...success, pipeline: [said("Db")] }, stamp);
  assert.deepEqual(
    after.map(({ type, observedGeneration }) => [type, observedGeneration]),
    [
      ["Db", undefined],
      ["Synced", 7],
      ["Ready", 7],
    ],
  );
});

for (const type of ["Ready", "Synced", "Healthy", "Responsive", "UpToDate"]) {
  test(`a function cannot set ${type}`, () => {
    const after = conditionsAfter([], { before: [], after: [], pipeline: [said(type)], undetermined: false }, stamp);
    assert.deepEqual(after, []);
  });
}

test("a condition not returned by a successful run stays as it is", () => {
  const before = [stored("Db")];
  assert.deepEqual(conditionsAfter(before, { ...success, pipeline: [] }, stamp)[0], before[0]);
});

test("of several with one type the later counts", () => {
  const pipeline = [said("Db", { status: "False" }), said("Db", { status: "Unknown", reason: "Second" })];
  const after = conditionsAfter([], { before: [], after: [], pipeline, undetermined: false }, stamp);
  assert.deepEqual(after, [{ type: "Db", status: "Unknown", reason: "Second", lastTransitionTime: now }]);
});

test("after a failure the others are unknown, with their old time", () => {
  const before = [stored("Db"), stored("Image"), stored("Ready"), stored("Responsive")];
  const after = conditionsAfter(before, { ...failure, pipeline: [said("Image", { status: "False" })] }, stamp);
  assert.deepEqual(after, [
    {
      type: "Db",
      status: "Unknown",
      reason: "FatalError",
      lastTransitionTime: old,
      message: "A fatal error occurred before the status of this condition could be determined.",
      observedGeneration: 7,
    },
    { type: "Image", status: "False", reason: "Fine", lastTransitionTime: now },
    stored("Ready"),
    stored("Responsive"),
    { ...reconcileError("boom"), lastTransitionTime: now, observedGeneration: 7 },
  ]);
});

test("failing again changes nothing", () => {
  const once = conditionsAfter([stored("Db")], { ...failure, pipeline: [] }, stamp);
  assert.deepEqual(conditionsAfter(once, { ...failure, pipeline: [] }, { time: "later", generation: 7 }), once);
});
