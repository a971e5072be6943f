// SPDX-License-Identifier: Apache-2.0
import { type CrdCase, immutableText, nextNumber } from "@purlin/kube-controller/testing";
import type { JsonObject } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";
import { kinds } from "../src/composite-resource/constants.ts";
import { compositionCrdCases, keptCrdCases } from "./composition-crd-cases.ts";
import { definitionVersion } from "./definitions.ts";

const group = "example.org";
const v2 = "apiextensions.crossplane.io/v2";

function names(kind: string): JsonObject {
  return { kind, plural: `${kind.toLowerCase()}s` };
}

function xrd(spec: JsonObject = {}, apiVersion: string = kinds.definition.apiVersion): KubeObject {
  const kind = `XKind${nextNumber()}`;
  const metadata = { name: `${kind.toLowerCase()}s.${group}` };
  const ordinary = { group, names: names(kind), versions: [definitionVersion("v1")] };
  return { apiVersion, kind: kinds.definition.kind, metadata, spec: { ...ordinary, ...spec } };
}

const claimNames = names("Claimed");

/** What the CRD of definitions accepts and refuses. */
const definitionCrdCases: Readonly<Record<string, CrdCase>> = {
  DefaultsV1: {
    reason: "a v1 definition is legacy, with its default policies",
    object: xrd(),
    stored: {
      "spec.scope": "LegacyCluster",
      "spec.defaultCompositeDeletePolicy": "Background",
      "spec.defaultCompositionUpdatePolicy": "Automatic",
    },
  },
  DefaultsV2: {
    reason: "a v2 definition is namespaced; because v1 is stored it has v1's delete policy",
    object: xrd({}, v2),
    stored: { "spec.scope": "Namespaced", "spec.defaultCompositeDeletePolicy": "Background" },
  },
  ClaimsV2: {
    reason: "v2 has no claims",
    object: xrd({ claimNames }, v2),
    refused: ["spec", "Claims aren't supported in apiextensions.crossplane.io/v2"],
  },
  SecretsV2: {
    reason: "v2 has no connection secrets, not even an empty list of keys",
    object: xrd({ connectionSecretKeys: [] }, v2),
    refused: ["spec", "XR connection secrets aren't supported in apiextensions.crossplane.io/v2"],
  },
  LegacyV2: {
    reason: "v2 has no legacy scope",
    object: xrd({ scope: "LegacyCluster" }, v2),
    refused: ["spec.scope", 'Unsupported value: "LegacyCluster"'],
  },
  ...Object.fromEntries(
    ["Namespaced", "Cluster"].flatMap((scope): [string, CrdCase][] => [
      [
        `Claims${scope}`,
        {
          reason: "only legacy composite resources have claims",
          object: xrd({ scope, claimNames }),
          refused: ["spec", "Only LegacyCluster composite resources can offer claims"],
        },
      ],
      [
        `Secrets${scope}`,
        {
          reason: "only legacy composite resources have connection secrets",
          object: xrd({ scope, connectionSecretKeys: ["a"] }),
          refused: ["spec", "Only LegacyCluster composite resources support connection secrets"],
        },
      ],
    ]),
  ),
  ChangeGroup: { reason: "5", object: xrd(), change: { group: "other.org" }, refused: ["spec.group", immutableText] },
  ChangeNames: {
    reason: "5",
    object: xrd(),
    change: { names: { shortNames: ["x"] } },
    refused: ["spec.names", immutableText],
  },
  ChangeScope: { reason: "5", object: xrd(), change: { scope: "Cluster" }, refused: ["spec.scope", immutableText] },
  ChangeClaimNames: {
    reason: "claims that are offered keep their names",
    object: xrd({ claimNames }),
    change: { claimNames: { kind: "Other" } },
    refused: ["spec.claimNames", immutableText],
  },
  AddClaimNames: { reason: "claims may be offered later", object: xrd(), change: { claimNames } },
  RemoveClaimNames: { reason: "and no longer", object: xrd({ claimNames }), change: { claimNames: null } },
  AddEnforced: { reason: "7", object: xrd(), change: { enforcedCompositionRef: { name: "a" } } },
  ChangeEnforced: {
    reason: "7",
    object: xrd({ enforcedCompositionRef: { name: "a" } }),
    change: { enforcedCompositionRef: { name: "b" } },
    refused: ["spec.enforcedCompositionRef", immutableText],
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
    reason: "as v1 has it, conversion is by webhook or not mentioned",
    object: xrd({ conversion: { strategy: "None" } }),
    refused: ["spec.conversion", "Webhook configuration is required when conversion strategy is Webhook"],
  },
  ConversionNoneV2: { reason: "v2 has no such rule", object: xrd({ conversion: { strategy: "None" } }, v2) },
  LongWarning: {
    reason: "10",
    object: xrd({ versions: [definitionVersion("v1", { version: { deprecationWarning: "w".repeat(257) } })] }),
    refused: ["spec.versions[0].deprecationWarning", "Too long"],
  },
  LabelLegacyThroughV2: {
    reason: "a legacy definition may be labelled through v2",
    object: xrd({ claimNames, connectionSecretKeys: ["a"] }),
    change: { metadata: { labels: { a: "b" } } },
    through: v2,
  },
  EditLegacyThroughV2: {
    reason: "and not otherwise edited",
    object: xrd({ claimNames }),
    change: { defaultCompositionRef: { name: "c" } },
    through: v2,
    refused: ["spec", "Claims aren't supported in apiextensions.crossplane.io/v2"],
  },
  OtherName: {
    reason: "the name is for the controller to judge",
    object: { ...xrd(), metadata: { name: "other.example.org" } },
  },
  NoVersions: { reason: "so are the versions", object: xrd({ versions: [] }) },
  Scale: {
    reason: "paths of the scale subresource are stored",
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

/** What our CRDs accept and refuse, for every API server they are applied to, by what they are about. */
export const crdCases: Readonly<Record<string, Readonly<Record<string, CrdCase>>>> = {
  definitions: definitionCrdCases,
  compositions: compositionCrdCases,
  "kinds that are only kept": keptCrdCases,
};
