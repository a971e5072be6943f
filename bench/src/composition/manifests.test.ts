// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { KubeObject } from "@purlin/kube-objects/object";
import { composition, isReady, pair } from "./manifests.ts";

const saying = (...conditions: readonly object[]): KubeObject =>
  ({ ...pair("a"), status: { conditions } }) as unknown as KubeObject;

test("only a composite resource with a condition Ready that is true is ready", () => {
  const rows: [KubeObject, boolean, string][] = [
    [saying({ type: "Synced", status: "True" }, { type: "Ready", status: "True" }), true, "ready"],
    [saying({ type: "Synced", status: "True" }, { type: "Ready", status: "False" }), false, "it waits"],
    [saying({ type: "Synced", status: "True" }), false, "nothing said yet"],
    [pair("a"), false, "not reconciled yet"],
  ];
  for (const [object, expected, reason] of rows) assert.equal(isReady(object), expected, reason);
});

test("without a TTL the function's input has none", () => {
  assert.match(JSON.stringify(composition(60)), /"ttlSeconds":60/);
  assert.doesNotMatch(JSON.stringify(composition(undefined)), /ttlSeconds/);
});
