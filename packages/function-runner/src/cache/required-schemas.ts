// SPDX-License-Identifier: Apache-2.0
// A request's tag is made before a function says which schemas it requires, so a cached response carries their digests.
import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import { encode, type RunFunctionRequest, type RunFunctionResponse, Schema } from "@purlin/function-protocol";
import { type FetchSchema, untilAborted } from "../requirements/settle-requirements.ts";
import type { StoredResponse } from "./cache-file.ts";

const absent = new Uint8Array();

/** The digests of the schemas that a response requires, as its function got them with the last request. */
export function requiredDigests(
  { requirements }: RunFunctionResponse,
  { requiredSchemas }: RunFunctionRequest,
): ReadonlyMap<string, Uint8Array> {
  return new Map([...(requirements?.schemas.keys() ?? [])].map((name) => [name, digestOf(requiredSchemas.get(name))]));
}

/** Whether a schema that a stored response requires has come, changed or gone since. */
export async function hasNewSchema(
  { response, schemas }: StoredResponse,
  fetch: FetchSchema,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  const required = [...(response.requirements?.schemas ?? [])];
  const same = await Promise.all(
    required.map(async ([name, selector]) => {
      const now = digestOf(await untilAborted(fetch(selector), signal));
      return Buffer.compare(now, schemas.get(name) ?? absent) === 0;
    }),
  );
  return same.includes(false);
}

// Schemas are large, and a fetcher answers with the same object until the schema changes.
const digests = new WeakMap<Schema, Uint8Array>();

function digestOf(schema: Schema | undefined): Uint8Array {
  if (schema?.openapiV3 === undefined) return absent;
  const known = digests.get(schema);
  if (known !== undefined) return known;
  const digest = createHash("sha256").update(encode(Schema, schema)).digest();
  digests.set(schema, digest);
  return digest;
}
