// SPDX-License-Identifier: Apache-2.0

export type TypeKind =
  | "bool"
  | "bytes"
  | "double"
  | "duration"
  | "dyn"
  | "error"
  | "int"
  | "list"
  | "map"
  | "null"
  | "opaque"
  | "param"
  | "string"
  | "struct"
  | "timestamp"
  | "type"
  | "uint";

/** A type as the checker knows it. `name` is the name `type(x)` has at run time. */
export interface CelType {
  readonly kind: TypeKind;
  readonly name: string;
  readonly params: readonly CelType[];
}

const simple = (kind: TypeKind, name: string = kind): CelType => ({ kind, name, params: [] });

export const boolType: CelType = simple("bool");
export const bytesType: CelType = simple("bytes");
export const doubleType: CelType = simple("double");
export const durationType: CelType = simple("duration", "google.protobuf.Duration");
export const dynType: CelType = simple("dyn");
export const errorType: CelType = simple("error");
export const intType: CelType = simple("int");
export const nullType: CelType = simple("null", "null_type");
export const stringType: CelType = simple("string");
export const timestampType: CelType = simple("timestamp", "google.protobuf.Timestamp");
export const typeType: CelType = simple("type");
export const uintType: CelType = simple("uint");

export const listOf = (element: CelType): CelType => ({ kind: "list", name: "list", params: [element] });
export const mapOf = (key: CelType, value: CelType): CelType => ({ kind: "map", name: "map", params: [key, value] });
export const optionalOf = (value: CelType): CelType => opaqueType("optional_type", value);
export const typeOf = (type: CelType): CelType => ({ kind: "type", name: "type", params: [type] });
export const opaqueType = (name: string, ...params: CelType[]): CelType => ({ kind: "opaque", name, params });
export const structType = (name: string): CelType => simple("struct", name);
export const typeParam = (name: string): CelType => simple("param", name);

/** A parameter of a type, which is there because its kind says so. */
export function param(type: CelType, index: number): CelType {
  return type.params[index] ?? dynType;
}

export const isDyn = (type: CelType): boolean => type.kind === "dyn";
export const isOptional = (type: CelType): boolean => type.kind === "opaque" && type.name === "optional_type";

/** The type inside an optional, or the type itself. */
export function withoutOptional(type: CelType): CelType {
  return isOptional(type) ? param(type, 0) : type;
}

/** Whether two types are the same; type parameters are compared by name unless `anyParam` is set. */
export function isSameType(a: CelType, b: CelType, anyParam = false): boolean {
  if (a === b) return true;
  if (a.kind !== b.kind || a.params.length !== b.params.length) return false;
  if (!(anyParam && a.kind === "param") && a.name !== b.name) return false;
  return a.params.every((one, index) => isSameType(one, param(b, index), anyParam));
}

/** A type as messages show it. */
export function formatType(type: CelType): string {
  switch (type.kind) {
    case "duration":
    case "null":
    case "timestamp":
      return type.kind;
    case "error":
      return "!error!";
    default:
      return type.params.length === 0 ? type.name : `${type.name}(${type.params.map(formatType).join(", ")})`;
  }
}

/** Argument types as messages show a call: `target.(a, b)` or `(a, b)`. */
export function formatSignature(args: readonly CelType[], isMember: boolean): string {
  const [target, ...rest] = args;
  if (isMember && target) return `${formatType(target)}.(${rest.map(formatType).join(", ")})`;
  return `(${args.map(formatType).join(", ")})`;
}
