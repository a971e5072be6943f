// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { KubeObject } from "@purlin/kube-objects/object";
import {
  carries,
  chooseRevision,
  newestRevision,
  type RevisionChoice,
  type RevisionQuestion,
} from "./select-revision.ts";

const revision = (name: string, labels: Record<string, string> = {}, number = 1, owner = "c"): KubeObject => ({
  apiVersion: "apiextensions.crossplane.io/v1",
  kind: "CompositionRevision",
  metadata: {
    name,
    labels,
    ownerReferences: [{ apiVersion: "a/v1", kind: "Composition", name: "comp", uid: owner, controller: true }],
  },
  spec: { revision: number },
});
const alpha = { channel: "alpha" };
const pinnedAlpha = revision("r1", alpha);
const newest = (matching: Record<string, string>): RevisionChoice => ({ use: "newest", matching });

// The rows of the decision table, in their order.
const rows: Readonly<Record<string, { reason: string; ask: RevisionQuestion; want: RevisionChoice }>> = {
  Automatic: {
    reason: "the newest that carries the selector",
    ask: { policy: "Automatic", selector: alpha, ref: "r1", pinned: pinnedAlpha },
    want: newest(alpha),
  },
  AutomaticBare: {
    reason: "without selector the newest",
    ask: { policy: "Automatic", selector: undefined, ref: "r1" },
    want: newest({}),
  },
  Unset: {
    reason: "no policy ignores the selector",
    ask: { policy: undefined, selector: alpha, ref: undefined },
    want: newest({}),
  },
  UnsetPinned: {
    reason: "no policy ignores the ref",
    ask: { policy: undefined, selector: undefined, ref: "r1" },
    want: newest({}),
  },
  ManualPinned: {
    reason: "the pinned one, whatever else there is",
    ask: { policy: "Manual", selector: undefined, ref: "r1", pinned: pinnedAlpha },
    want: { use: "pinned" },
  },
  ManualFirst: {
    reason: "the newest of all is pinned at first",
    ask: { policy: "Manual", selector: undefined, ref: undefined },
    want: newest({}),
  },
  ManualSelectorFirst: {
    reason: "the newest match is pinned at first",
    ask: { policy: "Manual", selector: alpha, ref: undefined },
    want: newest(alpha),
  },
  ManualSelectorStays: {
    reason: "a pinned one that carries all labels stays",
    ask: { policy: "Manual", selector: alpha, ref: "r1", pinned: pinnedAlpha },
    want: { use: "pinned" },
  },
  ManualSelectorMoves: {
    reason: "a pinned one that lacks a label gives way",
    ask: { policy: "Manual", selector: { ...alpha, more: "x" }, ref: "r1", pinned: pinnedAlpha },
    want: { use: "newest-or-stay", matching: { ...alpha, more: "x" } },
  },
  ManualSelectorGone: {
    reason: "a pinned one that is gone gives way",
    ask: { policy: "Manual", selector: alpha, ref: "r1", pinned: undefined },
    want: { use: "newest-or-stay", matching: alpha },
  },
  ManualEmptySelector: {
    reason: "an empty selector matches everything",
    ask: { policy: "Manual", selector: {}, ref: "r1", pinned: pinnedAlpha },
    want: { use: "pinned" },
  },
};

for (const [name, { reason, ask, want }] of Object.entries(rows)) {
  test(`${name}: ${reason}`, () => assert.deepEqual(chooseRevision(ask), want));
}

test("labels must all be there, and own ones", () => {
  assert.equal(carries(pinnedAlpha, { channel: "beta" }), false);
  assert.equal(carries(pinnedAlpha, { toString: "x" }), false);
  assert.equal(carries(pinnedAlpha, {}), true);
});

test("only revisions the Composition controls count, the highest number first", () => {
  const revisions = [revision("a", {}, 2), revision("b", {}, 10), revision("c", {}, 99, "other")];
  assert.equal(newestRevision(revisions, "c")?.metadata.name, "b");
  assert.equal(newestRevision(revisions.slice(2), "c"), undefined);
  assert.equal(newestRevision([revision("z", {}, 0)], "c"), undefined);
});
