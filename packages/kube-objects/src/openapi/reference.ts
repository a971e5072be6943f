// SPDX-License-Identifier: Apache-2.0
import { isJsonObject } from "../json/json-value.ts";
import type { OpenAPISchema, OpenAPISource } from "./open-api-document.ts";

const prefix = "#/components/schemas/";

/** The local reference to a component: `#/components/schemas/<name>`, escaped as a JSON pointer. */
export function referenceTo(component: string): string {
  return prefix + component.replaceAll("~", "~0").replaceAll("/", "~1");
}

/** The component a reference names, or undefined when it does not point to a component of its own document. */
export function referredComponent(reference: string): string | undefined {
  if (!reference.startsWith(prefix)) return undefined;
  return reference.slice(prefix.length).replaceAll("~1", "/").replaceAll("~0", "~");
}

/** The components of a document by name; empty when it has none. */
export function componentsOf(document: OpenAPISource): Readonly<Record<string, OpenAPISchema>> {
  const { components } = document;
  const schemas = isJsonObject(components) ? components["schemas"] : undefined;
  return isJsonObject(schemas) ? (schemas as Readonly<Record<string, OpenAPISchema>>) : {};
}

/**
 * The reference a schema stands for: its own `$ref`, or the first one found in its `allOf`, which is how OpenAPI v3
 * lets a reference carry a default or a description.
 */
export function referenceOf(schema: OpenAPISchema): string | undefined {
  const pending: unknown[] = [schema];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    if (!isJsonObject(next)) continue;
    const reference = next["$ref"];
    if (typeof reference === "string") return reference;
    const members = next["allOf"];
    if (!Array.isArray(members)) continue;
    for (let i = members.length - 1; i >= 0; i--) pending.push(members[i]);
  }
  return undefined;
}
