// SPDX-License-Identifier: Apache-2.0
// What our CRDs accept and refuse, for every API server they are applied to.
import type { KubeObject } from "@purlin/kube-client";
import type { JsonObject, JsonValue } from "@purlin/kube-objects";
import { kinds } from "../composite-resource/constants.ts";
import { definitionVersion } from "./definitions.ts";

/** An object, what happens to it, and what the server says. */
export interface CrdCase {
  readonly reason: string;
  readonly object: KubeObject;
  /** A merge patch after the object was created. Then it is the patch that is judged. */
  readonly change?: JsonObject;
  /** The version the patch goes through, when it is another. */
  readonly through?: string;
  /** Field and text of the refusal. Absent: accepted. */
  readonly refused?: readonly [field: string, text: string];
  /** Members of the object when it is read back, by path. */
  readonly stored?: Readonly<Record<string, JsonValue>>;
}

const group = "example.org";
const v2 = "apiextensions.crossplane.io/v2";
let made = 0;

function names(kind: string): JsonObject {
  return { kind, plural: `${kind.toLowerCase()}s` };
}

function xrd(spec: JsonObject = {}, apiVersion: string = kinds.definition.apiVersion): KubeObject {
  const kind = `XKind${++made}`;
  const metadata = { name: `${kind.toLowerCase()}s.${group}` };
  const ordinary = { group, names: names(kind), versions: [definitionVersion("v1")] };
  return { apiVersion, kind: kinds.definition.kind, metadata, spec: { ...ordinary, ...spec } };
}

const claimNames = names("Claimed");
const immutable = "Value is immutable";

const definitionCases: Readonly<Record<string, CrdCase>> = {
  DefaultsV1: {
    reason: "1: a v1 definition is legacy, with its default policies",
    object: xrd(),
    stored: {
      "spec.scope": "LegacyCluster",
      "spec.defaultCompositeDeletePolicy": "Background",
      "spec.defaultCompositionUpdatePolicy": "Automatic",
    },
  },
  DefaultsV2: {
    reason: "2: a v2 definition is namespaced; because v1 is stored it has v1's delete policy",
    object: xrd({}, v2),
    stored: { "spec.scope": "Namespaced", "spec.defaultCompositeDeletePolicy": "Background" },
  },
  ClaimsV2: {
    reason: "3: v2 has no claims",
    object: xrd({ claimNames }, v2),
    refused: ["spec", "Claims aren't supported in apiextensions.crossplane.io/v2"],
  },
  SecretsV2: {
    reason: "3: v2 has no connection secrets, not even an empty list of keys",
    object: xrd({ connectionSecretKeys: [] }, v2),
    refused: ["spec", "XR connection secrets aren't supported in apiextensions.crossplane.io/v2"],
  },
  LegacyV2: {
    reason: "3: v2 has no legacy scope",
    object: xrd({ scope: "LegacyCluster" }, v2),
    refused: ["spec.scope", 'Unsupported value: "LegacyCluster"'],
  },
  ...Object.fromEntries(
    ["Namespaced", "Cluster"].flatMap((scope): [string, CrdCase][] => [
      [
        `Claims${scope}`,
        {
          reason: "4: only legacy composite resources have claims",
          object: xrd({ scope, claimNames }),
          refused: ["spec", "Only LegacyCluster composite resources can offer claims"],
        },
      ],
      [
        `Secrets${scope}`,
        {
          reason: "4: only legacy composite resources have connection secrets",
          object: xrd({ scope, connectionSecretKeys: ["a"] }),
          refused: ["spec", "Only LegacyCluster composite resources support connection secrets"],
        },
      ],
    ]),
  ),
  ChangeGroup: { reason: "5", object: xrd(), change: { group: "other.org" }, refused: ["spec.group", immutable] },
  ChangeNames: {
    reason: "5",
    object: xrd(),
    change: { names: { shortNames: ["x"] } },
    refused: ["spec.names", immutable],
  },
  ChangeScope: { reason: "5", object: xrd(), change: { scope: "Cluster" }, refused: ["spec.scope", immutable] },
  ChangeClaimNames: {
    reason: "5: claims that are offered keep their names",
    object: xrd({ claimNames }),
    change: { claimNames: { kind: "Other" } },
    refused: ["spec.claimNames", immutable],
  },
  AddClaimNames: { reason: "6: claims may be offered later", object: xrd(), change: { claimNames } },
  RemoveClaimNames: { reason: "and no longer", object: xrd({ claimNames }), change: { claimNames: null } },
  AddEnforced: { reason: "7", object: xrd(), change: { enforcedCompositionRef: { name: "a" } } },
  ChangeEnforced: {
    reason: "7",
    object: xrd({ enforcedCompositionRef: { name: "a" } }),
    change: { enforcedCompositionRef: { name: "b" } },
    refused: ["spec.enforcedCompositionRef", immutable],
  },
  RemoveEnforced: {
    reason: "7",
    object: xrd({ enforcedCompositionRef: { name: "a" } }),
    change: { enforcedCompositionRef: null },
  },
  UpperPlural: {
    reason: "8",
    object: xrd({ names: { kind: "K", plural: "Ks" } }),
    refused: ["spec.names", "Plural name must be lowercase"],
  },
  UpperSingular: {
    reason: "8",
    object: xrd({ names: { kind: "K", plural: "ks", singular: "K" } }),
    refused: ["spec.names", "Singular name must be lowercase"],
  },
  UpperClaimPlural: {
    reason: "8",
    object: xrd({ claimNames: { kind: "K", plural: "Ks" } }),
    refused: ["spec.claimNames", "Plural name must be lowercase"],
  },
  UpperClaimSingular: {
    reason: "8",
    object: xrd({ claimNames: { kind: "K", plural: "ks", singular: "kS" } }),
    refused: ["spec.claimNames", "Singular name must be lowercase"],
  },
  ConversionNoneV1: {
    reason: "9: as v1 has it, conversion is by webhook or not mentioned",
    object: xrd({ conversion: { strategy: "None" } }),
    refused: ["spec.conversion", "Webhook configuration is required when conversion strategy is Webhook"],
  },
  ConversionNoneV2: { reason: "9: v2 has no such rule", object: xrd({ conversion: { strategy: "None" } }, v2) },
  LongWarning: {
    reason: "10",
    object: xrd({ versions: [definitionVersion("v1", { version: { deprecationWarning: "w".repeat(257) } })] }),
    refused: ["spec.versions[0].deprecationWarning", "Too long"],
  },
  LabelLegacyThroughV2: {
    reason: "11: a legacy definition may be labelled through v2",
    object: xrd({ claimNames, connectionSecretKeys: ["a"] }),
    change: { metadata: { labels: { a: "b" } } },
    through: v2,
  },
  EditLegacyThroughV2: {
    reason: "11: and not otherwise edited",
    object: xrd({ claimNames }),
    change: { defaultCompositionRef: { name: "c" } },
    through: v2,
    refused: ["spec", "Claims aren't supported in apiextensions.crossplane.io/v2"],
  },
  OtherName: {
    reason: "12: the name is for the controller to judge",
    object: { ...xrd(), metadata: { name: "other.example.org" } },
  },
  NoVersions: { reason: "so are the versions", object: xrd({ versions: [] }) },
  Scale: {
    reason: "26",
    object: xrd({
      versions: [
        definitionVersion("v1", {
          version: { subresources: { scale: { specReplicasPath: ".spec.n", statusReplicasPath: ".status.n" } } },
        }),
      ],
    }),
    stored: { "spec.versions.0.subresources.scale.specReplicasPath": ".spec.n" },
  },
};

const digest = `sha256:${"0a".repeat(32)}`;
const fn = { functionRef: { name: "fn" } };

function composition(pipeline: JsonValue | undefined, spec: JsonObject = {}): KubeObject {
  const metadata = { name: `composition-${++made}` };
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

const compositionCases: Readonly<Record<string, CrdCase>> = {
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
    reason: "D16: an input of which nothing but the key is written is none",
    object: composition([step({ ...fn, input: null })]),
    stored: { "spec.pipeline.0.input": undefined as unknown as JsonValue, "spec.pipeline.0.step": "s" },
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
    refused: ["spec.compositeTypeRef", immutable],
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
    reason: "5.1: as the rule is written it refuses None",
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
    reason: "D10: once",
    object: composition([step({ ...fn, function: `reg.io/org/fn:v1@${digest}` })]),
    refused: ["spec.pipeline[0]", "exactly one of functionRef and function is required"],
  },
  FunctionImage: { reason: "D10: by image", object: composition([step({ function: `reg.io/org/fn:v1@${digest}` })]) },
  FunctionTag: {
    reason: "D10: a tag is not enough",
    object: composition([step({ function: "reg.io/org/fn:v1" })]),
    refused: ["spec.pipeline[0].function", "should match"],
  },
  FunctionAndRef: {
    reason: "D10: an image is one revision already",
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

const usage = (spec: JsonObject, kind = "ClusterUsage"): KubeObject => ({
  apiVersion: "protection.crossplane.io/v1beta1",
  kind,
  metadata: { name: `usage-${++made}`, ...(kind === "Usage" && { namespace: "default" }) },
  spec,
});
const of = { apiVersion: "v1", kind: "ConfigMap", resourceRef: { name: "n" } };
const operationSpec = { mode: "Pipeline", pipeline: [step()] };

const keptCases: Readonly<Record<string, CrdCase>> = {
  Usage: { reason: "a usage with its reason", object: usage({ of, reason: "because" }) },
  NoReason: {
    reason: "by somebody, or for a reason",
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
  const kind = `Managed${++made}`;
  const plural = `${kind.toLowerCase()}s`;
  return {
    apiVersion: "apiextensions.crossplane.io/v1alpha1",
    kind: "ManagedResourceDefinition",
    metadata: { name: `${plural}.${group}` },
    spec: { group, names: { kind, plural }, versions: [{ name: "v1", served: true, storage: true }], ...spec },
  };
}

function operation(kind: string, spec: JsonObject): KubeObject {
  return { apiVersion: "ops.crossplane.io/v1alpha1", kind, metadata: { name: `operation-${++made}` }, spec };
}

/** All of them, by what they are about. */
export const crdCases: Readonly<Record<string, Readonly<Record<string, CrdCase>>>> = {
  definitions: definitionCases,
  compositions: compositionCases,
  "kinds that are only kept": keptCases,
};
