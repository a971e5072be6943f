// SPDX-License-Identifier: Apache-2.0
// Managers may have recorded their fields at other versions of a kind. Their sets are only meaningful for the object as
// it looks at that version.
import { goTypeName } from "../json/go-value.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../json/json-value.ts";
import { ownValue } from "../json/own-value.ts";
import type { ApplyType } from "./apply-type.ts";
import { typeProblem } from "./typed-validate.ts";

/** The versions of a kind and how objects go from one to the other. */
export interface ApplyVersions {
  /** The type of the kind at a version; undefined when there is no such version (any more). */
  readonly typeAt: (apiVersion: string) => ApplyType | undefined;
  /** The object at another version; undefined when there is no such version (any more). */
  readonly convert?: (object: JsonObject, apiVersion: string) => JsonObject | undefined;
}

/** A value together with its type and version. */
export interface TypedObject {
  readonly value: JsonValue;
  readonly type: ApplyType;
}

/**
 * The object at another version; undefined when that version is gone. Throws when the converted object is not of the
 * version's type.
 */
export function atVersion(versions: ApplyVersions, object: TypedObject, apiVersion: string): TypedObject | undefined {
  const { value } = object;
  if (!isJsonObject(value)) throw new Error(`failed to convert value to unstructured for type ${goTypeName(value)}`);
  if (ownValue(value, "apiVersion") === apiVersion) return object;
  const converted = versions.convert?.(value, apiVersion);
  const type = converted && versions.typeAt(apiVersion);
  if (!converted || !type) return undefined;
  const problem = typeProblem(type, converted, { allowDuplicates: false });
  if (problem !== undefined) throw new Error(problem);
  return { value: converted, type };
}
