// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { Ready } from "@purlin/function-protocol";
import type { ComposedResource } from "../apply/apply-composed.ts";
import { listed, readinessOf } from "./report-result.ts";

const cd = (name: string, ready = true, synced = true): ComposedResource => ({ name, ready, synced });

const lists: Readonly<Record<string, { names: string[]; want: string }>> = {
  one: { names: ["a"], want: "a" },
  two: { names: ["b", "a"], want: "a, b" },
  three: { names: ["c", "a", "b"], want: "a, b, and c" },
  four: { names: ["elephant", "cow", "cat", "snake"], want: "cat, cow, elephant, and 1 more" },
  many: { names: Array.from({ length: 30 }, (_, i) => `r${i}`), want: "r0, r1, r10, and 27 more" },
};

for (const [name, { names, want }] of Object.entries(lists)) {
  test(`a list of names, ${name}`, () => assert.equal(listed(names), want));
}

interface Row {
  readonly reason: string;
  readonly resources: readonly ComposedResource[];
  readonly composite?: Ready;
  readonly synced: string;
  readonly ready: string;
  readonly settled: boolean;
}

const rows: Readonly<Record<string, Row>> = {
  None: {
    reason: "no resources is ready",
    resources: [],
    synced: "True",
    ready: "True Available",
    settled: true,
  },
  Ready: { reason: "all ready", resources: [cd("a")], synced: "True", ready: "True Available", settled: true },
  Unready: {
    reason: "one is not",
    resources: [cd("a"), cd("b", false)],
    synced: "True",
    ready: "False Creating Unready resources: b",
    settled: false,
  },
  Unsynced: {
    reason: "an invalid one makes the XR unsynced, not unready",
    resources: [cd("a"), cd("b", true, false)],
    synced: "False ReconcileError Unsynced resources: b",
    ready: "True Available",
    settled: false,
  },
  SaysFalse: {
    reason: "the pipeline says the XR is not ready",
    resources: [cd("a")],
    composite: Ready.READY_FALSE,
    synced: "True",
    ready: "False Creating",
    settled: true,
  },
  SaysTrue: {
    reason: "the pipeline says the XR is ready",
    resources: [cd("a", false)],
    composite: Ready.READY_TRUE,
    synced: "True",
    ready: "True Available",
    settled: false,
  },
};

for (const [name, row] of Object.entries(rows)) {
  test(`readiness, ${name}: ${row.reason}`, () => {
    const { conditions, settled } = readinessOf(row.resources, row.composite);
    const texts = conditions.map(({ status, reason, message }) => [status, reason, message].filter(Boolean).join(" "));
    assert.deepEqual(texts, [row.synced === "True" ? "True ReconcileSuccess" : row.synced, row.ready]);
    assert.equal(settled, row.settled);
  });
}

test("every resource that is not valid, then every one that is not ready, gets an event", () => {
  const { events } = readinessOf([cd("a", false, false), cd("b", false)], undefined);
  assert.deepEqual(
    events.map(({ type, reason, message }) => `${type} ${reason} ${message}`),
    [
      'Normal ComposeResources Composed resource "a" is not yet valid',
      'Normal ComposeResources Composed resource "a" is not yet ready',
      'Normal ComposeResources Composed resource "b" is not yet ready',
    ],
  );
});
