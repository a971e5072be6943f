// SPDX-License-Identifier: Apache-2.0
import { createHash } from "node:crypto";
import { isJsonObject, type JsonObject, type JsonValue, ownValue, printJson } from "@purlin/kube-objects/json";

/** Stands for a value that is never shown. Equal values have equal marks, so that a change is seen. */
const mark = "\u0000sensitive:";

/** Replaces sensitive values of objects, and remembers them to scrub texts that repeat them. */
export class Mask {
  readonly #values = new Set<string>();

  /** A copy of an object in which sensitive values are marks: data of Secrets anywhere, and fields that the schema calls sensitive. */
  object(object: JsonObject, schema?: JsonObject | undefined): JsonObject {
    return this.#masked(object, schema) as JsonObject;
  }

  /** A text of an error or an event without the sensitive values that were seen. */
  text(text: string): string {
    let scrubbed = text;
    // Long values first: one may contain another, and the rest of it would stay.
    for (const value of [...this.#values].sort((a, b) => b.length - a.length))
      scrubbed = scrubbed.replaceAll(value, "(sensitive)");
    return scrubbed;
  }

  #masked(value: JsonValue, schema: JsonObject | undefined): JsonValue {
    if (isSensitive(schema)) return this.#hide(value);
    if (Array.isArray(value)) return value.map((item) => this.#masked(item, memberSchema(schema, "items")));
    if (!isJsonObject(value)) return value;
    const isSecret = value["kind"] === "Secret" && value["apiVersion"] === "v1";
    const properties = memberSchema(schema, "properties");
    const entries = Object.entries(value).map(([name, member]): [string, JsonValue] => {
      const given = member ?? null;
      if (isSecret && (name === "data" || name === "stringData") && isJsonObject(given))
        return [name, this.#hideMembers(given)];
      if (name.includes("last-applied")) return [name, this.#hide(given)];
      const own = memberSchema(properties, name) ?? memberSchema(schema, "additionalProperties");
      return [name, this.#masked(given, own)];
    });
    return Object.fromEntries(entries);
  }

  #hideMembers(data: JsonObject): JsonObject {
    return Object.fromEntries(Object.entries(data).map(([name, value]) => [name, this.#hide(value ?? null)]));
  }

  #hide(value: JsonValue): string {
    const text = typeof value === "string" ? value : printJson(value);
    this.#remember(text);
    return `${mark}${createHash("sha256").update(text).digest("hex")}`;
  }

  #remember(text: string): void {
    const decoded = Buffer.from(text, "base64").toString("utf8");
    const encoded = Buffer.from(text).toString("base64");
    for (const form of [text, decoded, encoded])
      if (form.length >= 8 && !form.includes("\ufffd")) this.#values.add(form);
  }
}

/** Whether a value is the mark of a sensitive one. */
export function isMasked(value: JsonValue | undefined): boolean {
  return typeof value === "string" && value.startsWith(mark);
}

/** A masked value with texts in the place of marks. */
export function shownValue(value: JsonValue): JsonValue {
  if (isMasked(value)) return "(sensitive)";
  if (Array.isArray(value)) return value.map(shownValue);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, shownValue(member ?? null)]));
}

/** Whether a value contains the mark of a sensitive one. */
export function hasMasked(value: JsonValue | undefined): boolean {
  if (Array.isArray(value)) return value.some(hasMasked);
  return isJsonObject(value) ? Object.values(value).some((member) => hasMasked(member)) : isMasked(value);
}

function isSensitive(schema: JsonObject | undefined): boolean {
  if (schema === undefined) return false;
  return schema["format"] === "password" || schema["writeOnly"] === true || schema["x-purlin-sensitive"] === true;
}

function memberSchema(schema: JsonObject | undefined, name: string): JsonObject | undefined {
  const member = schema === undefined ? undefined : ownValue(schema, name);
  return isJsonObject(member) ? member : undefined;
}
