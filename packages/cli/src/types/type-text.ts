// SPDX-License-Identifier: Apache-2.0
import type { Work } from "@purlin/base";
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "@purlin/kube-objects/json";
import { referredComponent } from "@purlin/kube-objects/openapi";
import { docComment, docLines, memberName, quoted } from "./generated-text.ts";

// What TypeScript can say of a schema, one level at a time.

/** A member of an object. */
export interface MemberShape {
  readonly name: string;
  readonly schema: JsonObject;
  readonly isRequired: boolean;
  readonly isDefaulted: boolean;
}

/** An object with members of its own. */
export interface ObjectShape {
  readonly is: "object";
  readonly members: readonly MemberShape[];
  /** Whether it may have members that are not listed. */
  readonly isOpen: boolean;
  /** Whether it is a Kubernetes object inside another one. */
  readonly isResource: boolean;
}

/** A value as TypeScript sees it. */
type ValueShape =
  | { readonly is: "alternatives"; readonly texts: readonly string[] }
  | { readonly is: "component"; readonly name: string }
  | { readonly is: "list"; readonly items: JsonObject | undefined }
  | { readonly is: "map"; readonly values: JsonObject | undefined }
  | ObjectShape;

/** A schema's value, and whether null will do as well. */
interface Shape {
  readonly value: ValueShape;
  readonly isNullable: boolean;
}

/** Reads a schema. Keywords in a form that no API server accepts count as absent. */
export function shapeOf(schema: JsonObject): Shape {
  const value = valueShape(schema);
  const hasNull = value.is === "alternatives" && value.texts.some((text) => text === "null" || text === "unknown");
  return { value, isNullable: schema["nullable"] === true && !hasNull };
}

/** Whether the text of a shape needs parentheses before `[]`. */
export function isUnion({ value, isNullable }: Shape): boolean {
  return isNullable || (value.is === "alternatives" && value.texts.length > 1);
}

const anything: ValueShape = { is: "alternatives", texts: ["unknown"] };

function valueShape(schema: JsonObject): ValueShape {
  const component = componentOf(schema);
  if (component !== undefined) return { is: "component", name: component };
  const literals = literalsOf(schema["enum"]);
  if (literals !== undefined) return { is: "alternatives", texts: literals };
  if (schema["x-kubernetes-int-or-string"] === true) return { is: "alternatives", texts: ["number", "string"] };
  switch (schema["type"]) {
    case "string":
      return { is: "alternatives", texts: ["string"] };
    case "integer":
    case "number":
      return { is: "alternatives", texts: ["number"] };
    case "boolean":
      return { is: "alternatives", texts: ["boolean"] };
    case "array":
      return { is: "list", items: objectOf(schema["items"]) };
    case "object":
      return objectValue(schema);
    default:
      return untyped(schema);
  }
}

/** Built-in schemas list the types of a value in oneOf; a schema with properties and no type still is an object. */
function untyped(schema: JsonObject): ValueShape {
  const { oneOf } = schema;
  if (isJsonArray(oneOf) && oneOf.length > 0) {
    const values = oneOf.map((one) => (isJsonObject(one) ? valueShape({ ...one, oneOf: [] }) : anything));
    const texts = values.flatMap((value) => (value.is === "alternatives" ? value.texts : ["unknown"]));
    if (!texts.includes("unknown")) return { is: "alternatives", texts: [...new Set(texts)] };
  }
  const isObject = isJsonObject(schema["properties"]) || schema["x-kubernetes-embedded-resource"] === true;
  return isObject ? objectValue(schema) : anything;
}

function objectValue(schema: JsonObject): ValueShape {
  const { additionalProperties } = schema;
  const isFree = schema["x-kubernetes-preserve-unknown-fields"] === true || additionalProperties === true;
  const isResource = schema["x-kubernetes-embedded-resource"] === true;
  const members = membersOf(schema);
  const values = objectOf(additionalProperties);
  if (members.length > 0 || isResource) {
    return { is: "object", members, isOpen: isFree || values !== undefined, isResource };
  }
  if (values !== undefined || isFree) return { is: "map", values };
  return { is: "object", members, isOpen: false, isResource };
}

function membersOf({ properties, required }: JsonObject): MemberShape[] {
  if (!isJsonObject(properties)) return [];
  const needed = new Set(isJsonArray(required) ? required : []);
  return Object.entries(properties).map(([name, value]) => {
    const schema = isJsonObject(value) ? value : {};
    return { name, schema, isRequired: needed.has(name), isDefaulted: isDefaulted(schema) };
  });
}

/** Whether an API server fills in a value that is missing. */
export function isDefaulted({ default: value }: JsonObject): boolean {
  return value !== undefined && value !== null;
}

/** What a schema refers to, by itself or as the only thing it is all of. */
export function componentOf({ $ref, allOf }: JsonObject): string | undefined {
  if (typeof $ref === "string") return referredComponent($ref);
  const [only, ...more] = isJsonArray(allOf) ? allOf : [];
  return isJsonObject(only) && more.length === 0 && typeof only["$ref"] === "string"
    ? referredComponent(only["$ref"])
    : undefined;
}

/** Larger unions slow the compiler down. */
const maxLiterals = 1000;

/** An enum as literals; undefined where there is none, or one that is too long or has values without a literal. */
function literalsOf(values: JsonValue | undefined): string[] | undefined {
  if (!isJsonArray(values) || values.length === 0 || values.length > maxLiterals) return undefined;
  const texts = values.map(literalOf);
  return texts.every((text) => text !== undefined) ? [...new Set(texts)] : undefined;
}

function literalOf(value: JsonValue): string | undefined {
  if (typeof value === "string") return quoted(value);
  // A larger integer has no number type of its own.
  if (typeof value === "bigint") return "number";
  if (typeof value === "number") return Number.isFinite(value) ? String(value) : "number";
  return value === null || typeof value === "boolean" ? String(value) : undefined;
}

function objectOf(value: JsonValue | undefined): JsonObject | undefined {
  return isJsonObject(value) ? value : undefined;
}

/** Whether a type is for objects that a function writes, or for those that an API server returns, with defaults filled in. */
export type TypeUse = "written" | "observed";

/** What the text of a type depends on beside its schema. */
export interface TypeContext {
  readonly use: TypeUse;
  /** The type of metadata. */
  readonly metadata: string;
  /** The type of a component that schemas refer to; undefined where there is no such component. */
  readonly componentType: (name: string) => string | undefined;
  /**
   * Whether the schema is that of a custom resource: there, an object without properties has no members, and defaults are filled
   * in. Those of built-in schemas are the zero values of Go, and their empty objects are free-form.
   */
  readonly isCustom: boolean;
}

/** Where a value is: how far its lines are indented, and how deeply it is nested. */
interface TypePlace {
  readonly indent: number;
  readonly depth: number;
}

/** Part of a text: finished, or a value that is still a schema. */
export type TypePart = string | ({ readonly schema: JsonObject } & TypePlace);

/** No real schema comes near; a compiler that reads deeper types runs out of stack. */
const maxDepth = 100;
/** The length at which a module is refused. */
const maxTypeLength: number = 16 * 1024 * 1024;

/** Thrown when a type would be larger than the limit. */
export class TypeTooLargeError extends Error {
  override readonly name = "TypeTooLargeError";
}

/** Prints parts. It keeps its own stack, so that depth does not matter, and yields between values. */
export function* typeText(parts: readonly TypePart[], context: TypeContext): Work<string> {
  const pending = parts.toReversed();
  const texts: string[] = [];
  let length = 0;
  for (let part = pending.pop(); part !== undefined; part = pending.pop()) {
    if (typeof part === "string") {
      texts.push(part);
      length += part.length;
      if (length > maxTypeLength) throw new TypeTooLargeError("the types have more than 16 MiB");
      continue;
    }
    for (const next of valueParts(shapeOf(part.schema), part, context).reverse()) pending.push(next);
    yield;
  }
  return texts.join("");
}

function valueParts(shape: Shape, place: TypePlace, context: TypeContext): TypePart[] {
  if (place.depth > maxDepth) return ["unknown"];
  const parts = plainParts(shape, place, context);
  return shape.isNullable ? [...parts, " | null"] : parts;
}

function plainParts({ value }: Shape, place: TypePlace, context: TypeContext): TypePart[] {
  const inside = { ...place, depth: place.depth + 1 };
  switch (value.is) {
    case "alternatives":
      return [value.texts.join(" | ")];
    case "component":
      return [context.componentType(value.name) ?? "unknown"];
    case "list":
      return listParts(value.items, inside);
    case "map":
      return ["{ [key: string]: ", value.values === undefined ? "unknown" : { ...inside, schema: value.values }, " }"];
    case "object":
      return objectParts(value, inside, context);
  }
}

function listParts(items: JsonObject | undefined, inside: TypePlace): TypePart[] {
  if (items === undefined) return ["unknown[]"];
  const item = { ...inside, schema: items };
  return isUnion(shapeOf(items)) ? ["(", item, ")[]"] : [item, "[]"];
}

/** The members of an object in braces. */
export function objectParts(shape: ObjectShape, place: TypePlace, context: TypeContext): TypePart[] {
  const inside = { ...place, indent: place.indent + 1 };
  const indent = spaces(inside);
  const members = shape.isResource ? shape.members.filter(({ name }) => !identity.has(name)) : shape.members;
  const parts = members.flatMap((member) => memberParts(member, inside, context));
  if (shape.isResource) {
    parts.unshift(`${indent}apiVersion: string;\n${indent}kind: string;\n${indent}metadata?: ${context.metadata};\n`);
  }
  if (shape.isOpen) parts.push(`${indent}[key: string]: unknown;\n`);
  if (parts.length === 0) return [context.isCustom ? "{ [key: string]: never }" : "{ [key: string]: unknown }"];
  return ["{\n", ...parts, `${spaces(place)}}`];
}

/** The members that say what an object is. */
const identity: ReadonlySet<string> = new Set(["apiVersion", "kind", "metadata"]);

/** A member, and the name of its type where it has one. */
export interface NamedMember extends MemberShape {
  readonly type?: string;
}

/** One member, with its comment and its line break. */
export function memberParts(member: NamedMember, place: TypePlace, context: TypeContext): TypePart[] {
  const { name, schema, isRequired, isDefaulted } = member;
  const indent = spaces(place);
  const isThere = context.isCustom && isDefaulted ? context.use === "observed" : isRequired;
  const comment = docComment(docLines(schema, { isDefaultShown: context.isCustom }), indent);
  const head = `${comment}${indent}${memberName(name)}${isThere ? "" : "?"}: `;
  return [head, member.type ?? { ...place, schema }, ";\n"];
}

function spaces({ indent }: TypePlace): string {
  return "  ".repeat(indent);
}
