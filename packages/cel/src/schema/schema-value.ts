// SPDX-License-Identifier: Apache-2.0
import { CelError } from "../values/cel-error.ts";
import type { Meter } from "../values/meter.ts";
import { OpaqueValue } from "../values/opaque.ts";
import type { Value } from "../values/value.ts";
import { goTypeOf, isRawInteger, isRawObject, isSameJson } from "./raw-json.ts";
import { SchemaList, SchemaMapList, SchemaSetList } from "./schema-list.ts";
import { SchemaMap } from "./schema-map.ts";
import type { SchemaNode } from "./schema-node.ts";
import { readText } from "./text-formats.ts";
import { toRaw } from "./to-raw.ts";

const wrongNull = new CelError("invalid data, got null for schema with nullable=false");
const wrongIntOrString = new CelError("invalid data, expected XIntOrString value to be either a string or integer");
const wrongObject = new CelError("invalid data, expected a map for the provided schema with type=object");
const wrongArray = new CelError("invalid data, expected an array for the provided schema with type=array");

/** JSON read through its schema. What does not fit the schema becomes an error where it stands. */
export function schemaValue(raw: unknown, node: SchemaNode): Value {
  const { schema } = node;
  if (raw === null || raw === undefined) return schema.nullable ? null : wrongNull;
  if (schema["x-kubernetes-int-or-string"]) {
    if (typeof raw === "string") return raw;
    return isRawInteger(raw) ? BigInt(raw) : wrongIntOrString;
  }
  switch (schema.type) {
    case "object":
      return isRawObject(raw) ? new SchemaMap(raw, node, schemaValue) : wrongObject;
    case "array":
      return Array.isArray(raw) ? listValue(raw, node) : wrongArray;
    case "string":
      return typeof raw === "string" ? readText(raw, schema.format) : wrongType("string", raw);
    case "number":
      return typeof raw === "number" || typeof raw === "bigint" ? Number(raw) : wrongType("float", raw);
    case "integer":
      return isRawInteger(raw) ? BigInt(raw) : wrongType("int", raw);
    case "boolean":
      return typeof raw === "boolean" ? raw : wrongType("bool", raw);
    default:
      return schema["x-kubernetes-preserve-unknown-fields"] ? new UnknownData(raw) : wrongSchema(schema.type);
  }
}

function wrongType(expected: string, raw: unknown): CelError {
  return new CelError(`invalid data, expected ${expected}, got ${goTypeOf(raw)}`);
}

function wrongSchema(type = ""): CelError {
  return new CelError(
    "invalid type, expected object, array, number, integer, boolean or string, or no type with " +
      `x-kubernetes-int-or-string or x-kubernetes-preserve-unknown-fields is true, got ${type}`,
  );
}

function listValue(raw: readonly unknown[], node: SchemaNode): Value {
  const { items, schema } = node;
  if (!items) return new CelError("invalid array type, expected Items with a non-empty Schema");
  const parts = { items, read: schemaValue };
  switch (schema["x-kubernetes-list-type"]) {
    case "map":
      return new SchemaMapList(raw, { ...parts, keyNames: node.keyNames });
    case "set":
      return new SchemaSetList(raw, parts);
    default:
      return new SchemaList(raw, parts);
  }
}

/** Data under no schema. It can only be compared. */
class UnknownData extends OpaqueValue {
  readonly typeName = "unknown";
  readonly raw: unknown;

  constructor(raw: unknown) {
    super();
    this.raw = raw;
  }

  equals(other: Value, meter: Meter): boolean {
    return isSameJson(this.raw, other instanceof UnknownData ? other.raw : toRaw(other), meter);
  }

  override toString(): string {
    return "unknown";
  }
}
