// SPDX-License-Identifier: Apache-2.0

import { crdType } from "@purlin/kube-controller";
import { isJsonObject, type JsonObject, type JsonValue } from "@purlin/kube-objects/json";
import {
  controllerOf,
  type KubeObject,
  memberAt,
  type OwnerReference,
  objectAt,
  objectsAt,
  textAt,
} from "@purlin/kube-objects/object";

/** The type of ManagedResourceDefinitions. */
export const managedDefinitionType = {
  apiVersion: "apiextensions.crossplane.io/v1alpha1",
  kind: "ManagedResourceDefinition",
} as const;

/** Whether a definition is activated. */
export function isActive(mrd: KubeObject): boolean {
  return textAt(mrd, ["spec", "state"]) === "Active";
}

/**
 * The CRD of a definition, as an apply configuration: only fields that are set, versions by name. The definition and its controller own
 * it, so a new revision of the provider takes it over with the definition.
 */
export function managedCrd(mrd: KubeObject): KubeObject {
  const spec = objectAt(mrd, ["spec"]);
  const { group, names, scope, conversion, preserveUnknownFields, versions } = spec;
  const sorted = (Array.isArray(versions) ? versions : [])
    .filter(isJsonObject)
    .toSorted((a, b) => (String(a["name"]) < String(b["name"]) ? -1 : 1));
  return {
    ...crdType,
    metadata: { name: mrd.metadata.name ?? "", ownerReferences: ownersOf(mrd) },
    spec: {
      group: group ?? "",
      names: withoutZeros(isJsonObject(names) ? names : {}),
      scope: scope ?? "",
      ...(isJsonObject(conversion) && { conversion }),
      ...(preserveUnknownFields === true && { preserveUnknownFields }),
      versions: sorted.map(versionOf),
    },
  } as KubeObject;
}

/** `served` and `storage` are required, whatever their value. */
function versionOf(version: JsonObject): JsonObject {
  const { name = "", served = false, storage = false, schema, ...others } = version;
  requireSchema(String(name), schema);
  return { name, served, storage, ...(schema !== undefined && { schema }), ...withoutZeros(others) };
}

function requireSchema(name: string, schema: JsonValue | undefined): void {
  const found = schema === undefined ? undefined : memberAt({ schema }, ["schema", "openAPIV3Schema"]);
  if (found === undefined || isJsonObject(found)) return;
  throw new Error(`cannot parse OpenAPI v3 schema for version "${name}": it must be an object`);
}

function withoutZeros(object: JsonObject): JsonObject {
  const isZero = (value: JsonValue | undefined): boolean =>
    value === undefined || value === null || value === "" || value === false || (Array.isArray(value) && !value.length);
  return Object.fromEntries(Object.entries(object).filter(([, value]) => !isZero(value)));
}

function ownersOf(mrd: KubeObject): OwnerReference[] {
  const { apiVersion, kind, metadata } = mrd;
  const own = { apiVersion, kind, name: metadata.name ?? "", uid: metadata.uid ?? "" };
  const controller = controllerOf(mrd);
  return controller === undefined ? [own] : [own, controller];
}

/** The storage version of a CRD, to list its objects. Undefined when it has none. */
export function storedTypeOf(crd: KubeObject): { readonly apiVersion: string; readonly kind: string } | undefined {
  const version = objectsAt(crd, ["spec", "versions"]).find(({ storage }) => storage === true);
  const name = version && textAt(version, ["name"]);
  const [group, kind] = [textAt(crd, ["spec", "group"]), textAt(crd, ["spec", "names", "kind"])];
  if (name === undefined || group === undefined || kind === undefined) return undefined;
  return { apiVersion: `${group}/${name}`, kind };
}
