// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { CacheChange } from "@purlin/kube-client";
import type { KubeObject, ObjectKey } from "@purlin/kube-objects/object";
import { appKind } from "../../test/definition-control.ts";
import { claimWatches } from "./reconciler.ts";

function xr(claim?: { readonly name: string; readonly kind?: string; readonly apiVersion?: string }): KubeObject {
  const { apiVersion, kind } = appKind.claimType;
  const claimRef = claim && { apiVersion, kind, namespace: "shop", ...claim };
  return { ...appKind.compositeType, metadata: { name: "x" }, spec: { ...(claimRef && { claimRef }) } };
}

const cases: Record<string, { reason: string; change: CacheChange; want: ObjectKey[] }> = {
  Bound: {
    reason: "a composite resource wakes its claim",
    change: { type: "added", object: xr({ name: "a" }) },
    want: [{ namespace: "shop", name: "a" }],
  },
  Moved: {
    reason: "when it is bound to another claim, both are reconciled",
    change: { type: "updated", previous: xr({ name: "a" }), object: xr({ name: "b" }) },
    want: [
      { namespace: "shop", name: "a" },
      { namespace: "shop", name: "b" },
    ],
  },
  Deleted: {
    reason: "a claim that waits for it is reconciled when it ends",
    change: { type: "deleted", object: xr({ name: "a" }) },
    want: [{ namespace: "shop", name: "a" }],
  },
  Unbound: {
    reason: "a composite resource without a claim reconciles no claim",
    change: { type: "added", object: xr() },
    want: [],
  },
  OtherKind: {
    reason: "a reference to another kind is not ours",
    change: { type: "added", object: xr({ name: "a", kind: "Other" }) },
    want: [],
  },
  OtherGroup: {
    reason: "nor one to another group",
    change: { type: "added", object: xr({ name: "a", apiVersion: "other.org/v1alpha1" }) },
    want: [],
  },
  Malformed: {
    reason: "a malformed reference does not hide the claim it replaced",
    change: { type: "updated", previous: xr({ name: "a" }), object: xr({ name: "b", apiVersion: "a/b/c" }) },
    want: [{ namespace: "shop", name: "a" }],
  },
  OtherVersion: {
    reason: "one to another version is: the claim says that it is refused",
    change: { type: "added", object: xr({ name: "a", apiVersion: "platform.example.org/v1" }) },
    want: [{ namespace: "shop", name: "a" }],
  },
};

for (const [name, { reason, change, want }] of Object.entries(cases)) {
  test(`${name}: ${reason}`, () => {
    const watch = claimWatches(appKind).find(({ type }) => type === "CompositeResource");
    assert.deepEqual([...(watch?.keys(change) ?? [])], want);
  });
}

test("a claim wakes itself", () => {
  const watch = claimWatches(appKind).find(({ type }) => type === "Claim");
  const object = { ...appKind.claimType, metadata: { namespace: "shop", name: "a" } };
  assert.deepEqual([...(watch?.keys({ type: "added", object }) ?? [])], [{ namespace: "shop", name: "a" }]);
});
