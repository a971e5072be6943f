// SPDX-License-Identifier: Apache-2.0
import type { ProtobufFieldType as FieldType, JsonValue } from "@purlin/kube-objects";

/** A value that does not fit its field, in the words of Go's JSON package. */
export class TypeMismatch extends Error {
  constructor(message: string) {
    super(message);
    this.name = "TypeMismatch";
  }
}

/** Where a value stands: the struct its field is in, and the names that lead there from the object. */
export interface TypedPlace {
  readonly struct: string;
  readonly path: string;
}

/** `json: cannot unmarshal number into Go struct field ConfigMap.data of type string`. */
export function mismatch(value: JsonValue, goType: string, { struct, path }: TypedPlace): TypeMismatch {
  const where = path === "" ? "Go value" : `Go struct field ${struct}.${path}`;
  return new TypeMismatch(`json: cannot unmarshal ${jsonKind(value)} into ${where} of type ${goType}`);
}

function jsonKind(value: JsonValue): string {
  if (value === null) {
    return "null";
  }
  if (Array.isArray(value)) {
    return "array";
  }
  switch (typeof value) {
    case "boolean":
      return "bool";
    case "bigint":
      return `number ${value}`;
    case "number":
      return Number.isInteger(value) ? "number" : `number ${value}`;
    default:
      return typeof value;
  }
}

/** How Go names a type in such a message. */
export function goTypeText(type: FieldType): string {
  switch (type.kind) {
    case "scalar":
      return type.scalar === "bytes" ? "[]uint8" : type.scalar;
    case "list":
      return `[]${goTypeText(type.of)}`;
    case "map":
      return `map[string]${goTypeText(type.of)}`;
    case "message":
      return type.name.split(".").slice(-2).join(".");
  }
}
