// SPDX-License-Identifier: Apache-2.0
import type { Work } from "@purlin/base";
import { type FieldError, invalidValue } from "@purlin/kube-objects/errors";
import {
  isJsonArray,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  jsonEqual,
  ownValue,
  printJson,
} from "@purlin/kube-objects/json";
import {
  checkingEmbeddedResources,
  checkingListTypes,
  checkingValue,
  type SchemaFinding,
} from "@purlin/kube-objects/schema";
import { type ScaleFields, scaleSpecProblems, scaleStatusProblems } from "../scale/scale-object.ts";
import type { ObjectChange } from "../strategy/object-strategy.ts";

/** What the CEL rules of a schema say about an object: errors, and what an update left as wrong as it was. */
interface RuleFindings {
  readonly errors: readonly FieldError[];
  readonly unchanged: readonly FieldError[];
}

/** Runs the CEL rules of a schema over an object. */
export type RunRules = (object: JsonObject, old: JsonObject | undefined) => Work<RuleFindings>;

/** What a custom object is validated by. */
export interface CustomRules {
  readonly schema: JsonObject;
  readonly scale: ScaleFields | undefined;
  readonly runRules: RunRules | undefined;
}

/** What validation found. */
export interface CustomFindings {
  /** What is wrong without asking the rules. */
  readonly shape: readonly FieldError[];
  /** What the rules say; `not run` when the shape does not allow it, undefined when there are none. */
  readonly rules: RuleFindings | "not run" | undefined;
}

/** Findings that say the object is not of the schema's shape: rules written for that shape cannot be run. */
const stopsRules: ReadonlySet<string> = new Set([
  "FieldValueRequired",
  "FieldValueNotSupported",
  "FieldValueTooLong",
  "FieldValueTooMany",
  "FieldValueTypeInvalid",
]);

const stops = ({ type }: FieldError): boolean => stopsRules.has(type);

/** Validates a custom object against its schema and rules. */
export function* validateCustom(change: ObjectChange, rules: CustomRules): Work<CustomFindings> {
  const problems = yield* shapeProblems(change, rules);
  yield;
  const shape = [...problems, ...(yield* listProblems(change, rules))];
  yield;
  if (rules.runRules === undefined) return { shape, rules: undefined };
  return { shape, rules: shape.some(stops) ? "not run" : yield* rules.runRules(change.object, change.old) };
}

/** All errors of an object whose metadata has these: they too can stop the rules. */
export function errorsOf({ shape, rules }: CustomFindings, metadata: readonly FieldError[]): readonly FieldError[] {
  if (rules === undefined) return shape;
  if (rules !== "not run" && !metadata.some(stops)) return [...shape, ...rules.errors];
  const notChecked =
    "some validation rules were not checked because the object was invalid; correct the existing errors to complete validation";
  return [...shape, invalidValue(undefined, null, notChecked)];
}

function* shapeProblems(change: ObjectChange, rules: CustomRules): Work<FieldError[]> {
  if (change.endpoint === "status") return yield* statusProblems(change, rules);
  const { object, old } = change;
  const { schema, scale } = rules;
  const values = yield* checkingValue(object, schema, {
    ...(old !== undefined && { forgives: (finding) => isForgiven(finding, { object, old, schema }) }),
  });
  yield;
  const embedded = yield* checkingEmbeddedResources(object, schema);
  return [
    ...values.flatMap(toFieldErrors),
    ...(scale === undefined ? [] : [...scaleSpecProblems(object, scale), ...scaleStatusProblems(object, scale)]),
    ...embedded.flatMap(toFieldErrors),
  ];
}

/** A write to the status is validated for the status only, with paths from the root of the object. */
function* statusProblems({ object, old = {} }: ObjectChange, { schema, scale }: CustomRules): Work<FieldError[]> {
  const status = ownValue(object, "status");
  const properties = ownValue(schema, "properties");
  const own = isJsonObject(properties) ? ownValue(properties, "status") : undefined;
  const forgives = (finding: SchemaFinding): boolean => isForgiven(inStatus(finding), { object, old, schema });
  const isChecked = status !== undefined && isJsonObject(own);
  const values = isChecked ? yield* checkingValue(status, own, { forgives }) : [];
  return [
    ...values.map(inStatus).flatMap(toFieldErrors),
    ...(scale === undefined ? [] : scaleStatusProblems(object, scale)),
  ];
}

function inStatus(finding: SchemaFinding): SchemaFinding {
  const under = (path: string): string => (path.startsWith("[") ? `status${path}` : `status.${path}`);
  const field = finding.field === "<nil>" ? "status" : under(finding.field);
  return { ...finding, field, path: finding.path === "" ? "status" : under(finding.path) };
}

/** An update is not blamed for lists that had items twice before. */
function* listProblems({ object, old }: ObjectChange, { schema }: CustomRules): Work<FieldError[]> {
  const found = yield* checkingListTypes(object, schema);
  if (found.length === 0 || (old !== undefined && (yield* checkingListTypes(old, schema)).length > 0)) return [];
  return found.flatMap(toFieldErrors);
}

function toFieldErrors({ type, field, body }: SchemaFinding): FieldError[] {
  return type === "UnknownField" ? [] : [{ type, field, body }];
}

interface Updated {
  readonly object: JsonObject;
  readonly old: JsonObject;
  readonly schema: JsonObject;
}

/** An update is not blamed for what it left as it was; what a composition of schemas finds is never forgiven. */
function isForgiven(finding: SchemaFinding, { object, old, schema }: Updated): boolean {
  if (finding.composed || finding.path === "") return false;
  return isUnchangedAt(placeOf(finding), { now: object, before: old, schema });
}

/** A missing field is a fault of the object that lacks it. */
function placeOf({ type, path }: SchemaFinding): string {
  return type === "FieldValueRequired" ? path.slice(0, lastStepOf(path)) : path;
}

/** Where `.name` or `[key]` at the end of a path begins. A pattern would look at keys with many brackets again and again. */
function lastStepOf(path: string): number {
  const start = path.endsWith("]")
    ? path.indexOf("[", path.lastIndexOf("]", path.length - 2) + 1)
    : path.lastIndexOf(".");
  return start === -1 ? path.length : start;
}

type Step = { readonly field: string } | { readonly index: number };

/**
 * Whether the value a finding is about was the same before an update: then the update is not to blame for it. Fields are
 * found again by name, items of a map-like list by their keys; inside other lists the list as a whole decides.
 */
export function isUnchangedAt(
  path: string,
  { now, before, schema }: { readonly now: JsonObject; readonly before: JsonObject; readonly schema: JsonObject },
): boolean {
  const steps = parsePath(path);
  return steps !== undefined && walk(steps, { now, before, schema });
}

interface Place {
  readonly now: JsonValue | undefined;
  readonly before: JsonValue | undefined;
  readonly schema: JsonObject | undefined;
}

function walk(steps: readonly Step[], start: Place): boolean {
  let place = start;
  for (const step of steps) {
    // A key may look like a path of a million steps.
    if (place.now === undefined || place.before === undefined) return false;
    if ("field" in step) {
      place = member(place, step.field);
      continue;
    }
    const listType = place.schema && ownValue(place.schema, "x-kubernetes-list-type");
    if (listType !== "map") return isSame(place);
    place = item(place, step.index);
  }
  return isSame(place);
}

function isSame({ now, before }: Place): boolean {
  if (now === undefined || before === undefined) return false;
  return isJsonArray(now) ? isSameList(now, before) : jsonEqual(now, before);
}

// Every finding inside a list asks about the whole list.
const compared = new WeakMap<readonly JsonValue[], { readonly before: JsonValue; readonly same: boolean }>();

function isSameList(now: readonly JsonValue[], before: JsonValue): boolean {
  const known = compared.get(now);
  if (known !== undefined && known.before === before) return known.same;
  const same = jsonEqual(now, before);
  compared.set(now, { before, same });
  return same;
}

function member({ now, before, schema }: Place, name: string): Place {
  return { now: memberOf(now, name), before: memberOf(before, name), schema: memberSchema(schema, name) };
}

function memberOf(value: JsonValue | undefined, name: string): JsonValue | undefined {
  return isJsonObject(value) ? ownValue(value, name) : undefined;
}

function memberSchema(schema: JsonObject | undefined, name: string): JsonObject | undefined {
  const properties = schema && ownValue(schema, "properties");
  const property = isJsonObject(properties) ? ownValue(properties, name) : undefined;
  const found = property ?? (schema && ownValue(schema, "additionalProperties"));
  return isJsonObject(found) ? found : undefined;
}

function item({ now, before, schema }: Place, index: number): Place {
  const items = schema && ownValue(schema, "items");
  const keys = schema && ownValue(schema, "x-kubernetes-list-map-keys");
  const current = isJsonArray(now) ? now[index] : undefined;
  const names = isJsonArray(keys) ? keys.map(String) : [];
  const earlier =
    isJsonArray(before) && current !== undefined ? itemsByKeys(before, names).get(keyText(current, names)) : undefined;
  return { now: current, before: earlier, schema: isJsonObject(items) ? items : undefined };
}

// There may be a finding about every item of a list, and going through all items for each would take the square of that.
const indexed = new WeakMap<readonly JsonValue[], ReadonlyMap<string, JsonValue>>();

/** The items of a map-like list by their keys; of several with the same, the first. */
function itemsByKeys(items: readonly JsonValue[], names: readonly string[]): ReadonlyMap<string, JsonValue> {
  const known = indexed.get(items);
  if (known !== undefined) return known;
  const made = new Map(items.map((one) => [keyText(one, names), one] as const).reverse());
  indexed.set(items, made);
  return made;
}

function keyText(item: JsonValue, names: readonly string[]): string {
  return printJson(names.map((name) => memberOf(item, name) ?? null));
}

/** Reads `spec.list[0].a` and `spec.map[key]`; a key that looks like a number is an index only where there is a list. */
function parsePath(path: string): Step[] | undefined {
  const steps: Step[] = [];
  const token = /\.?([^.[\]]+)|\[(\d+)\]|\[([^\]]+)\]/y;
  while (token.lastIndex < path.length) {
    const match = token.exec(path);
    if (match === null) return undefined;
    const [, field, index, key] = match;
    steps.push(index === undefined ? { field: field ?? key ?? "" } : { index: Number(index) });
  }
  return steps;
}
