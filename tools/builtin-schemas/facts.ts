// SPDX-License-Identifier: Apache-2.0
import { isObject, type Json } from "./original.ts";

/** A schema without its descriptions: what remains are facts. A *property* called "description" stays. */
export function factsOf(schema: Json): Json {
  const facts: Json = {};
  for (const [key, value] of Object.entries(schema)) {
    if (key !== "description") facts[key] = factsOfKeyword(key, value);
  }
  return facts;
}

function factsOfKeyword(key: string, value: unknown): unknown {
  if (key === "properties" && isObject(value)) {
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, factsOf(member as Json)]));
  }
  if ((key === "items" || key === "additionalProperties" || key === "not") && isObject(value)) return factsOf(value);
  if (key === "allOf" || key === "anyOf" || key === "oneOf") return (value as Json[]).map(factsOf);
  return value; // default, enum, required, x-kubernetes-*: data, copied as it is
}
