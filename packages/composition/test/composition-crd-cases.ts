// SPDX-License-Identifier: Apache-2.0
import { type CrdCase, immutableText, nextNumber } from "@purlin/kube-controller/testing";
import type { JsonObject, JsonValue } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";
import { kinds } from "../src/composite-resource/constants.ts";

const digest = `sha256:${"0a".repeat(32)}`;
const fn = { functionRef: { name: "fn" } };

function composition(pipeline: JsonValue | undefined, spec: JsonObject = {}): KubeObject {
  const metadata = { name: `composition-${nextNumber()}` };
  const compositeTypeRef = { apiVersion: "example.org/v1", kind: "X" };
  return {
    ...kinds.composition,
    metadata,
    spec: { compositeTypeRef, ...(pipeline !== undefined && { pipeline }), ...spec },
  };
}

const step = (more: JsonObject = fn): JsonObject => ({ step: "s", ...more });
const credentials = (more: JsonObject): KubeObject =>
  composition([step({ ...fn, credentials: [{ name: "c", ...more }] })]);
const needsSecret = ["spec.pipeline[0].credentials[0]", "the Secret source requires a secretRef"] as const;

const moveTarget: JsonObject = { apiVersion: "example.org/v1", kind: "Y" };

/** What the CRDs of Compositions, their revisions and EnvironmentConfigs accept and refuse. */
export const compositionCrdCases: Readonly<Record<string, CrdCase>> = {
  Plain: {
    reason: "the least a Composition needs",
    object: composition([step()]),
    stored: { "spec.mode": "Pipeline" },
  },
  Input: {
    reason: "input is any object",
    object: composition([step({ ...fn, input: { apiVersion: "a/v1", kind: "In", deep: { list: [1] } } })]),
    stored: { "spec.pipeline.0.input.deep.list.0": 1 },
  },
  InputNull: {
    reason: "an input of null is dropped",
    object: composition([step({ ...fn, input: null })]),
    stored: { "spec.pipeline.0.input": undefined, "spec.pipeline.0.step": "s" },
  },
  InputWithoutKind: {
    reason: "of a kind",
    object: composition([step({ ...fn, input: { apiVersion: "a/v1" } })]),
    refused: ["spec.pipeline[0].input.kind", "Required value"],
  },
  ChangeType: {
    reason: "131",
    object: composition([step()]),
    change: { compositeTypeRef: { kind: "Y" } },
    refused: ["spec.compositeTypeRef", immutableText],
  },
  NoPipeline: {
    reason: "131",
    object: composition(undefined),
    refused: ["spec", "an array of pipeline steps is required in Pipeline mode"],
  },
  EmptyPipeline: { reason: "131", object: composition([]), refused: ["spec.pipeline", "should have at least 1 items"] },
  LongPipeline: {
    reason: "a pipeline has at most 99 steps",
    object: composition(Array.from({ length: 100 }, (_, index) => ({ step: `s${index}`, ...fn }))),
    refused: ["spec.pipeline", "Too many"],
  },
  SameStep: { reason: "131", object: composition([step(), step()]), refused: ["spec.pipeline[1]", "Duplicate value"] },
  SecretWithoutRef: { reason: "131", object: credentials({ source: "Secret" }), refused: needsSecret },
  SourceNone: {
    reason: "as the rule is written it refuses None",
    object: credentials({ source: "None" }),
    refused: needsSecret,
  },
  Secret: {
    reason: "credentials from a Secret",
    object: credentials({ source: "Secret", secretRef: { name: "n", namespace: "ns" } }),
  },
  NameAndLabels: {
    reason: "a required resource is found by name or by labels",
    object: composition([
      step({
        ...fn,
        requirements: {
          requiredResources: [
            { requirementName: "r", apiVersion: "v1", kind: "ConfigMap", name: "n", matchLabels: { a: "b" } },
          ],
        },
      }),
    ]),
    refused: ["spec.pipeline[0].requirements.requiredResources[0]", "name and matchLabels are mutually exclusive"],
  },
  NoFunction: {
    reason: "a step names a function",
    object: composition([step({})]),
    refused: ["spec.pipeline[0]", "exactly one of functionRef and function is required"],
  },
  TwoFunctions: {
    reason: "once",
    object: composition([step({ ...fn, function: `reg.io/org/fn:v1@${digest}` })]),
    refused: ["spec.pipeline[0]", "exactly one of functionRef and function is required"],
  },
  FunctionImage: { reason: "by image", object: composition([step({ function: `reg.io/org/fn:v1@${digest}` })]) },
  FunctionTag: {
    reason: "a tag is not enough",
    object: composition([step({ function: "reg.io/org/fn:v1" })]),
    refused: ["spec.pipeline[0].function", "should match"],
  },
  FunctionAndRef: {
    reason: "an image is one revision already",
    object: composition([step({ function: `reg.io/fn@${digest}`, functionRevisionRef: { name: "r" } })]),
    refused: ["spec.pipeline[0]", "function cannot be combined with functionRevisionRef or functionRevisionSelector"],
  },
  RefAndSelector: {
    reason: "a revision is chosen by name or by labels",
    object: composition([
      step({
        ...fn,
        functionRevisionRef: { name: "r" },
        functionRevisionSelector: { matchLabels: { a: "b" } },
      }),
    ]),
    refused: ["spec.pipeline[0]", "functionRevisionRef and functionRevisionSelector are mutually exclusive"],
  },
  EmptyRef: {
    reason: "the name is not empty",
    object: composition([step({ ...fn, functionRevisionRef: { name: "" } })]),
    refused: ["spec.pipeline[0].functionRevisionRef.name", "at least 1 char"],
  },
  EmptySelector: {
    reason: "nor are the labels",
    object: composition([step({ ...fn, functionRevisionSelector: { matchLabels: {} } })]),
    refused: ["spec.pipeline[0].functionRevisionSelector.matchLabels", "should have at least 1 properties"],
  },
  PackageLabel: {
    reason: "labels cannot reach another function's revisions",
    object: composition([
      step({ ...fn, functionRevisionSelector: { matchLabels: { "pkg.crossplane.io/package": "other" } } }),
    ]),
    refused: [
      "spec.pipeline[0].functionRevisionSelector.matchLabels",
      "matchLabels must not contain pkg.crossplane.io/package",
    ],
  },
  Moved: {
    reason: "composed resources that got another name, or another composite resource",
    object: composition([
      step({
        ...fn,
        moved: [
          { from: "a", to: "b" },
          { from: "c", to: "c", toComposite: { ...moveTarget, name: "x" } },
        ],
      }),
    ]),
    stored: { "spec.pipeline.0.moved.1.toComposite.name": "x" },
  },
  MovedNowhere: {
    reason: "a move has two ends",
    object: composition([step({ ...fn, moved: [{ from: "a" }] })]),
    refused: ["spec.pipeline[0].moved[0].to", "Required value"],
  },
  MovedEmpty: {
    reason: "an end has a name",
    object: composition([step({ ...fn, moved: [{ from: "", to: "b" }] })]),
    refused: ["spec.pipeline[0].moved[0].from", "at least 1 char"],
  },
  MovedToItself: {
    reason: "the ends are different",
    object: composition([step({ ...fn, moved: [{ from: "a", to: "a" }] })]),
    refused: ["spec.pipeline[0].moved[0]", "from and to must be different names"],
  },
  MovedBetweenOthers: {
    reason: "one end is in this composite resource",
    object: composition([
      step({ ...fn, moved: [{ from: "a", to: "b", fromComposite: moveTarget, toComposite: moveTarget }] }),
    ]),
    refused: ["spec.pipeline[0].moved[0]", "fromComposite and toComposite are mutually exclusive"],
  },
  MovedInRevision: {
    reason: "a revision keeps the moves",
    object: {
      ...composition([step({ ...fn, moved: [{ from: "a", to: "b" }] })], { revision: 1 }),
      ...kinds.revision,
    },
    stored: { "spec.pipeline.0.moved.0.to": "b" },
  },
  RevisionWithoutNumber: {
    reason: "a revision has a number",
    object: { ...composition([step()]), ...kinds.revision },
    refused: ["spec.revision", "Required value"],
  },
  Revision: {
    reason: "and as many steps as there are",
    object: { ...composition([], { revision: 1 }), ...kinds.revision },
  },
  EnvironmentConfig: {
    reason: "data is anything by name",
    object: {
      apiVersion: "apiextensions.crossplane.io/v1beta1",
      kind: "EnvironmentConfig",
      metadata: { name: "e" },
      data: { text: "t", list: [1, { a: "b" }], deep: { er: true } },
    },
    stored: { "data.list.1.a": "b", "data.deep.er": true },
  },
};

const group = "example.org";

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
