// SPDX-License-Identifier: Apache-2.0

import { isJsonObject } from "@purlin/kube-objects/json";
import { controllerOf, type KubeObject, type TypeRef, textAt } from "@purlin/kube-objects/object";
import { hasCapability } from "@purlin/oci";

/** The type of managed resource definitions, which the CRDs of providers become. */
export const managedDefinitionType: TypeRef = {
  apiVersion: "apiextensions.crossplane.io/v1alpha1",
  kind: "ManagedResourceDefinition",
};

/** The capability of providers whose controllers wait until their kinds are served. */
const safeStart = "safe-start";

/** Kinds that configure a provider: they are not managed resources, and are served in any case. */
const configurationKinds = new Set([
  "ProviderConfig",
  "ClusterProviderConfig",
  "ProviderConfigUsage",
  "ClusterProviderConfigUsage",
]);

/** Whether a package or its revision has the capability to start before its kinds are served. */
export function startsSafely(capabilities: readonly string[]): boolean {
  return hasCapability(capabilities, safeStart);
}

/** Whether an object is an activated managed resource definition. */
export function isActiveDefinition(object: KubeObject): boolean {
  return object.kind === managedDefinitionType.kind && textAt(object, ["spec", "state"]) === "Active";
}

/** The revision that controls a managed resource definition. */
export function revisionOf(mrd: KubeObject): { readonly name: string }[] {
  const controller = controllerOf(mrd);
  return controller?.kind === "ProviderRevision" ? [{ name: controller.name }] : [];
}

/**
 * The objects of a provider with its CRDs as managed resource definitions. They are active unless the provider starts safely: then
 * activation policies decide. Throws when a CRD cannot be converted.
 */
export function convertCrds(objects: readonly KubeObject[], capabilities: readonly string[]): readonly KubeObject[] {
  const state = startsSafely(capabilities) ? {} : { state: "Active" };
  return objects.map((object) => {
    if (object.apiVersion !== "apiextensions.k8s.io/v1" || object.kind !== "CustomResourceDefinition") return object;
    if (configurationKinds.has(textAt(object, ["spec", "names", "kind"]) ?? "")) return object;
    const { spec } = object;
    if (!isJsonObject(spec)) throw new Error(`CustomResourceDefinition ${object.metadata.name} has no spec`);
    return { ...managedDefinitionType, metadata: object.metadata, spec: { ...spec, ...state } } as KubeObject;
  });
}
