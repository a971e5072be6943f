// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject } from "@purlin/kube-objects/json";
import type { ManagedFieldsEntry } from "@purlin/kube-objects/object";
import { correctedStatus, isLeftBehind } from "./status-baseline.ts";

const synced = { type: "Synced", status: "True", reason: "ReconcileSuccess" };
const stale = { ...synced, message: "left behind" };
const theirs = { type: "Theirs", status: "True", reason: "X" };

const rows: Readonly<Record<string, { reason: string; stored: JsonObject; applied: JsonObject; want: JsonObject }>> = {
  Same: {
    reason: "nothing is wrong",
    stored: { conditions: [synced] },
    applied: { conditions: [synced] },
    want: { conditions: [synced] },
  },
  Leftover: {
    reason: "a message that others wrote goes",
    stored: { url: "u", conditions: [stale] },
    applied: { conditions: [synced] },
    want: { url: "u", conditions: [synced] },
  },
  Foreign: {
    reason: "a condition of another writer stays, and the stored order too",
    stored: { conditions: [theirs, stale] },
    applied: { conditions: [synced] },
    want: { conditions: [theirs, synced] },
  },
  Revisions: {
    reason: "a step that did not run goes",
    stored: {
      crossplane: {
        functionRevisions: [
          { step: "a", functionRevision: "1" },
          { step: "b", functionRevision: "1" },
        ],
      },
    },
    applied: { crossplane: { functionRevisions: [{ step: "b", functionRevision: "1" }] } },
    want: { crossplane: { functionRevisions: [{ step: "b", functionRevision: "1" }] } },
  },
  Absent: { reason: "nothing applied is nothing to correct", stored: { url: "u" }, applied: {}, want: { url: "u" } },
};

for (const [name, { reason, stored, applied, want }] of Object.entries(rows)) {
  test(`corrected status, ${name}: ${reason}`, () => assert.deepEqual(correctedStatus(stored, applied), want));
}

const owns = (manager: string, operation: string, field: string, type = "Synced"): ManagedFieldsEntry => ({
  manager,
  operation,
  subresource: "status",
  fieldsV1: { "f:status": { "f:conditions": { [`k:{"type":"${type}"}`]: { [`f:${field}`]: {} } } } },
});
const ours = "apiextensions.crossplane.io/composite";

const leftovers: Readonly<
  Record<string, { reason: string; stored: JsonObject[]; by: ManagedFieldsEntry[]; want: boolean }>
> = {
  Theirs: {
    reason: "an update wrote the message",
    stored: [stale],
    by: [owns("crossplane", "Update", "message")],
    want: true,
  },
  Nobodys: {
    reason: "field ownership was cleared when a controller took over the object",
    stored: [stale],
    by: [owns(ours, "Apply", "status")],
    want: true,
  },
  Unknown: { reason: "no field has an owner", stored: [stale], by: [], want: true },
  Shared: {
    reason: "we applied it and an update wrote it too, so it would stay",
    stored: [stale],
    by: [owns(ours, "Apply", "message"), owns("crossplane", "Update", "message")],
    want: true,
  },
  Ours: {
    reason: "we applied it, so it goes by itself",
    stored: [stale],
    by: [owns(ours, "Apply", "message")],
    want: false,
  },
  Wanted: {
    reason: "they own nothing that is too much",
    stored: [stale],
    by: [owns(ours, "Apply", "message"), owns("crossplane", "Update", "status")],
    want: false,
  },
  Nothing: {
    reason: "there is nothing too much",
    stored: [synced],
    by: [owns("crossplane", "Update", "message")],
    want: false,
  },
  Foreign: {
    reason: "the condition is theirs",
    stored: [theirs],
    by: [owns("other", "Update", "message", "Theirs")],
    want: false,
  },
};

for (const [name, { reason, stored, by, want }] of Object.entries(leftovers)) {
  test(`left behind, ${name}: ${reason}`, () => {
    const xr = { apiVersion: "e/v1", kind: "App", metadata: { managedFields: by }, status: { conditions: stored } };
    assert.equal(isLeftBehind(xr, { conditions: [synced] }), want);
  });
}
