// SPDX-License-Identifier: Apache-2.0

import { isJsonObject } from "../json/json-value.ts";
import { equalGvk, type GroupVersionKind } from "../object/gvk.ts";
import { kindsExtension, type OpenAPISource } from "./open-api-document.ts";
import { componentsOf } from "./reference.ts";

/**
 * The name of the component that describes a kind: the first in the document's order whose extension
 * `x-kubernetes-group-version-kind` is an array with exactly that one entry. Components of several kinds, such as
 * DeleteOptions, describe none of them. Undefined when there is no such component.
 */
export function findSchema(document: OpenAPISource, gvk: GroupVersionKind): string | undefined {
  for (const [name, schema] of Object.entries(componentsOf(document))) {
    if (isJsonObject(schema) && describes(schema[kindsExtension], gvk)) return name;
  }
  return undefined;
}

function describes(kinds: unknown, gvk: GroupVersionKind): boolean {
  if (!Array.isArray(kinds) || kinds.length !== 1 || !isJsonObject(kinds[0])) return false;
  const { group = "", version = "", kind = "" } = kinds[0] as Partial<GroupVersionKind>;
  return equalGvk({ group, version, kind }, gvk);
}
