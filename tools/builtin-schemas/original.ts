// SPDX-License-Identifier: Apache-2.0
// Reads the OpenAPI v3 documents that ship inside the k8s.io/kubernetes module.
import { readFileSync } from "node:fs";
import { join } from "node:path";

/** A JSON object of the original documents. */
export interface Json {
  [key: string]: unknown;
}

/** One original document, as far as this tool reads it. */
export interface OriginalDocument {
  readonly paths: Record<string, Json>;
  readonly components?: { readonly schemas?: Record<string, Json> };
}

/** Reads the document of one path key: `apis/apps/v1` is stored as `apis__apps__v1_openapi.json`. */
export function readOriginal(moduleDirectory: string, key: string): OriginalDocument {
  const file = join(moduleDirectory, "api/openapi-spec/v3", `${key.replaceAll("/", "__")}_openapi.json`);
  return JSON.parse(readFileSync(file, "utf8")) as OriginalDocument;
}

/** Whether a value is a JSON object. */
export function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

const prefix = "#/components/schemas/";

/** The names of all components a value refers to, at any depth, each once. */
export function referencesIn(value: unknown, found: Set<string> = new Set()): Set<string> {
  if (Array.isArray(value)) {
    for (const item of value) referencesIn(item, found);
  } else if (isObject(value)) {
    for (const [key, member] of Object.entries(value)) {
      if (key === "$ref" && typeof member === "string") found.add(member.slice(prefix.length));
      else referencesIn(member, found);
    }
  }
  return found;
}
