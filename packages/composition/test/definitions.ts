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
