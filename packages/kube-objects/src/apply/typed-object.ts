// SPDX-License-Identifier: Apache-2.0
import { isJsonObject, type JsonObject } from "../json/json-value.ts";
import { ownValue } from "../json/own-value.ts";
import type { ApplyType } from "./apply-type.ts";
import type { ApplyVersions, TypedObject } from "./apply-versions.ts";
import { typeText } from "./type-text.ts";
import { typeProblem } from "./typed-validate.ts";

/** How {@link typedObject} treats and names an object. */
interface TypedObjectOptions {
  readonly allowDuplicates: boolean;
  /** What failed, for the error: `failed to create typed patch object`. */
  readonly what: string;
  /** What stands behind the object's name in the error. */
  readonly note?: string;
}

// Live objects are frozen and met again and again; what was found fine once stays fine.
const checked = new WeakMap<JsonObject, ApplyType>();

/** The object with its type. Throws, naming the object, when it does not fit the type. */
export function typedObject(
  context: { readonly apiVersion: string; readonly versions: ApplyVersions },
  object: JsonObject,
  { allowDuplicates, what, note = "" }: TypedObjectOptions,
): TypedObject {
  const type = context.versions.typeAt(context.apiVersion);
  if (!type) throw new Error(`${what} (${objectText(object)})${note}: no corresponding type for ${typeOf(object)}`);
  if (allowDuplicates && checked.get(object) === type) return { type, value: object };
  const problem = typeProblem(type, object, { allowDuplicates });
  if (problem === undefined && allowDuplicates && Object.isFrozen(object)) checked.set(object, type);
  if (problem !== undefined) throw new Error(`${what} (${objectText(object)})${note}: ${problem}`);
  return { type, value: object };
}

const typeOf = (object: JsonObject): string => typeText(ownValue(object, "apiVersion"), ownValue(object, "kind"));

/** An object as errors name it: `namespace/name; group/version, Kind=Kind`. */
export function objectText(object: JsonObject): string {
  const metadata = ownValue(object, "metadata");
  const text = (key: string): string => {
    const value = isJsonObject(metadata) ? ownValue(metadata, key) : undefined;
    return typeof value === "string" ? value : "";
  };
  return `${text("namespace")}/${text("name")}; ${typeOf(object)}`;
}
