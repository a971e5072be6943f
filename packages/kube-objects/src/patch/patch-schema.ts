// SPDX-License-Identifier: Apache-2.0
// What a schema says about merging: which lists merge and by which key.

import { findStatusError, type StatusError } from "../errors/status-error.ts";
import { badRequest, patchNotApplicable, unclassifiedError } from "../errors/status-error-constructors.ts";
import { goPlain, goQuote, goTypeName } from "../json/go-text.ts";
import { isJsonObject, type JsonObject, type JsonValue, ownValue } from "../json/json-value.ts";

/** Finds a component by the last part of a reference. */
export type FindComponent = (name: string) => JsonObject | undefined;

/** The schema at one place of an object. */
export interface PatchSchema {
  readonly schema: JsonObject;
  /** The name of the type, for messages. */
  readonly name: string;
  readonly component: FindComponent;
}

/** How a field merges. */
export interface PatchMeta {
  /** `merge`, `replace`, or empty for the default: objects merge, lists are replaced. */
  readonly strategy: string;
  readonly mergeKey: string;
  /** The schema of the field; of its items for a list. */
  readonly field: PatchSchema;
}

/** The schema of a kind to start from. */
export function patchSchemaOf(schema: JsonObject, component: FindComponent): PatchSchema {
  return resolve({ schema, name: "", component });
}

/** How the field of that name merges. Throws, as the reference does, where there are no fields. */
export function fieldMeta(parent: PatchSchema, key: string): PatchMeta {
  const properties = ownValue(parent.schema, "properties");
  const field = isJsonObject(properties) ? ownValue(properties, key) : undefined;
  if (!isJsonObject(field)) throw noField(parent, key);
  const strategies = textOf(ownValue(field, "x-kubernetes-patch-strategy")).split(",");
  return {
    strategy: strategies.find((strategy) => strategy !== "retainKeys") ?? "",
    mergeKey: textOf(ownValue(field, "x-kubernetes-patch-merge-key")),
    field: resolve({ ...parent, schema: field }),
  };
}

/** How a list field merges; its `field` is the schema of the items. */
export function listMeta(parent: PatchSchema, key: string): PatchMeta {
  const meta = fieldMeta(parent, key);
  const items = ownValue(meta.field.schema, "items");
  const schema = isJsonObject(items) ? items : {};
  return { ...meta, field: resolve({ ...meta.field, schema }) };
}

const textOf = (value: JsonValue | undefined): string => (typeof value === "string" ? value : "");

function noField({ schema, name }: PatchSchema, key: string): Error {
  const isMap = isJsonObject(ownValue(schema, "additionalProperties"));
  if (isMap) return new Error("merging an object in json but data type is not struct, instead is: map");
  return new Error(`unable to find api field in struct ${name} for the json field ${goQuote(key)}`);
}

function resolve(place: PatchSchema): PatchSchema {
  const { schema, component } = place;
  const all = ownValue(schema, "allOf");
  const holder = Array.isArray(all) && isJsonObject(all[0]) ? all[0] : schema;
  const reference = ownValue(holder, "$ref");
  if (typeof reference !== "string") return place;
  const name = reference.slice(reference.lastIndexOf("/") + 1);
  const target = component(name);
  if (!target) throw new Error(`schema error: no type found matching: ${name}`);
  return { schema: target, name: name.slice(name.lastIndexOf(".") + 1), component };
}

/** What the items of a list are called in messages. */
export function itemKind({ schema }: PatchSchema): string {
  const type = ownValue(schema, "type");
  return type === "object" ? "struct" : textOf(type);
}

/** A directive has the wrong form: 400. */
export function badDirective(what: "primitive list" | "retainKeys" | "setElementOrder list"): StatusError {
  return badRequest(`invalid patch format of ${what}`);
}

/** A list holds lists: 422. */
export function listOfLists(): StatusError {
  return patchNotApplicable(new Error("lists of lists are not supported"));
}

/** An item has no value under its list's merge key. */
export function noMergeKey(item: JsonObject, key: string): Error {
  return new Error(`map: ${goPlain(item)} does not contain declared merge key: ${key}`);
}

/** A value is not of the type that is needed. */
export function badType(expected: "map" | "list", actual: JsonValue): Error {
  const name = expected === "map" ? "map[string]interface {}" : "[]interface {}";
  return new Error(`expected a ${name}, but received a ${actual === null ? "%!s(<nil>)" : goTypeName(actual)}`);
}

/** An unknown `$patch` directive. */
export function unknownDirective(directive: JsonValue, item: JsonObject): Error {
  return new Error(`unknown patch type: ${textOrNot(directive)} in map: ${goPlain(item)}`);
}

// How Go prints what should have been a string.
function textOrNot(value: JsonValue): string {
  if (typeof value === "string") return value;
  return value === null ? "%!s(<nil>)" : `%!s(${goTypeName(value)}=${goPlain(value)})`;
}

/** What any failure of a strategic merge patch is answered with: its own Status, or 500 with the plain text. */
export function asPatchFailure(error: unknown): StatusError {
  const known = findStatusError(error);
  if (known) return known;
  return unclassifiedError(error instanceof Error ? error.message : String(error), error);
}
