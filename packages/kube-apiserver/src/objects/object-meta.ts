// SPDX-License-Identifier: Apache-2.0

import { isJsonObject, type JsonObject, type JsonValue } from "@purlin/kube-objects/json";

import { memberAt, type ObjectMeta, type OwnerReference } from "@purlin/kube-objects/object";

/** The metadata of an object whose shape was checked when it was read. */
export function metaOf(object: JsonObject): ObjectMeta {
  const metadata = object["metadata"];
  return isJsonObject(metadata) ? (metadata as ObjectMeta) : {};
}

/** The object with some of its metadata replaced; undefined takes a field away. */
export function withMeta(
  object: JsonObject,
  changes: { readonly [K in keyof ObjectMeta]?: ObjectMeta[K] | undefined },
): JsonObject {
  const metadata: Record<string, unknown> = { ...metaOf(object) };
  for (const [name, value] of Object.entries(changes)) {
    if (value === undefined) {
      delete metadata[name];
    } else {
      metadata[name] = value;
    }
  }
  return { ...object, metadata: metadata as JsonObject };
}

/** Whether the object is being deleted. */
export function isDeleting(object: JsonObject): boolean {
  const { deletionTimestamp } = metaOf(object);
  return deletionTimestamp !== undefined && deletionTimestamp !== null;
}

/** The object with another member, or without it. */
export function withMember(object: JsonObject, name: string, value: JsonValue | undefined): JsonObject {
  if (value !== undefined) return { ...object, [name]: value };
  if (!Object.hasOwn(object, name)) return object;
  const { [name]: _dropped, ...rest } = object;
  return rest;
}

/** The object with every owner once, and a warning about those that came twice. */
export function dedupedOwners(object: JsonObject): {
  readonly object: JsonObject;
  readonly warnings: readonly string[];
} {
  const owners = metaOf(object).ownerReferences ?? [];
  const distinct = new Map<string, OwnerReference>();
  const repeated: string[] = [];
  for (const owner of owners) {
    // All members are texts and switches, so two that say the same have the same text.
    const text = JSON.stringify(Object.entries(owner).sort());
    if (distinct.has(text)) {
      repeated.push(owner.uid);
    } else {
      distinct.set(text, owner);
    }
  }
  if (repeated.length === 0) return { object, warnings: [] };
  const warning = `.metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: ${repeated.join(", ")}`;
  return { object: withMeta(object, { ownerReferences: [...distinct.values()] }), warnings: [warning] };
}

/** A field to select by: the text at a path. */
function textField(path: string): (object: JsonObject) => string {
  const names = path.split(".");
  return (object) => {
    const value = memberAt(object, names);
    return value === undefined || value === null ? "" : String(value);
  };
}

/** Fields to select by, each named by its path. */
export function textFields(...paths: readonly string[]): Record<string, (object: JsonObject) => string> {
  return Object.fromEntries(paths.map((path) => [path, textField(path)]));
}
