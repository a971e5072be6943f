// SPDX-License-Identifier: Apache-2.0
import type { JsonObject } from "@purlin/kube-objects/json";
import { memberAt } from "@purlin/kube-objects/object";

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
