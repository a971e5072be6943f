// SPDX-License-Identifier: Apache-2.0
// Definitions for tests, as short as they can be.
import type { JsonObject } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";
import { kinds } from "../src/composite-resource/constants.ts";

/** What a test wants of a definition beside the ordinary. */
export interface DefinitionWish {
  readonly metadata?: JsonObject;
  readonly spec?: JsonObject;
  /** What there is beside `spec.image`. */
  readonly version?: JsonObject;
  readonly schema?: JsonObject;
}

/** A version of a definition whose objects have an image and a url. */
export function definitionVersion(name: string, { version = {}, schema }: DefinitionWish = {}): JsonObject {
  const openAPIV3Schema = schema ?? {
    type: "object",
    properties: {
      spec: { type: "object", properties: { image: { type: "string" } } },
      status: { type: "object", properties: { url: { type: "string" } } },
    },
  };
  return { name, served: true, referenceable: true, schema: { openAPIV3Schema }, ...version };
}

/** A legacy definition of XApp that offers the claim App. */
export function appDefinition(wish: DefinitionWish = {}): KubeObject {
  return {
    ...kinds.definition,
    metadata: { name: "xapps.platform.example.org", ...wish.metadata },
    spec: {
      group: "platform.example.org",
      names: { kind: "XApp", plural: "xapps" },
      claimNames: { kind: "App", plural: "apps" },
      versions: [definitionVersion("v1alpha1", wish)],
      ...wish.spec,
    },
  };
}

/** A modern definition of Cache. */
export function cacheDefinition(scope: "Namespaced" | "Cluster", wish: DefinitionWish = {}): KubeObject {
  return {
    apiVersion: "apiextensions.crossplane.io/v2",
    kind: "CompositeResourceDefinition",
    metadata: { name: "caches.platform.example.org", ...wish.metadata },
    spec: {
      group: "platform.example.org",
      names: { kind: "Cache", plural: "caches" },
      scope,
      versions: [definitionVersion("v1", wish)],
      ...wish.spec,
    },
  };
}

// The manifests of the design "Controlled Rollout of Composition Functions", to the letter.

/** "to maintain up to four revisions and up to two active revisions" */
export const functionYaml = `
apiVersion: pkg.crossplane.io/v1
kind: Function
metadata:
  name: function-patch-and-transform
spec:
  package: xpkg.crossplane.io/crossplane-contrib/function-patch-and-transform:v0.8.2
  revisionHistoryLimit: 4
  activeRevisionLimit: 2
`;

/** "update their existing installation of the function by applying the following manifest" */
export const alphaFunctionYaml = `
apiVersion: pkg.crossplane.io/v1
kind: Function
metadata:
  name: function-patch-and-transform
  labels:
    release-channel: alpha
spec:
  package: xpkg.crossplane.io/crossplane-contrib/function-patch-and-transform:v0.8.2
  revisionHistoryLimit: 4
  activeRevisionLimit: 2
`;

/** "update their composition to reference the labeled function revision" */
export const alphaCompositionYaml = `
apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata:
  name: example
  labels:
    release-channel: alpha
spec:
  compositeTypeRef:
    apiVersion: custom-api.example.org/v1alpha1
    kind: AcmeBucket
  mode: Pipeline
  pipeline:
  - step: patch-and-transform
    functionRef:
      name: function-patch-and-transform
    functionRevisionSelector:
      matchLabels:
        release-channel: alpha
    input:
      # Removed for brevity
`;

/** "update one or more XRs to use the new composition revision" */
export const bucketYaml = `
apiVersion: custom-api.example.org/v1alpha1
kind: AcmeBucket
metadata:
  name: my-bucket
spec:
  compositionUpdatePolicy: Manual
  compositionRevisionSelector:
    matchLabels:
      release-channel: alpha
`;
