// SPDX-License-Identifier: Apache-2.0
// What a real API server publishes about CRDs in its OpenAPI document of version 2.

import { readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { type JsonObject, type JsonValue, parseJson, printJson } from "../../packages/kube-objects/src/json/index.ts";
import { definitions } from "./prepare-server.ts";
import type { Recording } from "./recording.ts";
import type { ServerClient } from "./server-client.ts";

const file = "packages/kube-apiserver/src/openapi/testdata/v2-definitions.json";
const publishedWithinMs = 60_000;

interface Recorded {
  readonly crds: readonly JsonObject[];
  readonly definitions: Readonly<Record<string, JsonObject>>;
}

/** Definitions of the group, once all kinds are there. Publishing is delayed by a second or more. */
async function published(client: ServerClient, names: readonly string[]): Promise<JsonObject[]> {
  const deadline = Date.now() + publishedWithinMs;
  while (Date.now() < deadline) {
    const document = await client.json("/openapi/v2");
    const all = (document["definitions"] ?? {}) as Record<string, JsonObject>;
    if (names.every((name) => all[name] !== undefined)) {
      return names.map((name) => ({ name, definition: ownWordsOnly(all[name] ?? {}) }));
    }
    await delay(500);
  }
  throw new Error(`/openapi/v2 did not have ${names.join(", ")} within ${publishedWithinMs / 1000}s`);
}

/** How descriptions begin that the server adds to every kind and to every embedded object. */
const added =
  /^(\w+List is a list of |apiVersion defines |kind is a string |metadata is a standard |standard (list|object)|[Ll]ist of |APIVersion defines |Kind is a string |Standard )/;

/** A schema with the descriptions of its CRD, and without those of the server. */
function ownWordsOnly(schema: JsonValue): JsonValue {
  if (Array.isArray(schema)) return schema.map(ownWordsOnly);
  if (typeof schema !== "object" || schema === null) return schema;
  const isAdded = ([name, value]: [string, unknown]): boolean =>
    name === "description" && typeof value === "string" && added.test(value);
  const own = Object.entries(schema as JsonObject).filter((member) => !isAdded(member));
  return Object.fromEntries(own.map(([name, value]) => [name, ownWordsOnly(value)]));
}

const v2Definitions: Recording = {
  subject: "openapi",
  file,
  parse: (text) =>
    Object.entries((parseJson(text) as unknown as Recorded).definitions).map(([name, definition]) => ({
      name,
      definition,
    })),
  print: (entries, previous) => {
    const { crds } = parseJson(previous) as unknown as Recorded;
    const all = Object.fromEntries(entries.map(({ name, definition }) => [String(name), definition]));
    return `${printJson({ crds: [...crds], definitions: all as JsonObject }, { indent: 1 })}\n`;
  },
  answer: async (entries, peers) => {
    const client = await peers.server();
    const { crds } = parseJson(readFileSync(file, "utf8")) as unknown as Recorded;
    for (const crd of crds) await client.create(definitions, crd);
    return published(
      client,
      entries.map(({ name }) => String(name)),
    );
  },
};

export const openapiRecordings: readonly Recording[] = [v2Definitions];
