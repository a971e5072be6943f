// SPDX-License-Identifier: Apache-2.0
import { createHash } from "node:crypto";
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "@purlin/kube-objects/json";

import { referredComponent } from "@purlin/kube-objects/openapi";
import {
  type Content,
  codeTexts,
  type Operation,
  type Parameter,
  type PathOperations,
  sharedParameters,
} from "./operation.ts";
import {
  bearerToken,
  documentVersion,
  type PublishedDocument,
  type PublishedDocuments,
} from "./published-documents.ts";
import { swaggerProtobuf } from "./swagger-protobuf.ts";

/** The `paths` of an OpenAPI v2 document, by path. */
function v2Paths(paths: readonly PathOperations[]): JsonObject {
  const sorted = paths.toSorted((a, b) => (a.path < b.path ? -1 : 1));
  return Object.fromEntries(sorted.map(({ path, operations }) => [path, pathItem(operations)]));
}

/** How components are referred to in this version. */
function definitionReference(component: string): string {
  return `#/definitions/${component}`;
}

function pathItem(operations: readonly Operation[]): JsonObject {
  const { shared, own } = sharedParameters(operations);
  const methods = operations.map((one) => [one.method, operationObject(one, own(one))] as const);
  return { ...Object.fromEntries(methods), ...(shared.length > 0 && { parameters: shared.map(parameterObject) }) };
}

function operationObject(operation: Operation, own: readonly Parameter[]): JsonObject {
  const { id, tag, action, kind, body, consumes, produces, responses } = operation;
  const parameters = [...(body === undefined ? [] : [bodyParameter(body)]), ...own.map(parameterObject)];
  const answers = Object.entries(responses).map(([code, content]) => [code, answer(Number(code), content)]);
  return {
    consumes,
    produces,
    schemes: ["https"],
    tags: [tag],
    operationId: id,
    ...(parameters.length > 0 && { parameters }),
    responses: { ...Object.fromEntries(answers), 401: { description: codeTexts[401] ?? "" } },
    ...(action !== undefined && { "x-kubernetes-action": action }),
    ...(kind !== undefined && { "x-kubernetes-group-version-kind": { ...kind } }),
  };
}

function bodyParameter(body: Content & { readonly required: boolean }): JsonObject {
  return { name: "body", in: "body", ...(body.required && { required: true }), schema: schemaOf(body) };
}

function answer(code: number, content: Content): JsonObject {
  return { description: codeTexts[code] ?? "", schema: schemaOf(content) };
}

function schemaOf({ component }: Content): JsonObject {
  return component === undefined ? {} : { $ref: definitionReference(component) };
}

function parameterObject({ name, in: where, type }: Parameter): JsonObject {
  return { uniqueItems: true, type, name, in: where, ...(where === "path" && { required: true }) };
}

// A schema of OpenAPI v3 in v2, which knows less: no alternatives, no null, no defaults beside references.

/** Says nothing in this version, or nothing that every reader of it would understand. */
const unknown: ReadonlySet<string> = new Set(["default", "allOf", "anyOf", "oneOf", "not", "nullable"]);
/** What a value that may be anything must not say about itself. */
const shape: ReadonlySet<string> = new Set(["type", "items", "properties", "additionalProperties"]);
const preserves = "x-kubernetes-preserve-unknown-fields";
const embedded = "x-kubernetes-embedded-resource";

/** A component of a built-in kind. */
export function builtinV2Schema(schema: JsonObject): JsonObject {
  const { oneOf } = schema;
  // Quantities and the like: plain strings for clients that do not know the extension.
  return isJsonArray(oneOf) && schema["type"] === undefined
    ? { ...v2Schema(schema), type: "string" }
    : v2Schema(schema);
}

/** A component of a custom kind: its object or its list. */
export function customV2Schema(schema: JsonObject): JsonObject {
  if (schema[preserves] !== true) return v2Schema(schema);
  // A client that finds properties treats every other field as an error.
  const about = Object.entries(schema).filter(([name]) => name.startsWith("x-kubernetes-") && name !== preserves);
  return { type: "object", ...Object.fromEntries(about) };
}

function v2Schema(schema: JsonObject): JsonObject {
  const reference = referenceIn(schema);
  const isAnything = schema["nullable"] === true || schema[preserves] === true;
  const made: Record<string, JsonValue> = {};
  for (const [name, value] of Object.entries(schema)) {
    if (!unknown.has(name) && !(isAnything && shape.has(name))) made[name] = member(name, value);
  }
  if (reference !== undefined) made["$ref"] = definitionReference(reference);
  return schema[embedded] === true && schema[preserves] === true ? withoutType(made) : made;
}

/** The one component a schema stands for. */
function referenceIn({ $ref, allOf }: JsonObject): string | undefined {
  const [only, ...others] = isJsonArray(allOf) ? allOf : [];
  const target = $ref ?? (others.length === 0 && isJsonObject(only) ? only["$ref"] : undefined);
  return typeof target === "string" ? referredComponent(target) : undefined;
}

function member(name: string, value: JsonValue): JsonValue {
  if (name === "properties" && isJsonObject(value)) {
    return Object.fromEntries(
      Object.entries(value).map(([key, one]) => [key, isJsonObject(one) ? v2Schema(one) : one]),
    );
  }
  return (name === "items" || name === "additionalProperties") && isJsonObject(value) ? v2Schema(value) : value;
}

/** The required kind and apiVersion of an embedded object apply only where its members are listed, and here they are not. */
function withoutType({ required, ...schema }: JsonObject): JsonObject {
  const names = isJsonArray(required) ? required.filter((name) => name !== "kind" && name !== "apiVersion") : [];
  return names.length === 0 ? schema : { ...schema, required: names };
}

/** Everything that is served in one OpenAPI v2 document, in both of its forms. */
export interface V2Document {
  readonly value: JsonObject;
  readonly json: () => Uint8Array;
  readonly protobuf: () => Uint8Array;
  readonly hash: string;
}

/** Keeps the document of the served kinds. It is large and rarely requested, so it is made on the first request. */
export class PublishedV2Document {
  readonly #documents: PublishedDocuments;
  readonly #parts = new WeakMap<PublishedDocument, Part>();
  #made: { readonly from: readonly PublishedDocument[]; readonly document: V2Document } | undefined;

  constructor(documents: PublishedDocuments) {
    this.#documents = documents;
  }

  document(): V2Document {
    const from = this.#documents.keys().flatMap((key) => this.#documents.document(key) ?? []);
    const known = this.#made;
    if (known?.from.length === from.length && from.every((one, index) => one === known.from[index])) {
      return known.document;
    }
    const document = publish(from.map((one) => this.#part(one)));
    this.#made = { from, document };
    return document;
  }

  #part(document: PublishedDocument): Part {
    const part = this.#parts.get(document) ?? partOf(document);
    this.#parts.set(document, part);
    return part;
  }
}

/** What one v3 document contributes. */
interface Part {
  readonly paths: JsonObject;
  readonly definitions: Readonly<Record<string, JsonObject>>;
}

function partOf({ paths, schemas }: PublishedDocument): Part {
  const definitions = Object.entries(schemas).map(([name, schema]) => {
    return [name, name.startsWith("io.k8s.api") ? builtinV2Schema(schema) : customV2Schema(schema)] as const;
  });
  return { paths: v2Paths(paths), definitions: Object.fromEntries(definitions) };
}

function publish(parts: readonly Part[]): V2Document {
  const value: JsonObject = {
    swagger: "2.0",
    info: { title: "Kubernetes", version: documentVersion },
    paths: byName(parts.map(({ paths }) => paths)),
    definitions: byName(parts.map(({ definitions }) => definitions)),
    securityDefinitions: { BearerToken: bearerToken },
    security: [{ BearerToken: [] }],
  };
  const json = Buffer.from(JSON.stringify(value));
  let protobuf: Uint8Array | undefined;
  return {
    value,
    json: () => json,
    protobuf: () => (protobuf ??= swaggerProtobuf(value)),
    hash: createHash("sha512").update(json).digest("hex").toUpperCase(),
  };
}

const kindsExtension = "x-kubernetes-group-version-kind";

/** The same component is in many documents, and may list other kinds in each: here it lists them all. */
function byName(objects: readonly JsonObject[]): JsonObject {
  const found = new Map<string, JsonObject>();
  for (const [name, value] of objects.flatMap((object) => Object.entries(object as Record<string, JsonObject>))) {
    const known = found.get(name);
    found.set(name, known === undefined ? value : withKindsOf(known, value));
  }
  return Object.fromEntries([...found].sort(([a], [b]) => (a < b ? -1 : 1)));
}

function withKindsOf(schema: JsonObject, other: JsonObject): JsonObject {
  const [own, more] = [kindsOf(schema), kindsOf(other)];
  if (own.length < 2 && more.length < 2) return schema;
  const all = new Map([...own, ...more].map((kind) => [`${kind["group"]} ${kind["version"]}`, kind]));
  return { ...schema, [kindsExtension]: [...all].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, kind]) => kind) };
}

function kindsOf(schema: JsonObject): readonly JsonObject[] {
  const kinds = schema[kindsExtension];
  return Array.isArray(kinds) ? (kinds as readonly JsonObject[]) : [];
}
