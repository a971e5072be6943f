// SPDX-License-Identifier: Apache-2.0
// Managers may have recorded their fields at other versions of a kind. Their sets are only meaningful for the object as
// it looks at that version.

import type { Work } from "@purlin/base";
import { goTypeName } from "../json/go-text.ts";
import { isJsonObject, type JsonObject, type JsonValue, ownValue } from "../json/json-value.ts";
import type { ApplyType } from "./apply-type.ts";
import { findingTypeProblem, typeProblem } from "./typed-validate.ts";

/** The versions of a kind and how objects go from one to the other. */
export interface ApplyVersions {
  /** The type of the kind at a version; undefined when there is no such version, or it was removed. */
  readonly typeAt: (apiVersion: string) => ApplyType | undefined;
  /** The object at another version; undefined when there is no such version, or it was removed. */
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

/** How {@link typingObject} treats and names an object. */
interface TypedObjectOptions {
  readonly allowDuplicates: boolean;
  /** What failed, for the error: `failed to create typed patch object`. */
  readonly what: string;
  /** What stands behind the object's name in the error. */
  readonly note?: string;
}

/** The version of an object, and the types of the versions. */
interface TypeContext {
  readonly apiVersion: string;
  readonly versions: ApplyVersions;
}

// Live objects are frozen and met again and again; what was found fine once stays fine.
const checked = new WeakMap<JsonObject, ApplyType>();

/** The object with its type, made in parts. Throws, naming the object, when it does not fit the type. */
export function* typingObject(
  context: TypeContext,
  object: JsonObject,
  { allowDuplicates, what, note = "" }: TypedObjectOptions,
): Work<TypedObject> {
  const type = context.versions.typeAt(context.apiVersion);
  if (!type) throw new Error(`${what} (${objectText(object)})${note}: no corresponding type for ${typeOf(object)}`);
  if (allowDuplicates && checked.get(object) === type) return { type, value: object };
  const problem = yield* findingTypeProblem(type, object, { allowDuplicates });
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

/** A type as the reference prints it: `group/version, Kind=Kind`, with an empty group for core. */
export function typeText(apiVersion: unknown, kind: unknown): string {
  const version = typeof apiVersion === "string" ? apiVersion : "";
  return `${version.includes("/") ? version : `/${version}`}, Kind=${typeof kind === "string" ? kind : ""}`;
}
