// SPDX-License-Identifier: Apache-2.0

import type { JsonObject } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";
import { type CrdCase, nextNumber } from "./crd-case.ts";

const group = "example.org";
const fn = { functionRef: { name: "fn" } };
const step = (more: JsonObject = fn): JsonObject => ({ step: "s", ...more });

const usage = (spec: JsonObject, kind = "ClusterUsage"): KubeObject => ({
  apiVersion: "protection.crossplane.io/v1beta1",
  kind,
  metadata: { name: `usage-${nextNumber()}`, ...(kind === "Usage" && { namespace: "default" }) },
  spec,
});
const of = { apiVersion: "v1", kind: "ConfigMap", resourceRef: { name: "n" } };
const operationSpec = { mode: "Pipeline", pipeline: [step()] };

/** What the CRDs of kinds that are only kept accept and refuse. */
export const keptCrdCases: Readonly<Record<string, CrdCase>> = {
  Usage: { reason: "a usage with its reason", object: usage({ of, reason: "because" }) },
  NoReason: {
    reason: "by a user, or for a reason",
    object: usage({ of }),
    refused: ["spec", 'either "spec.by" or "spec.reason" must be specified.'],
  },
  NoResource: {
    reason: "of something",
    object: usage({ of: { apiVersion: "v1", kind: "ConfigMap" }, reason: "because" }),
    refused: ["spec.of", "either a resource reference or a resource selector should be set."],
  },
  CrossNamespace: {
    reason: "135",
    object: usage({ of: { ...of, resourceRef: { name: "n", namespace: "other" } }, reason: "because" }, "Usage"),
    refused: ["spec", 'cross-namespace "spec.of" is not allowed without "spec.by" resource.'],
  },
  LegacyUsage: {
    reason: "the usage before the protection group",
    object: { ...usage({ of, reason: "because" }), apiVersion: "apiextensions.crossplane.io/v1alpha1", kind: "Usage" },
  },
  Managed: {
    reason: "a managed resource definition is Inactive at first",
    object: managed({}),
    stored: { "spec.state": "Inactive", "spec.scope": "Namespaced" },
  },
  Deactivate: {
    reason: "142",
    object: managed({ state: "Active" }),
    change: { state: "Inactive" },
    refused: ["spec.state", "state cannot be changed once it becomes Active"],
  },
  Activation: {
    reason: "an activation policy names something",
    object: {
      apiVersion: "apiextensions.crossplane.io/v1alpha1",
      kind: "ManagedResourceActivationPolicy",
      metadata: { name: "p" },
      spec: { activate: [] },
    },
    refused: ["spec.activate", "should have at least 1 items"],
  },
  Operation: {
    reason: "an operation's step may have credentials from nowhere",
    object: operation("Operation", {
      ...operationSpec,
      pipeline: [step({ ...fn, credentials: [{ name: "c", source: "None" }] })],
    }),
  },
  OperationWithoutFunction: {
    reason: "and names a function",
    object: operation("Operation", { ...operationSpec, pipeline: [step({})] }),
    refused: ["spec.pipeline[0].functionRef", "Required value"],
  },
  Cron: {
    reason: "defaults of a cron operation",
    object: operation("CronOperation", { schedule: "* * * * *", operationTemplate: { spec: operationSpec } }),
    stored: { "spec.concurrencyPolicy": "Allow", "spec.successfulHistoryLimit": 3, "spec.failedHistoryLimit": 1 },
  },
  Watch: {
    reason: "a watch operation watches one kind",
    object: operation("WatchOperation", {
      watch: { apiVersion: "v1", kind: "ConfigMap" },
      operationTemplate: { spec: operationSpec },
    }),
    change: { watch: { kind: "Secret" } },
    refused: ["spec.watch.kind", "kind is immutable"],
  },
};

function managed(spec: JsonObject): KubeObject {
  const kind = `Managed${nextNumber()}`;
  const plural = `${kind.toLowerCase()}s`;
  return {
    apiVersion: "apiextensions.crossplane.io/v1alpha1",
    kind: "ManagedResourceDefinition",
    metadata: { name: `${plural}.${group}` },
    spec: { group, names: { kind, plural }, versions: [{ name: "v1", served: true, storage: true }], ...spec },
  };
}

function operation(kind: string, spec: JsonObject): KubeObject {
  return { apiVersion: "ops.crossplane.io/v1alpha1", kind, metadata: { name: `operation-${nextNumber()}` }, spec };
}
