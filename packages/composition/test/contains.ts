// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { isJsonObject, type JsonValue } from "@purlin/kube-objects/json";

/** Asserts that everything in `part` is in `whole`, which the server may have completed. */
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
