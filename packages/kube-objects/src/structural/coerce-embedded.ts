// SPDX-License-Identifier: Apache-2.0
import { finish, isPartDone, type Work } from "@purlin/base";
import { childPath, type FieldPath, fieldErrorText, indexPath, invalidValue, keyPath } from "../errors/field-error.ts";
import {
  compareUtf8,
  isJsonArray,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  jsonEqual,
  type Mapped,
  ownValue,
  removed,
  setOwnValue,
} from "../json/json-value.ts";
import { findingEmbedded } from "../schema/structural-checks.ts";
import { TypedFormError } from "../typed/special-forms.ts";
import { toTypedMetadata } from "../typed/typed-form.ts";
import { type StructuralNode, structuralNode } from "./defaults-and-pruning.ts";

/** An object whose embedded resources have the form of resources. */
interface Coerced {
  readonly object: JsonObject;
  /** Paths of fields that metadata does not have, sorted. */
  readonly unknown: readonly FieldPath[];
}

/**
 * Gives the resources inside an object (`x-kubernetes-embedded-resource`) their form: `apiVersion` and `kind` are strings, `metadata`
 * has its own fields only, each of its type. Throws a TypedFormError where that is not so, or drops it, as for what was stored before
 * the schema said so. Without embedded resources the object comes back itself.
 */
export function coerceEmbedded(
  object: JsonObject,
  schema: JsonObject,
  options: { readonly dropsInvalid?: boolean } = {},
): Coerced {
  return finish(coercingEmbedded(object, schema, options));
}

/** {@link coerceEmbedded} in parts. */
export function* coercingEmbedded(
  object: JsonObject,
  schema: JsonObject,
  { dropsInvalid = false }: { readonly dropsInvalid?: boolean } = {},
): Work<Coerced> {
  if (!(yield* findingEmbedded(schema))) return { object, unknown: [] };
  const coercer = new Coercer(dropsInvalid);
  const coerced = (yield* coercer.value(object, structuralNode(schema), "")) as JsonObject;
  return { object: coerced, unknown: coercer.unknown.sort(compareUtf8) };
}

/** The object that a member is in. */
interface Parent {
  readonly node: StructuralNode;
  readonly path: FieldPath;
}

class Coercer {
  readonly unknown: FieldPath[] = [];
  readonly #dropsInvalid: boolean;

  constructor(dropsInvalid: boolean) {
    this.#dropsInvalid = dropsInvalid;
  }

  *value(value: JsonValue, node: StructuralNode | undefined, path: FieldPath): Work<JsonValue> {
    if (node === undefined) return value;
    if (isJsonArray(value)) return yield* this.#items(value, node, path);
    return isJsonObject(value) ? yield* this.#members(value, node, path) : value;
  }

  *#items(items: readonly JsonValue[], node: StructuralNode, path: FieldPath): Work<JsonValue> {
    const coerced: JsonValue[] = [];
    for (const [index, item] of items.entries()) {
      if (isPartDone()) yield;
      coerced.push(yield* this.value(item, node.items, indexPath(path, index)));
    }
    return coerced.every((item, index) => item === items[index]) ? items : coerced;
  }

  *#members(object: JsonObject, node: StructuralNode, path: FieldPath): Work<JsonValue> {
    const coerced: Record<string, JsonValue> = {};
    let isSame = true;
    for (const key of Object.keys(object)) {
      if (isPartDone()) yield;
      const value = object[key] as JsonValue;
      const member = yield* this.#member(value, key, { node, path });
      isSame &&= member === value;
      if (member !== removed) setOwnValue(coerced, key, member);
    }
    return isSame ? object : coerced;
  }

  *#member(member: JsonValue, key: string, { node, path }: Parent): Work<Mapped> {
    const coerced = node.isEmbeddedResource ? this.#resourceField(member, key, childPath(path, key)) : member;
    if (coerced === removed) return removed;
    const property = node.property(key);
    if (property !== undefined) return yield* this.value(coerced, property, childPath(path, key));
    return yield* this.value(coerced, node.additional?.node, keyPath(path, key));
  }

  #resourceField(member: JsonValue, key: string, path: FieldPath): Mapped {
    if (key === "metadata") return this.#metadata(member, path);
    if ((key !== "apiVersion" && key !== "kind") || typeof member === "string") return member;
    if (this.#dropsInvalid) return removed;
    throw invalid(path, member, "must be a string");
  }

  #metadata(value: JsonValue, path: FieldPath): JsonValue {
    try {
      const { metadata, unknown } = toTypedMetadata(value);
      this.#note(unknown, path);
      return jsonEqual(value, metadata) ? value : metadata;
    } catch (error) {
      if (!(error instanceof TypedFormError)) throw error;
      if (!this.#dropsInvalid) throw invalid(path, value, error.message);
      return isJsonObject(value) ? this.#fitting(value, path) : value;
    }
  }

  #note(unknown: readonly FieldPath[], path: FieldPath): void {
    for (const field of unknown) this.unknown.push(path + field.slice("metadata".length));
  }

  /** The fields of metadata that are of their type, one by one. */
  #fitting(metadata: JsonObject, path: FieldPath): JsonObject {
    const fitting: Record<string, JsonValue> = {};
    for (const key of Object.keys(metadata)) {
      try {
        const { metadata: one, unknown } = toTypedMetadata({ [key]: ownValue(metadata, key) ?? null });
        this.#note(unknown, path);
        for (const [name, value] of Object.entries(one)) setOwnValue(fitting, name, value);
      } catch (error) {
        if (!(error instanceof TypedFormError)) throw error;
      }
    }
    return fitting;
  }
}

function invalid(path: FieldPath, value: JsonValue, detail: string): TypedFormError {
  return new TypedFormError(fieldErrorText(invalidValue(path, value, detail)));
}
