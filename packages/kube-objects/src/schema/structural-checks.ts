// SPDX-License-Identifier: Apache-2.0
import { finish, isPartDone, type Work } from "@purlin/base";
import { duplicateValue, type FieldError, invalidValue, requiredValue } from "../errors/field-error.ts";
import {
  isContainer,
  isJsonObject,
  type JsonArray,
  type JsonObject,
  type JsonValue,
  ownValue,
  setOwnValue,
} from "../json/json-value.ts";
import { dns1035LabelProblems, pathSegmentName } from "../metadata/names.ts";
import { validateObjectMeta } from "../metadata/validate-metadata.ts";
import { type ObjectMeta, parseApiVersion } from "../object/kube-object.ts";
import { TypedFormError } from "../typed/special-forms.ts";
import { toTypedMetadata } from "../typed/typed-form.ts";
import { bracketedText, fieldPlace, indexPlace, keyPlace, type Place, type SchemaFinding } from "./outcome.ts";
import { SchemaNode, schemaNode } from "./schema-node.ts";
import { maxNesting, valueKey, wholeValue } from "./value-kind.ts";

/**
 * Checks that lists declared as sets hold no item twice, and lists declared as maps no two items with the same keys
 * (`x-kubernetes-list-type`). Of several equal items the second is reported.
 */
export function checkListTypes(value: unknown, schema: JsonObject): SchemaFinding[] {
  return finish(checkingListTypes(value, schema));
}

/** {@link checkListTypes} in parts. */
export function* checkingListTypes(value: unknown, schema: JsonObject): Work<SchemaFinding[]> {
  const findings: SchemaFinding[] = [];
  yield* walkStructure(value, schema, {
    holders: (yield* findingDeclared(schema)).namedItems,
    *list(items, node, place) {
      if (findings.length >= mostFindings) return;
      if (node.listType === "set") findings.push(...(yield* checkSet(items, place)));
      if (node.listType === "map") findings.push(...(yield* checkMap(items, node.listMapKeys, place)));
    },
  });
  return findings;
}

function* checkSet(items: JsonArray, place: Place | undefined): Work<SchemaFinding[]> {
  const repeated = yield* secondOccurrences(items, (item) => valueKey(item ?? null));
  return repeated.map((index) => asFinding(duplicateValue(itemField(place, index), wholeValue(items[index] ?? null))));
}

function* checkMap(items: JsonArray, keys: readonly string[], place: Place | undefined): Work<SchemaFinding[]> {
  const stranger = items.findIndex((item) => item !== null && item !== undefined && !isJsonObject(item));
  if (stranger >= 0) {
    const value = wholeValue(items[stranger] ?? null);
    return [
      asFinding(invalidValue(itemField(place, stranger), value, "must be an object for an array of list-type map")),
    ];
  }
  const [only = ""] = keys;
  const identityOf = (item: JsonValue): string =>
    keys.length === 1 ? keyText(item, only) : JSON.stringify(keys.map((key) => keyText(item, key)));
  const repeated = yield* secondOccurrences(items, identityOf);
  return repeated.map((index) =>
    asFinding(duplicateValue(itemField(place, index), wholeValue(keysOf(items[index], keys)))),
  );
}

function keyText(item: JsonValue | undefined, key: string): string {
  const value = isJsonObject(item) ? ownValue(item, key) : undefined;
  return value === undefined ? "" : valueKey(value);
}

function keysOf(item: JsonValue | undefined, names: readonly string[]): JsonObject {
  const keys: Record<string, JsonValue> = {};
  for (const name of names) {
    const value = isJsonObject(item) ? ownValue(item, name) : undefined;
    if (value !== undefined) setOwnValue(keys, name, value);
  }
  return keys;
}

/** The first ones are enough: a list can have as many findings as items. */
const mostFindings = 100;

function* secondOccurrences(items: JsonArray, identityOf: (item: JsonValue) => string): Work<number[]> {
  const [seen, repeated, found] = [new Set<string>(), new Set<string>(), [] as number[]];
  for (let index = 0; index < items.length && found.length < mostFindings; index++) {
    if (isPartDone()) yield;
    const identity = identityOf(items[index] ?? null);
    if (!seen.has(identity)) seen.add(identity);
    else if (!repeated.has(identity)) {
      repeated.add(identity);
      found.push(index);
    }
  }
  return found;
}

const itemField = (place: Place | undefined, index: number): string => bracketedText(indexPlace(place, index));
const asFinding = (error: FieldError): SchemaFinding => ({ ...error, path: error.field });

/**
 * Checks objects declared as resources of their own (`x-kubernetes-embedded-resource`): they must say what they are by a
 * proper `apiVersion` and `kind`, and their `metadata`, if any, must be proper metadata.
 */
export function checkEmbeddedResources(value: unknown, schema: JsonObject): SchemaFinding[] {
  return finish(findingEmbeddedResources(value, schema, undefined));
}

/** {@link checkEmbeddedResources} in parts. */
export function* checkingEmbeddedResources(value: unknown, schema: JsonObject): Work<SchemaFinding[]> {
  return yield* findingEmbeddedResources(value, schema, (yield* findingDeclared(schema)).embedded);
}

function* findingEmbeddedResources(value: unknown, schema: JsonObject, holders: Holders): Work<SchemaFinding[]> {
  const findings: SchemaFinding[] = [];
  yield* walkStructure(value, schema, {
    holders,
    object(members, node, place) {
      if (!node.embeddedResource || findings.length >= mostFindings) return;
      const pathOf = (name: string): string => bracketedText(fieldPlace(place, name));
      const metadata = ownValue(members, "metadata");
      const errors = [
        ...checkName(pathOf("apiVersion"), ownValue(members, "apiVersion"), apiVersionProblem),
        ...checkName(pathOf("kind"), ownValue(members, "kind"), kindProblem),
        ...(metadata === undefined ? [] : checkEmbeddedMetadata(pathOf("metadata"), metadata)),
      ];
      findings.push(...errors.map((error) => ({ ...error, path: error.field })));
    },
  });
  return findings;
}

/** The schemas that declare something, in themselves or in a part that specifies a value. */
interface Declared {
  readonly embedded: ReadonlySet<JsonObject>;
  readonly namedItems: ReadonlySet<JsonObject>;
}

/** The schemas whose values are visited; undefined for all, where a value is small and its schema may be large. */
type Holders = ReadonlySet<JsonObject> | undefined;

/** Of whole schemas, as in `schemaNode`. */
const declaredIn = new WeakMap<JsonObject, Declared>();

/** What a whole schema declares, found once. */
function* findingDeclared(schema: JsonObject): Work<Declared> {
  const known = declaredIn.get(schema);
  if (known !== undefined) return known;
  const found = { embedded: new Set<JsonObject>(), namedItems: new Set<JsonObject>() };
  yield* collectingDeclared(schema, found, 1);
  declaredIn.set(schema, found);
  return found;
}

function* collectingDeclared(
  schema: JsonObject,
  found: { readonly embedded: Set<JsonObject>; readonly namedItems: Set<JsonObject> },
  depth: number,
): Work<void> {
  const { items, properties, additionalProperties } = schema;
  const parts = [items, additionalProperties, ...(isJsonObject(properties) ? Object.values(properties) : [])];
  if (schema["x-kubernetes-embedded-resource"] === true) found.embedded.add(schema);
  const listType = schema["x-kubernetes-list-type"];
  if (listType === "set" || listType === "map") found.namedItems.add(schema);
  for (const part of parts) {
    if (isPartDone()) yield;
    if (!isJsonObject(part) || depth >= maxNesting) continue;
    yield* collectingDeclared(part, found, depth + 1);
    if (found.embedded.has(part)) found.embedded.add(schema);
    if (found.namedItems.has(part)) found.namedItems.add(schema);
  }
}

/** Whether a whole schema declares embedded resources. */
export function* findingEmbedded(schema: JsonObject): Work<boolean> {
  return (yield* findingDeclared(schema)).embedded.has(schema);
}

function checkName(
  field: string,
  value: JsonValue | undefined,
  problemOf: (text: string) => string | undefined,
): FieldError[] {
  if (value === undefined) return [requiredValue(field)];
  if (typeof value !== "string") return [invalidValue(field, wholeValue(value), "must be a string")];
  const problem = value === "" ? "must not be empty" : problemOf(value);
  return problem === undefined ? [] : [invalidValue(field, value, problem)];
}

function apiVersionProblem(text: string): string | undefined {
  try {
    parseApiVersion(text);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function kindProblem(text: string): string | undefined {
  const problems = dns1035LabelProblems(text.toLowerCase());
  return problems.length === 0 ? undefined : `may have mixed case, but should otherwise match: ${problems.join(",")}`;
}

/**
 * Checks the metadata of an object inside another one. It needs no name, and may be in a namespace or not; the kind is
 * not known, so any name will do that can be part of a path.
 */
function checkEmbeddedMetadata(field: string, metadata: JsonValue): FieldError[] {
  let meta: ObjectMeta;
  try {
    meta = toTypedMetadata(metadata).metadata;
  } catch (error) {
    if (error instanceof TypedFormError) return [invalidValue(field, wholeValue(metadata), error.message)];
    throw error;
  }
  const named = { ...meta, name: meta.name || "fakename" };
  return validateObjectMeta(named, { namespaced: Boolean(meta.namespace), name: pathSegmentName }, field);
}

/** What is done with the lists and objects that a walk comes to. */
interface StructuralVisitor {
  /** The schemas in whose values there is something to do. */
  readonly holders: Holders;
  list?(items: JsonArray, node: SchemaNode, place: Place | undefined): Work<void>;
  object?(members: JsonObject, node: SchemaNode, place: Place | undefined): void;
}

/**
 * Goes in parts through a value along the parts of its schema that specify it (properties, additionalProperties, items), outer
 * values before inner ones. What the schema does not specify is not visited, nor what is nested absurdly deeply.
 */
export function* walkStructure(value: unknown, schema: JsonObject, visitor: StructuralVisitor): Work<void> {
  const node = visitor.holders === undefined ? new SchemaNode(schema) : schemaNode(schema);
  if (isVisited(node, visitor)) yield* walk({ value, node, place: undefined, depth: 1 }, visitor);
}

const isVisited = ({ schema }: SchemaNode, { holders }: StructuralVisitor): boolean => holders?.has(schema) ?? true;

interface Step {
  readonly value: unknown;
  readonly node: SchemaNode;
  readonly place: Place | undefined;
  readonly depth: number;
}

function* walk(step: Step, visitor: StructuralVisitor): Work<void> {
  const { value, node, place, depth } = step;
  if (depth > maxNesting) return;
  if (Array.isArray(value)) {
    if (visitor.list !== undefined) yield* visitor.list(value, node, place);
    const { items } = node;
    if (!items || !isVisited(items, visitor)) return;
    for (let i = 0; i < value.length; i++) {
      if (isPartDone()) yield;
      if (!isContainer(value[i])) continue;
      yield* walk({ value: value[i], node: items, place: indexPlace(place, i), depth: depth + 1 }, visitor);
    }
  } else if (isJsonObject(value)) {
    visitor.object?.(value, node, place);
    for (const key of Object.keys(value)) {
      if (isPartDone()) yield;
      const next = isContainer(value[key]) ? memberStep(step, key) : undefined;
      if (next !== undefined && isVisited(next.node, visitor)) yield* walk(next, visitor);
    }
  }
}

/** The step to a member; undefined when the schema does not specify it. */
function memberStep(from: Step, key: string): Step | undefined {
  const value = ownValue(from.value as JsonObject, key);
  const depth = from.depth + 1;
  const property = from.node.property(key);
  if (property !== undefined) return { value, node: property, place: fieldPlace(from.place, key), depth };
  const { additionalProperties } = from.node;
  if (additionalProperties === undefined || typeof additionalProperties === "boolean") return undefined;
  return { value, node: additionalProperties, place: keyPlace(from.place, key), depth };
}
