// SPDX-License-Identifier: Apache-2.0
import { createHash } from "node:crypto";
import { compareValues } from "@purlin/kube-objects/difference";
import { isJsonObject, type JsonObject, type JsonValue, jsonEqual, printJson } from "@purlin/kube-objects/json";
import type { PlannedChange } from "./plan.ts";

/**
 * Marks what differs between two runs of the same change set, as functions with random output cause it, and takes it out of the digests:
 * the hash of a plan then does not depend on it. Returns the paths, as `Kind name path`.
 */
export function markUnstable(
  changes: Map<string, PlannedChange>,
  again: ReadonlyMap<string, PlannedChange>,
): readonly string[] {
  const found: string[] = [];
  for (const [id, change] of changes) {
    const other = again.get(id);
    if (other?.digest === change.digest && other.class === change.class) continue;
    const unstable = other === undefined ? ["metadata.name"] : differences(change, other);
    changes.set(id, { ...change, unstable, digest: stableDigest(change, other) });
    found.push(...unstable.map((path) => `${change.kind} ${change.resource ?? change.name} ${path}`));
  }
  return found.sort();
}

/** One warning for all that is unstable. */
export function unstableWarning(paths: readonly string[]): readonly string[] {
  if (paths.length === 0) return [];
  const more = paths.length > 5 ? ` and ${paths.length - 5} more` : "";
  return [
    `unstable: two previews differ in ${paths.slice(0, 5).join(", ")}${more}: these values change with every run and are not part of the hash`,
  ];
}

function differences(change: PlannedChange, other: PlannedChange): readonly string[] {
  const paths = compareValues(change.new ?? {}, other.new ?? {}, undefined).map(({ path }) => path);
  // Values that are not shown differ, or the kind of change does.
  return paths.length === 0 ? ["(sensitive)"] : paths;
}

function stableDigest(change: PlannedChange, other: PlannedChange | undefined): string {
  const { class: kind, fields, new: next } = change;
  const form =
    other === undefined
      ? null
      : fields.length > 0
        ? commonOf(shownFields(fields), shownFields(other.fields))
        : commonOf(next, other.new);
  return createHash("sha256")
    .update(printJson([kind, form ?? null]))
    .digest("hex");
}

function shownFields(fields: PlannedChange["fields"]): JsonObject {
  return Object.fromEntries(fields.map((field) => [field.path, { ...field } as JsonObject]));
}

/** What two values have in common, with a mark in place of each leaf that differs. */
function commonOf(one: JsonValue | undefined, other: JsonValue | undefined): JsonValue {
  if (one === undefined || other === undefined) return "(unstable)";
  if (jsonEqual(one, other)) return one;
  if (isJsonObject(one) && isJsonObject(other)) {
    const names = [...new Set([...Object.keys(one), ...Object.keys(other)])].sort();
    return Object.fromEntries(names.map((name) => [name, commonOf(one[name], other[name])]));
  }
  if (Array.isArray(one) && Array.isArray(other) && one.length === other.length)
    return one.map((item, at) => commonOf(item, other[at]));
  return "(unstable)";
}
