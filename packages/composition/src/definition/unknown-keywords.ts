// SPDX-License-Identifier: Apache-2.0

import { isJsonObject, type JsonValue } from "@purlin/kube-objects/json";
import { closestName } from "@purlin/kube-objects/schema";
import { schemaKeywords } from "./check-schema-shape.ts";

/** A keyword of a schema that API servers do not know. */
interface UnknownKeyword {
  /** Where it is, from the schema that was searched. */
  readonly path: readonly (string | number)[];
  /** The keyword that was probably meant. */
  readonly closest: string | undefined;
}

type Path = readonly (string | number)[];

/** Schema keywords that API servers accept and definitions do not check. */
const otherKeywords = [
  "$schema",
  "additionalItems",
  "default",
  "definitions",
  "dependencies",
  "example",
  "externalDocs",
];
const known: ReadonlySet<string> = new Set([...schemaKeywords, ...otherKeywords, "id", "patternProperties"]);
const byName: ReadonlySet<string> = new Set(["properties", "patternProperties", "definitions"]);
const nested: ReadonlySet<string> = new Set(["items", "additionalProperties", "not", "allOf", "anyOf", "oneOf"]);

/** Finds misspelled keywords: an API server drops them silently from the CRD of a definition. Extensions of others (`x-…`) are left alone. */
export function unknownKeywords(schema: JsonValue | undefined, path: Path = []): UnknownKeyword[] {
  if (Array.isArray(schema)) return schema.flatMap((item, index) => unknownKeywords(item, [...path, index]));
  if (schema === undefined || !isJsonObject(schema)) return [];
  return Object.entries(schema).flatMap(([keyword, value]) => {
    const at = [...path, keyword];
    if (byName.has(keyword)) return inEach(value, at);
    if (nested.has(keyword)) return unknownKeywords(value, at);
    const isKnown = known.has(keyword) || (keyword.startsWith("x-") && !keyword.startsWith("x-kubernetes-"));
    return isKnown ? [] : [{ path: at, closest: closestName(keyword, [...known]) }];
  });
}

function inEach(schemas: JsonValue | undefined, path: Path): UnknownKeyword[] {
  if (schemas === undefined || !isJsonObject(schemas)) return [];
  return Object.entries(schemas).flatMap(([name, schema]) => unknownKeywords(schema, [...path, name]));
}
