// SPDX-License-Identifier: Apache-2.0
// An object that was applied, and the one that is stored since: what is in both, and what only one of them has.
import assert from "node:assert/strict";
import { isJsonObject, type JsonObject, type JsonValue } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";

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
