// SPDX-License-Identifier: Apache-2.0
import { Buffer } from "node:buffer";
import { isJsonObject, type JsonObject } from "@purlin/kube-objects/json";
import type { ResourceReader } from "../requirements/objects-reader.ts";
import { RunnerError } from "../runner-error.ts";

/** One Secret. */
interface SecretQuery {
  readonly namespace: string;
  readonly name: string;
  readonly signal?: AbortSignal | undefined;
}

/** Where credentials are read from. */
export interface SecretReader {
  /** The data of a Secret as bytes. Rejects when it does not exist. */
  read(query: SecretQuery): Promise<ReadonlyMap<string, Uint8Array>>;
}

/** Reads Secrets as objects, as a cluster stores them. */
export function secretsFrom(reader: Pick<ResourceReader, "get">): SecretReader {
  return {
    async read(query) {
      const secret = await reader.get({ group: "", version: "v1", kind: "Secret" }, query);
      if (secret === undefined)
        throw new RunnerError("FETCH", `secrets "${query.name}" not found in namespace "${query.namespace}"`);
      return secretData(secret);
    },
  };
}

/** The data of a Secret: `data` is base64, and `stringData`, which only authored ones have, wins over it. */
export function secretData(secret: JsonObject): Map<string, Uint8Array> {
  const data = new Map<string, Uint8Array>();
  for (const [key, value] of membersOf(secret["data"], "data")) data.set(key, fromBase64(key, value));
  for (const [key, value] of membersOf(secret["stringData"], "stringData")) data.set(key, Buffer.from(value));
  return data;
}

function membersOf(value: unknown, field: string): [string, string][] {
  if (value === undefined || value === null) return [];
  if (!isJsonObject(value)) throw new RunnerError("FETCH", `the Secret's ${field} is not an object`);
  return Object.entries(value).map(([key, text]) => {
    if (typeof text === "string") return [key, text];
    if (text === null) return [key, ""];
    throw new RunnerError("FETCH", `the Secret's ${field} "${key}" is not a string`);
  });
}

/** Node skips what is not base64; an API server refuses it, and so must we: half a key is worse than none. */
function fromBase64(key: string, text: string): Uint8Array {
  const packed = text.replace(/[\r\n]/g, "");
  const isBase64 = packed.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(packed);
  if (!isBase64) throw new RunnerError("FETCH", `the Secret's data "${key}" is not base64`);
  return Buffer.from(packed, "base64");
}
