// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { compositionCrds, keptCrds } from "@purlin/composition";
import { reservedFor } from "@purlin/kube-controller";
import { packageCrds } from "@purlin/package-manager";

test("every kind of the control plane is its own: no package or definition takes it over", () => {
  const all = [
    ...compositionCrds(),
    ...keptCrds(),
    ...packageCrds({ functionRevisionSelectors: true, functionRollouts: true }),
  ];
  assert.ok(all.length > 10);
  for (const { metadata } of all)
    assert.equal(reservedFor(metadata.name ?? ""), "the control plane", metadata.name ?? "");
});

test("kinds of Kubernetes are reserved, those of providers and platforms are free", () => {
  const kubernetes = [
    "secrets",
    "deployments.apps",
    "clusterroles.rbac.authorization.k8s.io",
    "leases.coordination.k8s.io",
  ];
  for (const name of kubernetes) assert.equal(reservedFor(name), "Kubernetes", name);
  const free = [
    "buckets.s3.aws.upbound.io",
    "objects.kubernetes.crossplane.io",
    "nopresources.nop.crossplane.io",
    "a.b",
  ];
  for (const name of free) assert.equal(reservedFor(name), undefined, name);
});
