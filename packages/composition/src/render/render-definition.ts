// SPDX-License-Identifier: Apache-2.0
// The defaults that an API server applies to a definition and its composite resource.

import { isJsonObject, type JsonObject } from "@purlin/kube-objects/json";
import { type KubeObject, memberAt, withMember } from "@purlin/kube-objects/object";
import { applyDefaults } from "@purlin/kube-objects/structural";
import { versionsOf } from "../definition/definition-facts.ts";
import { deriveCompositeCrd } from "../definition/derive-crd.ts";
import { RenderError } from "./render-error.ts";

/** The definition as it would be stored: one of v2 that says nothing about its scope is namespaced. */
export function storedDefinition(definition: KubeObject | undefined): KubeObject | undefined {
  if (definition === undefined || !definition.apiVersion.endsWith("/v2")) return definition;
  const scope = memberAt(definition, ["spec", "scope"]);
  return scope === undefined ? withMember(definition, ["spec", "scope"], "Namespaced") : definition;
}

/** The composite resource with the defaults of its schema. Throws when the definition does not have its version. */
export function withSchemaDefaults(xr: KubeObject, definition: KubeObject): KubeObject {
  const schema = schemaOf(definition, xr.apiVersion);
  const spec = isJsonObject(xr["spec"]) ? xr["spec"] : {};
  return applyDefaults({ ...xr, spec }, schema) as KubeObject;
}

function schemaOf(definition: KubeObject, apiVersion: string): JsonObject {
  const version = versionsOf(derivedFrom(definition)).find(({ name }) => apiVersion.endsWith(`/${name}`));
  const schema = version && memberAt(version, ["schema", "openAPIV3Schema"]);
  if (isJsonObject(schema)) return schema;
  const { name = "" } = definition.metadata;
  throw new RenderError(`definition "${name}" has no version of apiVersion ${apiVersion}`, "definition", {
    field: ["spec", "versions"],
  });
}

function derivedFrom(definition: KubeObject): KubeObject {
  try {
    return deriveCompositeCrd(definition, { functionRevisions: false });
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    throw new RenderError(text, "definition", { field: ["spec"] });
  }
}
