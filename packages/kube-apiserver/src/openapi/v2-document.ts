// SPDX-License-Identifier: Apache-2.0
import { inTurns, memoize, type Work } from "@purlin/base";
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
import { printDocument } from "./printed-parts.ts";
import {
  bearerToken,
  describedPaths,
  documentVersion,
  type PublishedDocument,
  sameItems,
} from "./published-documents.ts";
import { swaggerProtobuf } from "./swagger-protobuf.ts";

/** How components are referred to in this version. */
function definitionReference(component: string): string {
  return `#/definitions/${component}`;
}

const pathItem = memoize(({ operations }: PathOperations): JsonObject => {
  const { shared, own } = sharedParameters(operations);
  const methods = operations.map((one) => [one.method, operationObject(one, own(one))] as const);
  return { ...Object.fromEntries(methods), ...(shared.length > 0 && { parameters: shared.map(parameterObject) }) };
});

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
  readonly json: Uint8Array;
  /** Encoded on the first request for it. */
  readonly protobuf: () => Promise<Uint8Array>;
  readonly hash: string;
}

/** Keeps the document of the served kinds. It is large and rarely requested, so it is made on the first request. */
export class PublishedV2Document {
  readonly #parts = new WeakMap<PublishedDocument, Part>();
  #made: { readonly from: readonly PublishedDocument[]; readonly document: V2Document } | undefined;

  /** Makes it from the documents of OpenAPI v3. */
  *document(from: readonly PublishedDocument[]): Work<V2Document> {
    const known = this.#made;
    if (known !== undefined && sameItems(known.from, from)) return known.document;
    const parts: Part[] = [];
    for (const one of from) {
      const part = this.#parts.get(one) ?? (yield* partOf(one));
      this.#parts.set(one, part);
      parts.push(part);
    }
    const document = yield* publish(parts);
    this.#made = { from, document };
    return document;
  }
}

/** What one v3 document contributes. */
interface Part {
  readonly paths: JsonObject;
  readonly definitions: Readonly<Record<string, JsonObject>>;
}

const builtinDefinition = memoize(builtinV2Schema);
const customDefinition = memoize(customV2Schema);

function* partOf({ paths, schemas }: PublishedDocument): Work<Part> {
  const definitions: [string, JsonObject][] = [];
  for (const [name, schema] of Object.entries(schemas)) {
    definitions.push([name, name.startsWith("io.k8s.api") ? builtinDefinition(schema) : customDefinition(schema)]);
    yield;
  }
  return { paths: yield* describedPaths(paths, pathItem), definitions: Object.fromEntries(definitions) };
}

function* publish(parts: readonly Part[]): Work<V2Document> {
  const paths = yield* byName(parts.map((part) => part.paths));
  const definitions = yield* byName(parts.map((part) => part.definitions));
  return yield* publishV2({
    swagger: "2.0",
    info: { title: "Kubernetes", version: documentVersion },
    paths,
    definitions,
    securityDefinitions: { BearerToken: bearerToken },
    security: [{ BearerToken: [] }],
  });
}

/** A document with its paths and definitions, ready to be sent. */
export function* publishV2(
  value: JsonObject & { readonly paths: JsonObject; readonly definitions: JsonObject },
): Work<V2Document> {
  const { bytes, hash } = yield* printDocument(value, [value.paths, value.definitions]);
  let protobuf: Promise<Uint8Array> | undefined;
  return { value, json: bytes, protobuf: () => (protobuf ??= inTurns(swaggerProtobuf(value))), hash };
}

const kindsExtension = "x-kubernetes-group-version-kind";

/** The same component is in many documents, and may list other kinds in each: here it lists them all. */
function* byName(objects: readonly JsonObject[]): Work<JsonObject> {
  const found = new Map<string, Set<JsonObject>>();
  for (const object of objects) {
    for (const [name, value] of Object.entries(object as Record<string, JsonObject>)) {
      const known = found.get(name);
      if (known === undefined) found.set(name, new Set([value]));
      else known.add(value);
    }
    yield;
  }
  const merged: [string, JsonObject][] = [];
  for (const [name, values] of found) {
    merged.push([name, withAllKinds([...values])]);
    yield;
  }
  return Object.fromEntries(merged.sort(([a], [b]) => (a < b ? -1 : 1)));
}

function withAllKinds(schemas: readonly JsonObject[]): JsonObject {
  const [schema = {}, ...others] = schemas;
  if (others.length === 0) return schema;
  const kinds = schemas.map(kindsOf);
  if (kinds.every((own) => own.length < 2)) return schema;
  const all = new Map(kinds.flat().map((kind) => [`${kind["group"]} ${kind["version"]}`, kind]));
  return { ...schema, [kindsExtension]: [...all].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, kind]) => kind) };
}

function kindsOf(schema: JsonObject): readonly JsonObject[] {
  const kinds = schema[kindsExtension];
  return Array.isArray(kinds) ? (kinds as readonly JsonObject[]) : [];
}
