// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject } from "@purlin/kube-objects";
import { correctedStatus } from "./corrected-status.ts";

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
    reason: "a condition of somebody else stays, and the stored order too",
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
