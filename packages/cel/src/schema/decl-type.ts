// SPDX-License-Identifier: Apache-2.0
import type { Schema } from "@purlin/kube-objects/schema";
import type { Environment, Fields } from "../check/environment.ts";
import {
  boolType,
  bytesType,
  type CelType,
  doubleType,
  durationType,
  dynType,
  intType,
  listOf,
  mapOf,
  optionalOf,
  stringType,
  structType,
  timestampType,
} from "../types/types.ts";
import { escapeName, valueSchema, withResourceFields } from "./schema-node.ts";

/** What a schema means to an expression: its type, and how large its values can be. */
export interface DeclType {
  readonly kind: "scalar" | "list" | "map" | "object";
  /** The type of a scalar. */
  readonly scalar?: CelType;
  /** The fields of an object by escaped name. */
  readonly fields?: ReadonlyMap<string, DeclType>;
  /** The elements of a list or the values of a map. */
  readonly element?: DeclType;
  /** The keys of a map that are bounded. */
  readonly key?: DeclType;
  /** A map whose entries have the same bound when they are selected by name. */
  readonly hasBoundedEntries?: boolean;
  /** How many characters, elements or entries there can be. */
  readonly maxElements: bigint;
  /** The bytes the shortest value takes as JSON. */
  readonly minSize: number;
}

/** The largest request the API server takes, which bounds everything that has no bound of its own. */
export const maxRequestBytes: number = 3 * 1024 * 1024;

const maxTextLength = BigInt(maxRequestBytes - 2);
const mapKey: DeclType = { kind: "scalar", scalar: stringType, maxElements: 0n, minSize: 2 };

/** How deep schemas may be nested; deeper ones would not fit the stack. */
export const maxSchemaDepth = 500;

/** What a schema means to expressions, or undefined when they cannot see its values. */
export function declare(schema: Schema, isRoot = false, depth = 0): DeclType | undefined {
  if (depth > maxSchemaDepth) return undefined;
  if (schema["x-kubernetes-int-or-string"]) {
    return { kind: "scalar", scalar: dynType, maxElements: boundedLength(schema), minSize: 1 };
  }
  const seen = isRoot ? withResourceFields(schema) : schema;
  switch (seen.type) {
    case "array":
      return declareList(seen, depth);
    case "object":
      return valueSchema(seen) ? declareMap(seen, depth) : declareObject(seen, depth);
    case "string":
      return declareText(seen);
    case "boolean":
      return { kind: "scalar", scalar: boolType, maxElements: 0n, minSize: 4 };
    case "number":
      return { kind: "scalar", scalar: doubleType, maxElements: 0n, minSize: 1 };
    case "integer":
      return { kind: "scalar", scalar: intType, maxElements: 0n, minSize: 1 };
    default:
      return undefined;
  }
}

const isResource = (schema: Schema): boolean => schema["x-kubernetes-embedded-resource"] === true;

function declareList(schema: Schema, depth: number): DeclType | undefined {
  const element = schema.items && declare(schema.items, isResource(schema.items), depth + 1);
  if (!element) return undefined;
  const fitting = BigInt(Math.floor((maxRequestBytes - 2) / (element.minSize + 1)));
  return { kind: "list", element, maxElements: notNegative(schema.maxItems) ?? fitting, minSize: 2 };
}

function declareMap(schema: Schema, depth: number): DeclType | undefined {
  const values = valueSchema(schema);
  const element = values && declare(values, isResource(values), depth + 1);
  if (!element) return undefined;
  // A key, its quotes, colon and comma take at least six bytes.
  const fitting = BigInt(Math.floor((maxRequestBytes - 2) / (element.minSize + 6)));
  return { kind: "map", element, maxElements: notNegative(schema.maxProperties) ?? fitting, minSize: 2 };
}

function declareObject(schema: Schema, depth: number): DeclType {
  const fields = new Map<string, DeclType>();
  const required = new Set(schema.required ?? []);
  let minSize = 2;
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    const field = declare(property, isResource(property), depth + 1);
    if (!field) continue;
    const escaped = escapeName(name);
    if (escaped !== undefined) fields.set(escaped, field);
    // Defaults are filled in by the server, so requests can leave those fields out.
    const isSent = required.has(name) && (property.default === undefined || property.default === null);
    if (isSent) minSize += Buffer.byteLength(name) + field.minSize + 4;
  }
  return { kind: "object", fields, maxElements: 0n, minSize };
}

interface TextFormat {
  readonly type: CelType;
  readonly maxElements: bigint;
  readonly minSize: number;
}

const textFormats: ReadonlyMap<string, TextFormat> = new Map([
  ["duration", { type: durationType, maxElements: 32n, minSize: 3 }],
  ["date", { type: timestampType, maxElements: 12n, minSize: 12 }],
  ["date-time", { type: timestampType, maxElements: 32n, minSize: 21 }],
]);

function declareText(schema: Schema): DeclType {
  const format = textFormats.get(schema.format ?? "");
  if (format) return { kind: "scalar", scalar: format.type, maxElements: format.maxElements, minSize: format.minSize };
  if (schema.format === "byte") {
    return {
      kind: "scalar",
      scalar: bytesType,
      maxElements: notNegative(schema.maxLength) ?? maxTextLength,
      minSize: 2,
    };
  }
  const choices = schema.enum ?? [];
  const isChoice = schema.maxLength === undefined && choices.length > 0;
  const maxElements = isChoice ? longestText(choices) : boundedLength(schema);
  return { kind: "scalar", scalar: stringType, maxElements, minSize: 2 };
}

/** Lengths are declared in characters and counted in bytes, of which a character takes up to four. */
function boundedLength({ maxLength }: Schema): bigint {
  const characters = notNegative(maxLength);
  return characters === undefined ? maxTextLength : BigInt.asUintN(64, BigInt.asIntN(64, characters * 4n));
}

function longestText(values: readonly unknown[]): bigint {
  const lengths = values.map((value) => (typeof value === "string" ? Buffer.byteLength(value) : 0));
  return BigInt(lengths.reduce((longest, length) => Math.max(longest, length), 0));
}

function notNegative(value: number | bigint | undefined | null): bigint | undefined {
  if (value === undefined || value === null) return undefined;
  const integer = BigInt(value);
  return integer < 0n ? 0n : integer;
}

/** Follows a path of field names, `@items`, `@values` and `@keys` through a declared type. */
export function follow(root: DeclType, path: readonly string[]): DeclType | undefined {
  let current: DeclType | undefined = root;
  for (const step of path) {
    if (step === "@items" || step === "@values") current = current?.element;
    else if (step === "@keys") current = current?.kind === "map" ? (current.key ?? mapKey) : undefined;
    else current = current?.hasBoundedEntries ? current.element : current?.fields?.get(step);
  }
  return current;
}

/** What rules on a schema node can refer to: `self`, and `oldSelf`, which may be optional. */
export function environmentOf(decl: DeclType, hasOptionalOldSelf = false): Environment {
  const objects = new DeclaredObjects();
  const self = celTypeOf(decl, "selfType1", objects);
  return {
    objects,
    variables: new Map([
      ["self", self],
      ["oldSelf", hasOptionalOldSelf ? optionalOf(self) : self],
    ]),
  };
}

/** The fields of declared objects by the name of the object, made when an expression selects one: each of many rules can see a large type. */
export class DeclaredObjects {
  readonly #declared = new Map<string, DeclType>();
  readonly #known = new Map<string, Fields>();

  declare(name: string, decl: DeclType): void {
    this.#declared.set(name, decl);
  }

  get(name: string): Fields | undefined {
    const known = this.#known.get(name);
    const decl = this.#declared.get(name);
    if (known !== undefined || decl === undefined) return known;
    const fields = new Map<string, CelType>();
    for (const [field, type] of decl.fields ?? []) fields.set(field, celTypeOf(type, `${name}.${field}`, this));
    this.#known.set(name, fields);
    return fields;
  }
}

/** The type for the checker. Objects get names by where they stand, and `objects` has their fields. */
export function celTypeOf(decl: DeclType, name: string, objects: DeclaredObjects): CelType {
  switch (decl.kind) {
    case "list":
      return listOf(decl.element ? celTypeOf(decl.element, `${name}.@idx`, objects) : dynType);
    case "map":
      return mapOf(stringType, decl.element ? celTypeOf(decl.element, `${name}.@elem`, objects) : dynType);
    case "object":
      objects.declare(name, decl);
      return structType(name);
    case "scalar":
      return decl.scalar ?? dynType;
  }
}
