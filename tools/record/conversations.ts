// SPDX-License-Identifier: Apache-2.0
// Conversations with a real API server, kept to the byte but for what differs from run to run.
import { readFileSync } from "node:fs";
import { type JsonObject, parseJson, printJson } from "../../packages/kube-objects/src/json/index.ts";
import { listOfLines } from "./formats.ts";
import { createNamespace, createWidgets } from "./prepare-server.ts";
import type { Entry, Recording } from "./recording.ts";
import type { Reply } from "./server-client.ts";

const folder = "packages/kube-apiserver/src/rest/testdata";
const agent = { "user-agent": "wire/1.0" };

/** A text with placeholders for identities, versions, times and tokens. */
function masked(text: string): string {
  return text
    .replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, "<uid>")
    .replaceAll(/(resourceVersion\\?"?: ?\\?"?)\d+/g, "$1<version>")
    .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/g, "<time>")
    .replaceAll(/("?continue"?: ?"?)[\w-]{10,}/g, "$1<token>")
    .replaceAll(/"\d+s"/g, '"<age>"')
    .replaceAll(/"description":"[^"]*"/g, '"description":""');
}

const comparable = (entry: Entry): unknown => ({ ...entry, text: masked(String(entry["text"])) });

function answerOf({ code, headers, text }: Reply): JsonObject {
  const { "content-type": type, warning } = headers;
  return {
    code,
    ...(type !== undefined && { type: String(type) }),
    ...(warning !== undefined && { warning: String(warning) }),
    text: masked(text),
  };
}

const wire: Recording = {
  subject: "wire",
  file: `${folder}/wire.json`,
  ...listOfLines,
  isSequence: true,
  comparable,
  answer: async (entries, peers) => {
    const client = await peers.server();
    await createNamespace(client, "wire");
    await createWidgets(client, "wire.example.org");
    const all: Entry[] = [];
    for (const { method, path, headers, body } of entries) {
      const exchange = { method: String(method), headers: { ...agent, ...(headers as Record<string, string>) } };
      const reply = await client.send(
        String(path),
        body === undefined ? exchange : { ...exchange, body: String(body) },
      );
      const question = { method, path, headers, ...(body !== undefined && { body }) } as Entry;
      all.push({ ...question, ...answerOf(reply) });
    }
    return all;
  },
};

interface Watched {
  readonly path: string;
  readonly object: JsonObject;
}

/** The objects that the watches of the recording see. */
const watchedObjects = (): readonly Watched[] =>
  (parseJson(readFileSync(`${folder}/watch-wire.json`, "utf8")) as unknown as { readonly objects: readonly Watched[] })
    .objects;

const watches: Recording = {
  subject: "wire",
  file: `${folder}/watch-wire.json`,
  parse: (text) => [...((parseJson(text) as JsonObject)["answers"] as unknown as readonly Entry[])],
  print: (entries, previous) => {
    const { objects } = parseJson(previous) as { readonly objects: readonly JsonObject[] };
    const list = (all: readonly JsonObject[]): string => all.map((one) => printJson(one)).join(",\n");
    return `{"objects":[\n${list(objects)}\n],"answers":[\n${list(entries)}\n]}\n`;
  },
  isSequence: true,
  comparable,
  answer: async (entries, peers) => {
    const client = await peers.server();
    await createNamespace(client, "wire-watch");
    await createWidgets(client, "wire-watch.example.org");
    for (const { path, object } of watchedObjects()) await client.create(path, object, agent);
    const all: Entry[] = [];
    for (const { path, accept, text } of entries) {
      const lines = String(text).split("\n").length - 1;
      const exchange = { headers: { ...agent, accept: String(accept) }, ...(lines > 0 && { lines }) };
      const { code, type, text: said } = answerOf(await client.send(String(path), exchange)) as Record<string, string>;
      all.push({ path, accept, code, type, text: said } as Entry);
    }
    return all;
  },
};

export const conversationRecordings: readonly Recording[] = [wire, watches];
