// SPDX-License-Identifier: Apache-2.0
import { type CelType, param } from "../check/types.ts";
import { ListValue } from "../values/list.ts";
import { MapValue } from "../values/map.ts";
import { typeNameOf } from "../values/type-name.ts";
import type { Value } from "../values/value.ts";

/** Whether a value can be passed where a type is declared. Of a list or map only the first entry is looked at. */
export function fitsType(type: CelType, value: Value): boolean {
  if (type.kind === "dyn" || type.kind === "param") return true;
  if (typeNameOf(value) !== type.name) return false;
  if (value instanceof ListValue) return value.size === 0 || fitsType(param(type, 0), value.get(0));
  if (!(value instanceof MapValue) || value.size === 0) return true;
  for (const key of value.keys()) {
    return fitsType(param(type, 0), key) && fitsType(param(type, 1), value.find(key) ?? null);
  }
  return true;
}
