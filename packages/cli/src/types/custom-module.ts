// SPDX-License-Identifier: Apache-2.0

import type { Work } from "@purlin/base";
import { isJsonObject, type JsonObject } from "@purlin/kube-objects/json";
import {
  createTypeNames,
  docComment,
  docLines,
  importPath,
  metaModule,
  moduleHeader,
  quoted,
  type TypeNames,
} from "./generated-text.ts";
import {
  isDefaulted,
  type MemberShape,
  memberParts,
  type NamedMember,
  type ObjectShape,
  objectParts,
  shapeOf,
  type TypeContext,
  type TypePart,
  type TypeUse,
  typeText,
} from "./type-text.ts";

/** A kind that a CRD or an XRD defines, in one version. */
export interface CustomKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  /** Undefined where the definition has no schema for its objects. */
  readonly schema: JsonObject | undefined;
}

/** The alias by which modules import what all kinds share. */
const metaAlias = "meta";
const top = { indent: 0, depth: 0 };

/**
 * The module of a group-version: for each kind `App` a type `App`, for objects that a function writes, and `ObservedApp`, for those
 * that it reads: there, fields with a default and the name are always set.
 */
export function* customModule(apiVersion: string, kinds: readonly CustomKind[]): Work<string> {
  const sorted = kinds.toSorted((a, b) => (a.kind < b.kind ? -1 : 1));
  const names = createTypeNames([metaAlias]);
  // Kinds keep their names; what is derived from them gives way.
  const typed = sorted.map((kind) => ({ ...kind, name: names.take(kind.kind) }));
  let text = `${moduleHeader}import type * as ${metaAlias} from ${quoted(importPath(apiVersion, metaModule))};\n`;
  for (const { kind, name, schema } of typed) {
    const shape = rootShape(schema);
    const written = shape.members.map((member) => withType(member, name, names));
    const common = { apiVersion, kind, schema, isOpen: shape.isOpen };
    text += yield* kindText({ ...common, name, members: written, own: written, use: "written" });
    const observedName = names.take(`Observed${name}`);
    const own = written.filter(hasDefault).map((member) => withType(member, observedName, names));
    const members = written.map((member) => own.find((one) => one.name === member.name) ?? member);
    text += yield* kindText({ ...common, name: observedName, members, own, use: "observed" });
  }
  return text;
}

interface KindType extends Pick<CustomKind, "kind" | "schema"> {
  readonly apiVersion: string;
  readonly name: string;
  readonly members: readonly NamedMember[];
  /** The members whose types are printed with the kind. */
  readonly own: readonly NamedMember[];
  readonly isOpen: boolean;
  readonly use: TypeUse;
}

function* kindText({ apiVersion, kind, schema, name, members, own, isOpen, use }: KindType): Work<string> {
  const context = contextOf(use);
  const metadata = use === "written" ? "metadata?: meta.ObjectMeta" : "metadata: meta.ObjectMeta & { name: string }";
  const place = { indent: 1, depth: 1 };
  const parts: TypePart[] = [
    `\n${docComment(docLines(schema ?? {}), "")}export type ${name} = {\n`,
    `  apiVersion: ${quoted(apiVersion)};\n  kind: ${quoted(kind)};\n  ${metadata};\n`,
    ...members.flatMap((member) => memberParts(member, place, context)),
    isOpen ? "  [key: string]: unknown;\n};\n" : "};\n",
    ...own.flatMap((member) => namedParts(member, context)),
  ];
  return yield* typeText(parts, context);
}

function contextOf(use: TypeUse): TypeContext {
  const metadata = `${metaAlias}.ObjectMeta`;
  return { use, metadata, componentType: () => undefined, isCustom: true };
}

/** What a kind has beside what all objects have. An API server keeps everything of a kind without a schema. */
function rootShape(schema: JsonObject | undefined): ObjectShape {
  const { value } = shapeOf(schema ?? {});
  if (value.is !== "object") return { is: "object", members: [], isOpen: true, isResource: false };
  return { ...value, members: value.members.filter(({ name }) => !["apiVersion", "kind", "metadata"].includes(name)) };
}

/** `spec` and `status` have types of their own, which functions name often. */
function withType(member: MemberShape, kind: string, names: TypeNames): NamedMember {
  const { name, schema } = member;
  const { value, isNullable } = shapeOf(schema);
  const isNamed = (name === "spec" || name === "status") && value.is === "object" && !isNullable;
  return isNamed ? { ...member, type: names.take(`${kind}${name === "spec" ? "Spec" : "Status"}`) } : member;
}

/** Whether something in a member has a default, so that what is read differs from what is written. */
function hasDefault({ schema }: MemberShape): boolean {
  const pending: JsonObject[] = [schema];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    if (isDefaulted(next)) return true;
    const { properties, items, additionalProperties } = next;
    const inside = [...(isJsonObject(properties) ? Object.values(properties) : []), items, additionalProperties];
    pending.push(...inside.filter(isJsonObject));
  }
  return false;
}

function namedParts({ type, schema }: NamedMember, context: TypeContext): TypePart[] {
  const { value } = shapeOf(schema);
  if (type === undefined || value.is !== "object") return [];
  const comment = docComment(docLines(schema, { isDefaultShown: false }), "");
  return [`\n${comment}export type ${type} = `, ...objectParts(value, top, context), ";\n"];
}
