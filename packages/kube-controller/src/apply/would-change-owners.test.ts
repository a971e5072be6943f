// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { KubeObject } from "@purlin/kube-objects/object";
import { wouldApplyChange } from "./would-change.ts";

const owner = { apiVersion: "e/v1", kind: "App", name: "x", uid: "u1", controller: true, blockOwnerDeletion: true };

function object(ownerReferences: KubeObject["metadata"]["ownerReferences"]): KubeObject {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "cd", ...(ownerReferences && { ownerReferences }) } };
}

function stored(ownerReferences: KubeObject["metadata"]["ownerReferences"]): KubeObject {
  const fieldsV1 = { "f:metadata": { "f:ownerReferences": { 'k:{"uid":"u1"}': {} } } };
  const entry = { manager: "m", operation: "Apply", apiVersion: "v1", fieldsType: "FieldsV1", fieldsV1 };
  const { metadata, ...rest } = object(ownerReferences);
  return { ...rest, metadata: { ...metadata, managedFields: [entry] } };
}

const rows: Readonly<Record<string, { reason: string; current: KubeObject; want: boolean }>> = {
  Same: { reason: "an owner reference is an atomic item of a keyed list", current: stored([owner]), want: false },
  Other: {
    reason: "another owner beside ours is left alone",
    current: stored([{ ...owner, uid: "u2" }, owner]),
    want: false,
  },
  Changed: { reason: "our reference was edited", current: stored([{ ...owner, controller: false }]), want: true },
  Gone: { reason: "our reference was removed", current: stored([]), want: true },
};

for (const [name, { reason, current, want }] of Object.entries(rows)) {
  test(`applying an owner reference again, ${name}: ${reason}`, () => {
    assert.equal(wouldApplyChange(current, object([owner]), { fieldManager: "m" }), want);
  });
}
