// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { testTypes } from "@purlin/kube-builtin/testing";
import type { JsonObject } from "@purlin/kube-objects/json";
import type { ResourceType } from "../registry/registry.ts";
import { blockedConditions, type Remaining } from "./namespace-controller.ts";

const [early, late] = ["2026-11-15T12:00:00Z", "2026-11-15T13:00:00Z"];

function left(resource: string, finalizers: readonly string[], count: number = finalizers.length): Remaining {
  const type = testTypes.find((one) => one.resource === resource) as ResourceType;
  return { type, count, finalizers };
}

const conditionOf = (conditions: readonly JsonObject[], type: string): JsonObject =>
  conditions.find((one) => one["type"] === type) ?? {};

const texts: Record<string, { reason: string; remaining: Remaining[]; content: string; finalizers: string }> = {
  OneKind: {
    reason: "the core group has no name",
    remaining: [left("configmaps", ["example.org/f"])],
    content: "Some resources are remaining: configmaps. has 1 resource instances",
    finalizers: "Some content in the namespace has finalizers remaining: example.org/f in 1 resource instances",
  },
  Sorted: {
    reason: "the text is the same whatever was found first",
    remaining: [left("secrets", ["b", "a"], 1), left("deployments", ["b"]), left("configmaps", ["b"], 3)],
    content:
      "Some resources are remaining: configmaps. has 3 resource instances, deployments.apps has 1 resource instances, secrets. has 1 resource instances",
    finalizers:
      "Some content in the namespace has finalizers remaining: a in 1 resource instances, b in 3 resource instances",
  },
  NoFinalizers: {
    reason: "it may just not be gone yet",
    remaining: [left("pods", [], 2)],
    content: "Some resources are remaining: pods. has 2 resource instances",
    finalizers: "All content-preserving finalizers finished",
  },
};

for (const [name, { reason, remaining, content, finalizers }] of Object.entries(texts)) {
  test(`what keeps a namespace: ${name}`, () => {
    const conditions = blockedConditions(remaining, { before: [], time: early });
    assert.equal(conditionOf(conditions, "NamespaceContentRemaining")["message"], content, reason);
    const waiting = conditionOf(conditions, "NamespaceFinalizersRemaining");
    assert.equal(waiting["message"], finalizers, reason);
    assert.equal(waiting["status"], finalizers.startsWith("Some") ? "True" : "False", reason);
  });
}

test("the time of a condition moves with its status only, so that nothing is written when nothing happens", () => {
  const before = blockedConditions([left("configmaps", ["a"])], { before: [], time: early });
  assert.deepEqual(blockedConditions([left("configmaps", ["a"])], { before: before, time: late }), before);
  const after = blockedConditions([left("configmaps", [], 1)], { before: before, time: late });
  assert.equal(conditionOf(after, "NamespaceContentRemaining")["lastTransitionTime"], early);
  assert.equal(conditionOf(after, "NamespaceFinalizersRemaining")["lastTransitionTime"], late);
  const odd: JsonObject[] = [{ type: "NamespaceContentRemaining", status: "True", lastTransitionTime: 7 }];
  assert.equal(
    conditionOf(blockedConditions([left("pods", ["a"])], { before: odd, time: late }), "NamespaceContentRemaining")[
      "lastTransitionTime"
    ],
    late,
  );
});
