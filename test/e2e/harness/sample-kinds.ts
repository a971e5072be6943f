// SPDX-License-Identifier: Apache-2.0
// What a platform team writes: definitions and compositions, as short as tests want them.

import type { JsonObject } from "@purlin/kube-objects/json";
import type { KubeObject, TypeRef } from "@purlin/kube-objects/object";

/** A kind to define. */
export interface KindWish {
  readonly group: string;
  readonly kind: string;
  /** Legacy: for the whole cluster, in the first version of the API. */
  readonly scope: "Namespaced" | "Cluster" | "Legacy";
  /** The name of its one version; `v1` unless given. */
  readonly version?: string;
  /** The kind of its claims, which only a legacy kind can have. */
  readonly claimKind?: string;
  /** The schemas of its fields. */
  readonly spec?: JsonObject;
  readonly status?: JsonObject;
  /** More fields of the definition's spec. */
  readonly more?: JsonObject;
}

/** A definition with one version. */
export function definitionOf(wish: KindWish): KubeObject {
  const { group, kind, scope, version = "v1", claimKind, spec = {}, status = {}, more = {} } = wish;
  const fields = (properties: JsonObject): JsonObject => ({ type: "object", properties });
  const openAPIV3Schema = fields({ spec: fields(spec), status: fields(status) });
  const names = (of: string): JsonObject => ({ kind: of, plural: `${of.toLowerCase()}s` });
  return {
    apiVersion: `apiextensions.crossplane.io/${scope === "Legacy" ? "v1" : "v2"}`,
    kind: "CompositeResourceDefinition",
    metadata: { name: `${kind.toLowerCase()}s.${group}` },
    spec: {
      group,
      names: names(kind),
      ...(scope !== "Legacy" && { scope }),
      ...(claimKind && { claimNames: names(claimKind) }),
      versions: [{ name: version, served: true, referenceable: true, schema: { openAPIV3Schema } }],
      ...more,
    },
  };
}

/** A composition whose steps are named after their functions. */
export function compositionOf(name: string, type: TypeRef, ...functions: readonly string[]): KubeObject {
  return {
    apiVersion: "apiextensions.crossplane.io/v1",
    kind: "Composition",
    metadata: { name },
    spec: {
      compositeTypeRef: { ...type },
      mode: "Pipeline",
      pipeline: functions.map((fn) => ({ step: fn, functionRef: { name: fn } })),
    },
  };
}

/** A namespace. */
export function namespaceOf(name: string): KubeObject {
  return { apiVersion: "v1", kind: "Namespace", metadata: { name } };
}
