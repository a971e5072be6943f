// SPDX-License-Identifier: Apache-2.0
import { fieldErrorText, invalidValue } from "../errors/field-error.ts";
import { childPath, type FieldPath, indexPath, keyPath } from "../errors/field-path.ts";
import { jsonEqual } from "../json/json-equal.ts";
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "../json/json-value.ts";
import { type Mapped, mapItems, mapMembers, removed } from "../json/map-members.ts";
import { ownValue, setOwnValue } from "../json/own-value.ts";
import { compareUtf8 } from "../json/utf8.ts";
import { TypedFormError } from "../typed/typed-error.ts";
import { toTypedMetadata } from "../typed/typed-form.ts";
import { type StructuralNode, structuralNode } from "./structural-node.ts";

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
  { dropsInvalid = false }: { readonly dropsInvalid?: boolean } = {},
): Coerced {
  if (!holdsEmbedded(schema)) return { object, unknown: [] };
  const coercer = new Coercer(dropsInvalid);
  const coerced = coercer.value(object, structuralNode(schema), "") as JsonObject;
  return { object: coerced, unknown: coercer.unknown.sort(compareUtf8) };
}

const known = new WeakMap<JsonObject, boolean>();

/** Whether a schema declares embedded resources anywhere; looked for once. */
function holdsEmbedded(schema: JsonObject): boolean {
  const found = known.get(schema) ?? JSON.stringify(schema).includes('"x-kubernetes-embedded-resource":true');
  known.set(schema, found);
  return found;
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

  value(value: JsonValue, node: StructuralNode | undefined, path: FieldPath): JsonValue {
    if (node === undefined) return value;
    if (isJsonArray(value)) {
      return mapItems(value, (item, index) => this.value(item, node.items, indexPath(path, index)));
    }
    if (!isJsonObject(value)) return value;
    const parent = { node, path };
    return mapMembers(value, (member, key) => this.#member(member, key, parent));
  }

  #member(member: JsonValue, key: string, { node, path }: Parent): Mapped {
    const coerced = node.isEmbeddedResource ? this.#resourceField(member, key, childPath(path, key)) : member;
    if (coerced === removed) return removed;
    const property = node.property(key);
    if (property !== undefined) return this.value(coerced, property, childPath(path, key));
    return this.value(coerced, node.additional?.node, keyPath(path, key));
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
