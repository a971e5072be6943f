// SPDX-License-Identifier: Apache-2.0
import type { JsonObject, RunFunctionRequest } from "@purlin/function-protocol";

/** What became of a request for a schema: not asked yet, asked and there is no such kind, or the schema. */
export type SchemaLookup =
  | { readonly state: "pending" }
  | { readonly state: "absent" }
  | { readonly state: "found"; readonly schema: JsonObject };

/** The schema of a name. Undefined while it is pending and when there is no such kind; lookupRequiredSchema tells which. */
export function getRequiredSchema(req: RunFunctionRequest, name: string): JsonObject | undefined {
  return req.requiredSchemas.get(name)?.openapiV3?.value;
}

/** What became of the schema of a name. An empty schema is found: it accepts anything. */
export function lookupRequiredSchema(req: RunFunctionRequest, name: string): SchemaLookup {
  const answer = req.requiredSchemas.get(name);
  if (answer === undefined) return { state: "pending" };
  return answer.openapiV3 === undefined ? { state: "absent" } : { state: "found", schema: answer.openapiV3.value };
}

/** All names that were looked up; undefined when there is no such kind. */
export function allRequiredSchemas(req: RunFunctionRequest): Map<string, JsonObject | undefined> {
  return new Map([...req.requiredSchemas].map(([name, answer]) => [name, answer.openapiV3?.value]));
}
