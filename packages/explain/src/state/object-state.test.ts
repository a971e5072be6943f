// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { KubeObject } from "@purlin/kube-objects/object";
import { composedState, compositeState } from "./object-state.ts";

type Row = readonly [type: string, status: string, reason?: string, message?: string];

function objectWith(conditions: readonly Row[], metadata: object = {}): KubeObject {
  return {
    apiVersion: "example.org/v1",
    kind: "X",
    metadata: { name: "a", ...metadata },
    status: {
      conditions: conditions.map(([type, status, reason, message]) => ({
        type,
        status,
        ...(reason !== undefined && { reason }),
        ...(message !== undefined && { message }),
      })),
    },
  };
}

const deleting = { deletionTimestamp: "2026-01-01T00:00:00Z" };
const synced: Row = ["Synced", "True", "ReconcileSuccess"];

const composites: Record<string, { readonly object: KubeObject; readonly expected: string; readonly why: string }> = {
  New: {
    object: objectWith([]),
    expected: "waiting Waiting: not reconciled yet",
    why: "no conditions",
  },
  Ready: { object: objectWith([["Ready", "True"], synced]), expected: "ready Ready", why: "both are true" },
  ReadyAlone: {
    object: objectWith([["Ready", "True"]]),
    expected: "waiting Waiting: not reconciled yet",
    why: "whether it was synced is not known",
  },
  OwnConditions: {
    object: objectWith([synced, ["Ready", "True"], ["Responsive", "True"], ["Backed", "True"]]),
    expected: "ready Ready, Backed",
    why: "conditions that every composite resource has are not listed",
  },
  Creating: {
    object: objectWith([synced, ["Ready", "False", "Creating", "Unready resources: a"]]),
    expected: "waiting Waiting: Ready: Creating: Unready resources: a",
    why: "it says what it waits for",
  },
  Failing: {
    object: objectWith([
      ["Synced", "False", "ReconcileError", "one two"],
      ["Ready", "True"],
    ]),
    expected: "failed Failing: Synced: ReconcileError: one two",
    why: "not synced comes first",
  },
  Troubled: {
    object: objectWith([synced, ["Ready", "True"], ["ImageFound", "False", "NotFound", "no"], ["Other", "Unknown"]]),
    expected: "troubled Ready: ImageFound: NotFound: no; Other",
    why: "ready, but its authors have something to say",
  },
  Paused: {
    object: objectWith([["Synced", "False", "ReconcilePaused", "Reconciliation is paused"]]),
    expected: "waiting Paused: Synced: ReconcilePaused: Reconciliation is paused",
    why: "it is being deleted on purpose",
  },
  Deleting: {
    object: objectWith([synced, ["Ready", "False", "Deleting"]], deleting),
    expected: "waiting Deleting: Ready: Deleting",
    why: "it is on its way out",
  },
};
for (const [name, { object, expected, why }] of Object.entries(composites)) {
  test(`how a composite resource is: ${name}`, () => {
    const { health, word, reasons } = compositeState(object);
    assert.equal([`${health} ${word}`, ...(reasons.length > 0 ? [reasons.join("; ")] : [])].join(": "), expected, why);
  });
}

const composed: Record<string, { readonly object: KubeObject | undefined; readonly expected: string }> = {
  Missing: { object: undefined, expected: "waiting Missing does not exist yet" },
  Silent: { object: objectWith([]), expected: "none" },
  Unrelated: { object: objectWith([["Progressing", "False"]]), expected: "none" },
  Ready: { object: objectWith([["Ready", "True"]]), expected: "ready Ready" },
  Available: { object: objectWith([["Available", "True"]]), expected: "ready Available" },
  Unavailable: {
    object: objectWith([["Available", "False", "MinimumReplicasUnavailable", "no replica"]]),
    expected: "waiting Waiting Available: MinimumReplicasUnavailable: no replica",
  },
  ReadyWins: {
    object: objectWith([
      ["Available", "True"],
      ["Ready", "False"],
    ]),
    expected: "waiting Waiting Ready",
  },
  Unsynced: {
    object: objectWith([
      ["Ready", "True"],
      ["Synced", "False", "ReconcileError", "no such bucket"],
    ]),
    expected: "failed Failing Synced: ReconcileError: no such bucket",
  },
  Deleting: { object: objectWith([["Ready", "True"]], deleting), expected: "waiting Deleting" },
};
for (const [name, { object, expected }] of Object.entries(composed)) {
  test(`how a composed resource is: ${name}`, () => {
    const { health, word, reasons } = composedState(object);
    assert.equal([health, word, ...reasons].filter((part) => part !== "").join(" "), expected);
  });
}

test("malformed status.conditions are ignored", () => {
  for (const conditions of ["x", [null, 1, { status: "True" }, { type: 3 }], { type: "Ready" }]) {
    const object: KubeObject = { apiVersion: "v1", kind: "X", metadata: {}, status: { conditions } };
    assert.equal(compositeState(object).word, "Waiting");
  }
});
