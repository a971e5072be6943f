// SPDX-License-Identifier: Apache-2.0

import { SchemaList, SchemaMapList, SchemaSetList } from "../schema/schema-list.ts";
import { SchemaMap } from "../schema/schema-map.ts";
import { ConcatList } from "../values/collections.ts";
import { typeNameOf } from "../values/describe.ts";
import type { Value } from "../values/value.ts";

const names: ReadonlyMap<string, string> = new Map([
  ["bool", "types.Bool"],
  ["bytes", "types.Bytes"],
  ["double", "types.Double"],
  ["google.protobuf.Duration", "types.Duration"],
  ["google.protobuf.Timestamp", "types.Timestamp"],
  ["int", "types.Int"],
  ["list", "*types.baseList"],
  ["map", "*types.baseMap"],
  ["null_type", "types.Null"],
  ["optional_type", "*types.Optional"],
  ["string", "types.String"],
  ["type", "*types.Type"],
  ["uint", "types.Uint"],
  ["kubernetes.Quantity", "cel.Quantity"],
  ["kubernetes.URL", "cel.URL"],
  ["kubernetes.Semver", "cel.Semver"],
  ["kubernetes.NamedFormat", "cel.Format"],
  ["net.IP", "cel.IP"],
  ["net.CIDR", "cel.CIDR"],
]);

/** What a few messages call a value's type: its name in the program that Kubernetes' users know the messages of. */
export function goTypeName(value: Value): string {
  if (value instanceof SchemaMap) return "*common.unstructuredMap";
  if (value instanceof SchemaMapList) return "*common.unstructuredMapList";
  if (value instanceof SchemaSetList) return "*common.unstructuredSetList";
  if (value instanceof SchemaList) return "*common.unstructuredList";
  if (value instanceof ConcatList) return "*types.concatList";
  return names.get(typeNameOf(value)) ?? "unknown";
}
