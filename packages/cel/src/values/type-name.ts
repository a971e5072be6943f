// SPDX-License-Identifier: Apache-2.0
import { CelError } from "./cel-error.ts";
import { ConstructedValue } from "./constructed.ts";
import { Duration } from "./duration.ts";
import { Uint } from "./integers.ts";
import { ListValue } from "./list.ts";
import { MapValue } from "./map.ts";
import { OpaqueValue } from "./opaque.ts";
import { OptionalValue } from "./optional.ts";
import { Timestamp } from "./timestamp.ts";
import { TypeValue } from "./type-value.ts";
import type { Value } from "./value.ts";

/** The name of a value's type. */
export function typeNameOf(value: Value): string {
  switch (typeof value) {
    case "boolean":
      return "bool";
    case "bigint":
      return "int";
    case "number":
      return "double";
    case "string":
      return "string";
    default:
      return objectTypeName(value);
  }
}

function objectTypeName(value: Exclude<Value, boolean | bigint | number | string>): string {
  if (value === null) return "null_type";
  if (value instanceof ListValue) return "list";
  if (value instanceof ConstructedValue) return value.typeName;
  if (value instanceof MapValue) return "map";
  if (value instanceof Uint) return "uint";
  if (value instanceof Uint8Array) return "bytes";
  if (value instanceof OptionalValue) return "optional_type";
  if (value instanceof Timestamp) return "google.protobuf.Timestamp";
  if (value instanceof Duration) return "google.protobuf.Duration";
  if (value instanceof TypeValue) return "type";
  if (value instanceof OpaqueValue) return value.typeName;
  return value instanceof CelError ? "error" : "unknown";
}
