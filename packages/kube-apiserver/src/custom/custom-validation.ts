// SPDX-License-Identifier: Apache-2.0

import type { Work } from "@purlin/base";
import { type FieldError, invalidValue } from "@purlin/kube-objects/errors";
import { isJsonObject, type JsonObject, ownValue } from "@purlin/kube-objects/json";
import { checkEmbeddedResources, checkingValue, checkListTypes, type SchemaFinding } from "@purlin/kube-objects/schema";
import type { ObjectChange } from "../strategy/object-strategy.ts";
import { isUnchangedAt } from "./correlate.ts";
import { type ScaleFields, scaleSpecProblems, scaleStatusProblems } from "./scale-problems.ts";

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
  const shape = [...problems, ...listProblems(change, rules)];
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
  return [
    ...values.flatMap(toFieldErrors),
    ...(scale === undefined ? [] : [...scaleSpecProblems(object, scale), ...scaleStatusProblems(object, scale)]),
    ...checkEmbeddedResources(object, schema).flatMap(toFieldErrors),
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
function listProblems({ object, old }: ObjectChange, { schema }: CustomRules): FieldError[] {
  const found = checkListTypes(object, schema);
  if (found.length === 0 || (old !== undefined && checkListTypes(old, schema).length > 0)) return [];
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
  if (finding.field === "<nil>" || finding.path === "") return false;
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
