// SPDX-License-Identifier: Apache-2.0
// An object that was applied, and the one that is stored since: what is in both, and what only one of them has.
import assert from "node:assert/strict";
import type { KubeObject } from "@purlin/kube-client";
import { isJsonObject, type JsonObject, type JsonValue } from "@purlin/kube-objects";

/** Whether everything in `part` is in `whole`, which the server may have completed. */
export function contains(whole: JsonValue | undefined, part: JsonValue, path: string): void {
  if (isJsonObject(part)) {
    assert.ok(isJsonObject(whole), path);
    for (const [key, value] of Object.entries(part)) contains(whole[key], value, `${path}.${key}`);
    return;
  }
  if (!Array.isArray(part)) {
    assert.deepEqual(whole, part, path);
    return;
  }
  assert.ok(Array.isArray(whole) && whole.length === part.length, path);
  for (const [index, item] of part.entries()) contains(whole[index], item, `${path}[${index}]`);
}

/** Whether a composite resource's field manager has applied no field to `stored` that is not in `wanted`. */
export function appliedOnly(stored: KubeObject, wanted: JsonObject, path: string): void {
  const ours = (stored.metadata.managedFields ?? []).filter(
    ({ manager = "", operation }) =>
      operation === "Apply" && manager.startsWith("apiextensions.crossplane.io/composed/"),
  );
  assert.equal(ours.length, 1, `${path}: one manager applied it`);
  hasFields(wanted, (ours[0]?.fieldsV1 ?? {}) as JsonObject, path);
}

/** Fields of lists are those of some item: which one, `contains` has shown. */
function hasFields(wanted: JsonValue | undefined, fields: JsonObject, path: string): void {
  for (const [key, below] of Object.entries(fields)) {
    if (!key.startsWith("f:")) continue;
    const name = key.slice(2);
    assert.ok(isJsonObject(wanted) && wanted[name] !== undefined, `${path}.${name} was applied`);
    if (isJsonObject(below)) hasFields(wanted[name], below, `${path}.${name}`);
  }
}
