// SPDX-License-Identifier: Apache-2.0
import type { Work } from "@purlin/base";
import { compositionCrds, keptCrds } from "@purlin/composition";
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue, printJson } from "@purlin/kube-objects/json";
import { customResourceComponent, servedVersions } from "@purlin/kube-objects/openapi";
import { packageCrds } from "@purlin/package-manager";
import { builtinComponents, objectMeta } from "./builtin-components.ts";
import type { CustomKind } from "./custom-module.ts";
import { generatedMark, sourcesKeyword } from "./generated-text.ts";
import { componentOf, isDefaulted } from "./type-text.ts";

/** A kind that manifests may have, and the definition that describes it. */
interface ManifestKind {
  readonly apiVersion: string;
  readonly kind: string;
  readonly definition: string;
}

const metadata = definitionReference(objectMeta);

/** What else the schema of manifests is made from. */
export interface SchemaOptions {
  /** Paths of the definitions, recorded in the schema. */
  readonly sources?: readonly string[] | undefined;
  /** The kinds of input that functions take, by the name of the Function. */
  readonly inputs?: ReadonlyMap<string, readonly CustomKind[]> | undefined;
}

/**
 * One JSON Schema for every manifest of a project: the built-in kinds, those of Crossplane and packages, and the given ones. Which of
 * them an object must match is decided by its apiVersion and kind; other kinds are not checked. The input of a pipeline step must
 * match a kind of input of its function, where those are known.
 */
export function* manifestSchema(
  custom: readonly CustomKind[],
  { sources, inputs = new Map() }: SchemaOptions = {},
): Work<string> {
  const kinds: ManifestKind[] = [];
  const definitions = new Map<string, JsonSchema>();
  for (const { name, schema, apiVersion, kind } of builtinComponents().values()) {
    const converted = yield* toJsonSchema(schema, { metadata, isCustom: false });
    if (kind !== undefined) kinds.push({ apiVersion, kind, definition: name });
    definitions.set(name, kind === undefined ? converted : withIdentity(converted, apiVersion, kind));
  }
  for (const { group, version, kind, schema } of [...crossplaneKinds(), ...packageMetaKinds, ...custom]) {
    const definition = customResourceComponent({ group, version, kind });
    const converted = schema === undefined ? {} : yield* toJsonSchema(schema, { metadata, isCustom: true });
    const apiVersion = `${group}/${version}`;
    if (!definitions.has(definition)) kinds.push({ apiVersion, kind, definition });
    definitions.set(definition, withIdentity(converted, apiVersion, kind));
  }
  for (const { group, version, kind, schema } of [...inputs.values()].flat()) {
    const converted = schema === undefined ? {} : yield* toJsonSchema(schema, { metadata, isCustom: true });
    definitions.set(inputDefinition({ group, version, kind }), withIdentity(converted, `${group}/${version}`, kind));
  }
  addInputs(definitions, inputs);
  return schemaText(kinds, definitions, sources);
}

/** Apart from those of manifests: a kind of input may have the name of a kind of object. */
const inputDefinition = (kind: Pick<CustomKind, "group" | "version" | "kind">): string =>
  `input.${customResourceComponent(kind)}`;

const compositionDefinition = customResourceComponent({
  ...{ group: "apiextensions.crossplane.io", version: "v1", kind: "Composition" },
});

/** Makes the steps of Compositions take the inputs of their functions. */
function addInputs(definitions: Map<string, JsonSchema>, inputs: ReadonlyMap<string, readonly CustomKind[]>): void {
  const composition = definitions.get(compositionDefinition);
  const rules = [...inputs].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, kinds]) => inputRule(name, kinds));
  if (composition === undefined || rules.length === 0) return;
  const steps = ["properties", "spec", "properties", "pipeline", "items"];
  definitions.set(compositionDefinition, withMember(composition, steps, { allOf: rules }));
}

function inputRule(name: string, kinds: readonly CustomKind[]): JsonSchema {
  const references = kinds.map((kind) => ({ $ref: definitionReference(inputDefinition(kind)) }));
  const [only] = references;
  return {
    if: { required: ["functionRef"], properties: { functionRef: { properties: { name: { const: name } } } } },
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
    then: { properties: { input: references.length === 1 && only !== undefined ? only : { anyOf: references } } },
  };
}

/** A schema with more keywords at a path inside. */
function withMember(schema: JsonSchema, [first, ...rest]: readonly string[], added: JsonObject): JsonSchema {
  if (first === undefined) return { ...schema, ...added };
  const inner = schema[first];
  return { ...schema, [first]: withMember(isJsonObject(inner) ? inner : {}, rest, added) };
}

function crossplaneKinds(): CustomKind[] {
  const crds = [
    ...compositionCrds(),
    ...keptCrds(),
    ...packageCrds({ functionRevisionSelectors: false, functionRollouts: true }),
  ];
  // Revisions and the lock are written by controllers only.
  return crds.flatMap((crd) => servedVersions(crd)).filter(({ kind }) => !/Revision$|^Lock$/.test(kind));
}

/** What every object says of itself. */
function withIdentity(schema: JsonSchema, apiVersion: string, kind: string): JsonSchema {
  const own = { apiVersion: { const: apiVersion }, kind: { const: kind }, metadata: { $ref: metadata } };
  return { ...schema, type: "object", properties: { ...(schema["properties"] as JsonSchema | undefined), ...own } };
}

/** A line for each kind and each definition, so that a change is a change of few lines. */
function schemaText(
  kinds: readonly ManifestKind[],
  definitions: ReadonlyMap<string, JsonSchema>,
  sources: readonly string[] | undefined,
): string {
  const sorted = kinds.toSorted((a, b) => (a.definition < b.definition ? -1 : 1));
  const rules = sorted.map(({ apiVersion, kind, definition }) => ({
    if: { required: ["apiVersion", "kind"], properties: { apiVersion: { const: apiVersion }, kind: { const: kind } } },
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
    then: { $ref: definitionReference(definition) },
  }));
  const members: [string, string][] = [
    ["$schema", printJson("http://json-schema.org/draft-07/schema#")],
    ["$comment", printJson(generatedMark)],
    ...(sources === undefined ? [] : [[sourcesKeyword, printJson(sources)] as [string, string]]),
    ["type", printJson("object")],
    ["required", printJson(["apiVersion", "kind"])],
    ["properties", printJson({ apiVersion: proposals(sorted, "apiVersion"), kind: proposals(sorted, "kind") })],
    ["allOf", `[\n${rules.map((rule) => printJson(rule)).join(",\n")}\n]`],
    ["definitions", `{\n${definitionLines(definitions).join(",\n")}\n}`],
  ];
  return `{\n${members.map(([name, text]) => `${printJson(name)}: ${text}`).join(",\n")}\n}\n`;
}

/** Values that an editor proposes; any other text will do. */
function proposals(kinds: readonly ManifestKind[], field: "apiVersion" | "kind"): JsonValue {
  const values = [...new Set(kinds.map((kind) => kind[field]))].sort();
  return { anyOf: [{ enum: values }, { type: "string", minLength: 1 }] };
}

function definitionLines(definitions: ReadonlyMap<string, JsonSchema>): string[] {
  const sorted = [...definitions].sort(([a], [b]) => (a < b ? -1 : 1));
  return sorted.map(([name, schema]) => `${printJson(name)}: ${printJson(schema)}`);
}

const text = (description: string): JsonObject => ({ type: "string", description });

const dependency: JsonObject = {
  type: "object",
  required: ["version"],
  properties: {
    apiVersion: text("apiVersion of the package, such as pkg.crossplane.io/v1."),
    kind: { ...text("Kind of the package."), enum: ["Configuration", "Function", "Provider"] },
    package: text("Registry and repository of the package, without a tag."),
    version: text("Versions that will do, such as >=v1.0.0 <v2.0.0, or a digest."),
    configuration: text("Deprecated: use kind and package."),
    function: text("Deprecated: use kind and package."),
    provider: text("Deprecated: use kind and package."),
  },
};

const crossplane: JsonObject = {
  type: "object",
  description: "What the package needs of its control plane.",
  properties: { version: text("Versions of Crossplane that will do, such as >=v2.0.0.") },
};

const capabilities: JsonObject = {
  type: "array",
  description: "What a Function can be used for: composition, operation.",
  items: { type: "string" },
};

function schemaOf(kind: string): JsonObject {
  const properties = {
    crossplane,
    dependsOn: { type: "array", description: "Packages that are installed with this one.", items: dependency },
    ...(kind === "Configuration" ? {} : { capabilities }),
  };
  return {
    type: "object",
    description: `Says that a package is a ${kind}.`,
    properties: { spec: { type: "object", properties } },
  };
}

/** The kinds of package metadata. */
const packageMetaKinds: readonly CustomKind[] = ["Configuration", "Function", "Provider"].map((kind) => ({
  ...{ group: "meta.pkg.crossplane.io", version: "v1", kind },
  schema: schemaOf(kind),
}));

// From the schemas of Kubernetes, a dialect of OpenAPI v3, to JSON Schema (draft 7), which editors read.

/** A JSON Schema that is being made. */
type JsonSchema = Record<string, JsonValue>;

/** How schemas are converted. */
interface JsonSchemaContext {
  /** The reference to the definition of metadata. */
  readonly metadata: string;
  /** Whether the schema is that of a custom resource: there, an object without properties has no members, and defaults are filled in. */
  readonly isCustom: boolean;
}

const copied = [
  ...["title", "description", "minimum", "maximum", "multipleOf", "minLength", "maxLength", "minItems"],
  ...["maxItems", "minProperties", "maxProperties"],
];
/** The formats of draft 7 that mean the same in Kubernetes. */
const formats: ReadonlySet<JsonValue | undefined> = new Set(["date-time", "date", "email", "ipv4", "ipv6", "uri"]);

/** The reference to a definition. */
function definitionReference(name: string): string {
  return `#/definitions/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`;
}

/** Converts a schema, and yields between its parts. */
export function* toJsonSchema(schema: JsonObject, context: JsonSchemaContext): Work<JsonSchema> {
  yield;
  const component = componentOf(schema);
  if (component !== undefined) return { $ref: definitionReference(component) };
  const made: JsonSchema = {};
  for (const key of copied) if (schema[key] !== undefined && schema[key] !== null) made[key] = schema[key];
  if (context.isCustom && isDefaulted(schema)) made["default"] = schema["default"] ?? null;
  copyValues(schema, made);
  const { items, properties, additionalProperties } = schema;
  if (isJsonObject(items)) made["items"] = yield* toJsonSchema(items, context);
  if (isJsonObject(additionalProperties)) {
    made["additionalProperties"] = yield* toJsonSchema(additionalProperties, context);
  }
  if (isJsonObject(properties)) made["properties"] = yield* convertAll(properties, context);
  closeObject(schema, made, context);
  return made;
}

function* convertAll(properties: JsonObject, context: JsonSchemaContext): Work<JsonSchema> {
  const made: [string, JsonValue][] = [];
  for (const [name, property] of Object.entries(properties)) {
    made.push([name, isJsonObject(property) ? yield* toJsonSchema(property, context) : {}]);
  }
  return Object.fromEntries(made);
}

/** The keywords about a value itself. */
function copyValues(schema: JsonObject, made: JsonSchema): void {
  const isNullable = schema["nullable"] === true;
  const type = schema["x-kubernetes-int-or-string"] === true ? ["integer", "string"] : typeOf(schema);
  if (type !== undefined) made["type"] = isNullable ? [type, "null"].flat() : type;
  const { enum: values, pattern, format } = schema;
  if (isJsonArray(values)) made["enum"] = isNullable && !values.includes(null) ? [...values, null] : values;
  if (typeof pattern === "string" && isEditorPattern(pattern)) made["pattern"] = pattern;
  if (formats.has(format) && format !== undefined) made["format"] = format;
  for (const [flag, limit] of [
    ["exclusiveMinimum", "minimum"],
    ["exclusiveMaximum", "maximum"],
  ] as const) {
    const value = made[limit];
    if (schema[flag] !== true || value === undefined) continue;
    made[flag] = value;
    delete made[limit];
  }
}

function typeOf({ type, oneOf }: JsonObject): JsonValue | undefined {
  if (typeof type === "string" && type !== "") return type;
  // Built-in schemas list the types of a value this way.
  const types = isJsonArray(oneOf) ? oneOf.map((one) => (isJsonObject(one) ? one["type"] : undefined)) : [];
  return types.length > 0 && types.every((one) => typeof one === "string") ? types : undefined;
}

/** Go's patterns have syntax that editors refuse; the API server still checks those. */
function isEditorPattern(pattern: string): boolean {
  try {
    new RegExp(pattern, "u");
    return true;
  } catch {
    return false;
  }
}

/** Says which members an object must have, and that it has no others. Fields with a default may be left out. */
function closeObject(schema: JsonObject, made: JsonSchema, { metadata, isCustom }: JsonSchemaContext): void {
  const { properties, required, additionalProperties } = schema;
  const isResource = schema["x-kubernetes-embedded-resource"] === true;
  const isObject = schema["type"] === "object" || isJsonObject(properties);
  if (!isObject && !isResource) return;
  const isFree = schema["x-kubernetes-preserve-unknown-fields"] === true || additionalProperties === true;
  const isKnown = isJsonObject(properties) || isResource || isCustom;
  if (!isFree && additionalProperties === undefined && isKnown) made["additionalProperties"] = false;
  const needed = (isJsonArray(required) ? required : []).filter((name) => !isCustom || !hasDefault(properties, name));
  if (isResource) {
    const own = { apiVersion: { type: "string" }, kind: { type: "string" }, metadata: { $ref: metadata } };
    made["properties"] = { ...(made["properties"] as JsonObject | undefined), ...own };
    needed.push("apiVersion", "kind");
  }
  if (needed.length > 0) made["required"] = [...new Set(needed)];
}

function hasDefault(properties: JsonValue | undefined, name: JsonValue): boolean {
  const property = isJsonObject(properties) && typeof name === "string" ? properties[name] : undefined;
  return isJsonObject(property) && isDefaulted(property);
}
