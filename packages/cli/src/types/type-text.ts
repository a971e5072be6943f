// SPDX-License-Identifier: Apache-2.0

import type { Work } from "@purlin/base";
import type { JsonObject } from "@purlin/kube-objects/json";
import { docComment, docLines, memberName } from "./generated-text.ts";
import { isUnion, type MemberShape, type ObjectShape, type Shape, shapeOf } from "./schema-shape.ts";

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
