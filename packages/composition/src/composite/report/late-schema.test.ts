// SPDX-License-Identifier: Apache-2.0

import assert from "node:assert/strict";
import { test } from "node:test";
import { isSchemaLate } from "./report-result.ts";
import type { StatusRules } from "./status-after.ts";

const rules: StatusRules = { schema: "modern", ownFields: new Set(["crossplane", "lastHandledReconcileAt"]) };
const prefix = "failed to create typed patch object (team-a/one; example.org/v1, Kind=Bucket): ";
const late = "field not declared in schema";

const cases = [
  { why: "a field of ours", text: `${prefix}.status.crossplane: ${late}`, want: true },
  {
    why: "several of ours",
    text: `${prefix}errors:\n  .status.crossplane: ${late}\n  .status.lastHandledReconcileAt: ${late}`,
    want: true,
  },
  { why: "a part of a field of ours", text: `${prefix}.status.crossplane.functionRevisions: ${late}`, want: true },
  { why: "a field that a function made up", text: `${prefix}.status.url: ${late}`, want: false },
  {
    why: "one of ours and one of a function",
    text: `${prefix}errors:\n  .status.crossplane: ${late}\n  .status.url: ${late}`,
    want: false,
  },
  { why: "a field of ours in another place", text: `${prefix}.spec.crossplane: ${late}`, want: false },
  { why: "a field that is the author's here", text: `${prefix}.status.claimConditions: ${late}`, want: false },
  {
    why: "one of ours and one beside the status",
    text: `${prefix}errors:\n  .status.crossplane: ${late}\n  .spec.size: ${late}`,
    want: false,
  },
  { why: "an item of a field of ours", text: `${prefix}.status.crossplane[0].step: ${late}`, want: true },
  // A name a function chose. A search that begins again at each ".status" would take minutes here.
  { why: "a name that never ends", text: `${prefix}${".status".repeat(150_000)}: no`, want: false },
  { why: "anything else", text: "the server is on fire", want: false },
];

for (const { why, text, want } of cases) test(why, () => assert.equal(isSchemaLate(new Error(text), rules), want));
