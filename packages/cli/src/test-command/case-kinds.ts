// SPDX-License-Identifier: Apache-2.0
// Kinds that a test needs and no file defines: any field is accepted.
import { type KubeObject, parseApiVersion, type TypeRef, textAt } from "@purlin/kube-objects/object";

const anything = { type: "object", "x-kubernetes-preserve-unknown-fields": true };

/** A CRD of a kind without a schema. */
export function permissiveCrd({ apiVersion, kind }: TypeRef, namespaced: boolean): KubeObject {
  const { group, version } = parseApiVersion(apiVersion);
  const plural = `${kind.toLowerCase()}s`;
  const schema = {
    openAPIV3Schema: {
      type: "object",
      "x-kubernetes-preserve-unknown-fields": true,
      properties: { spec: anything, status: anything },
    },
  };
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope: namespaced ? "Namespaced" : "Cluster",
      names: { kind, plural, singular: kind.toLowerCase(), listKind: `${kind}List` },
      versions: [{ name: version, served: true, storage: true, schema, subresources: { status: {} } }],
    },
  };
}

/** An XRD for a composite resource that has none: namespaced if it has a namespace. */
export function permissiveDefinition(xr: KubeObject): KubeObject {
  const { group, version } = parseApiVersion(xr.apiVersion);
  const plural = `${xr.kind.toLowerCase()}s`;
  const isModern = (xr["spec"] as { readonly crossplane?: unknown } | undefined)?.crossplane !== undefined;
  const cluster = isModern ? "Cluster" : "LegacyCluster";
  const scope = xr.metadata.namespace === undefined ? cluster : "Namespaced";
  const schema = { openAPIV3Schema: { type: "object", properties: { spec: anything, status: anything } } };
  return {
    // Only v1 has legacy composite resources.
    apiVersion: `apiextensions.crossplane.io/${scope === "LegacyCluster" ? "v1" : "v2"}`,
    kind: "CompositeResourceDefinition",
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope,
      names: { kind: xr.kind, plural },
      versions: [{ name: version, served: true, referenceable: true, schema }],
    },
  };
}

/** Whether a definition is of a kind, as composite resource or claim. */
export function defines(definition: KubeObject, { apiVersion, kind }: TypeRef): boolean {
  const kinds = ["names", "claimNames"].map((member) => textAt(definition, ["spec", member, "kind"]));
  return textAt(definition, ["spec", "group"]) === parseApiVersion(apiVersion).group && kinds.includes(kind);
}
