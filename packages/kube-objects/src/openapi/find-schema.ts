// SPDX-License-Identifier: Apache-2.0

import { isJsonObject } from "../json/json-value.ts";
import type { GroupVersionKind } from "../object/gvk.ts";
import { kindsExtension, type OpenAPISource } from "./open-api-document.ts";
import { componentsOf } from "./reference.ts";

/**
 * The name of the component that describes a kind: the first in the document's order whose extension
 * `x-kubernetes-group-version-kind` is an array with exactly that one entry. Components of several kinds, such as
 * DeleteOptions, describe none of them. Undefined when there is no such component.
 */
export function findSchema(document: OpenAPISource, gvk: GroupVersionKind): string | undefined {
  const components = componentsOf(document);
  const known = indexes.get(components) ?? indexOf(components);
  indexes.set(components, known);
  return known.get(keyOf(gvk));
}

/** Names of components by the kind they describe. A server asks for every kind of a document in turn, and documents do not change. */
const indexes = new WeakMap<object, ReadonlyMap<string, string>>();

function indexOf(components: Readonly<Record<string, unknown>>): ReadonlyMap<string, string> {
  const names = new Map<string, string>();
  for (const [name, schema] of Object.entries(components)) {
    const kind = isJsonObject(schema) ? describedKind(schema[kindsExtension]) : undefined;
    if (kind !== undefined && !names.has(kind)) names.set(kind, name);
  }
  return names;
}

function describedKind(kinds: unknown): string | undefined {
  if (!Array.isArray(kinds) || kinds.length !== 1 || !isJsonObject(kinds[0])) return undefined;
  const { group = "", version = "", kind = "" } = kinds[0] as Partial<GroupVersionKind>;
  return keyOf({ group, version, kind });
}

const keyOf = ({ group, version, kind }: GroupVersionKind): string => `${group}/${version}/${kind}`;
