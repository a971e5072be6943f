// SPDX-License-Identifier: Apache-2.0
import {
  checkEmbeddedResources,
  checkListTypes,
  checkValue,
  type FieldError,
  fieldErrorText,
  invalidValue,
  type JsonObject,
  type SchemaFinding,
} from "@purlin/kube-objects";
import { isUnchangedAt } from "./correlate.ts";

/** Runs the CEL rules of a schema over an object. */
export type RunRules = (
  object: JsonObject,
  old: JsonObject | undefined,
) => { readonly errors: readonly FieldError[]; readonly unchanged: readonly FieldError[] };

/** What validation found: errors, and warnings about what an update left as wrong as it was. */
export interface CustomFindings {
  readonly errors: readonly FieldError[];
  readonly warnings: readonly string[];
}

/** Findings that say the object is not of the schema's shape: rules written for that shape cannot be run. */
const stopsRules: ReadonlySet<string> = new Set([
  "FieldValueRequired",
  "FieldValueNotSupported",
  "FieldValueTooLong",
  "FieldValueTooMany",
  "FieldValueTypeInvalid",
]);

const notChecked =
  "some validation rules were not checked because the object was invalid; correct the existing errors to complete validation";

/** Validates a custom object against its schema and rules; `old` is the object it is to replace. */
export function validateCustom(
  object: JsonObject,
  old: JsonObject | undefined,
  { schema, runRules }: { readonly schema: JsonObject; readonly runRules: RunRules | undefined },
): CustomFindings {
  const values = checkValue(object, schema).filter(
    (finding) => old === undefined || !isForgiven(finding, object, old, schema),
  );
  const embedded = checkEmbeddedResources(object, schema);
  const lists = old !== undefined && checkListTypes(old, schema).length > 0 ? [] : checkListTypes(object, schema);
  const shape = [...values, ...embedded, ...lists].flatMap(toFieldErrors);
  if (runRules === undefined) return { errors: shape, warnings: [] };
  if (shape.some(({ type }) => stopsRules.has(type))) {
    return { errors: [...shape, invalidValue(undefined, null, notChecked)], warnings: [] };
  }
  const { errors, unchanged } = runRules(object, old);
  return { errors: [...shape, ...errors], warnings: unchanged.map(fieldErrorText) };
}

function toFieldErrors({ type, field, body }: SchemaFinding): FieldError[] {
  return type === "UnknownField" ? [] : [{ type, field, body }];
}

/** An update is not blamed for what it left as it was; what a composition of schemas finds is never forgiven. */
function isForgiven(finding: SchemaFinding, object: JsonObject, old: JsonObject, schema: JsonObject): boolean {
  if (finding.field === "<nil>" || finding.path === "") return false;
  return isUnchangedAt(placeOf(finding), object, old, schema);
}

/** A missing field is a fault of the object that lacks it. */
function placeOf({ type, path }: SchemaFinding): string {
  return type === "FieldValueRequired" ? path.replace(/(\.[^.[\]]+|\[[^\]]+\])$/, "") : path;
}
