// SPDX-License-Identifier: Apache-2.0
import { isJsonObject, type JsonObject, type JsonValue } from "@purlin/kube-objects/json";
import type { Schema } from "@purlin/kube-objects/schema";

/** Texts by the path that `kubectl explain` takes, such as `spec.pipeline.step`: items and values have the path of their list or map. */
export type FieldTexts = Readonly<Record<string, string>>;

/** The texts of a part, as texts of the whole that has it at a path. */
export function under(path: string, texts: FieldTexts): FieldTexts {
  return Object.fromEntries(Object.entries(texts).map(([name, text]) => [`${path}.${name}`, text]));
}

/** A schema whose fields have the texts of their paths. A field that has a description keeps it. */
export function describeFields(schema: Schema, texts: FieldTexts): Schema {
  return describeAt(schema, "", texts);
}

function describeAt(schema: Schema, path: string, texts: FieldTexts): Schema {
  const described: Record<string, JsonValue> = { ...schema };
  for (const key of ["items", "additionalProperties"] as const) {
    const inner = schema[key];
    if (isJsonObject(inner)) described[key] = describeAt(inner, path, texts);
  }
  if (isJsonObject(schema["properties"]))
    described["properties"] = describeProperties(schema["properties"], path, texts);
  return described;
}

function describeProperties(properties: JsonObject, path: string, texts: FieldTexts): JsonObject {
  const fields = Object.entries(properties).map(([name, field]) => {
    if (!isJsonObject(field)) return [name, field];
    const own = path === "" ? name : `${path}.${name}`;
    const text = texts[own];
    const inner = describeAt(field, own, texts);
    return [name, text === undefined || inner["description"] !== undefined ? inner : { ...inner, description: text }];
  });
  return Object.fromEntries(fields) as JsonObject;
}
