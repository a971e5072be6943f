// SPDX-License-Identifier: Apache-2.0
// Objects as a real API server stores and serves them: as JSON, as protobuf, as YAML and as rows of a table.
import { readFileSync } from "node:fs";
import { type JsonObject, type JsonValue, parseJson, printJson } from "../../packages/kube-objects/src/json/index.ts";
import { decodeProtobuf } from "../../packages/kube-objects/src/typed/index.ts";
import { prettyList } from "./formats.ts";
import { createKind, definitions } from "./prepare-server.ts";
import type { Entry, Recording } from "./recording.ts";
import type { ServerClient } from "./server-client.ts";

const account = "/api/v1/namespaces/default/serviceaccounts/default";
const assigned = ["uid", "resourceVersion", "creationTimestamp", "generation", "managedFields", "ownerReferences"];

/** A stored object as a client would create it. */
export function unassigned(object: JsonObject): JsonObject {
  const metadata = Object.entries((object["metadata"] ?? {}) as JsonObject).filter(
    ([name]) => !assigned.includes(name),
  );
  const { status: _status, ...rest } = object;
  const created = { ...rest, metadata: Object.fromEntries(metadata) };
  return object["kind"] === "Job" ? withoutSelector(created) : created;
}

/** The server selects the Pods of a Job by the uid of the Job. */
function withoutSelector(job: JsonObject): JsonObject {
  const { selector: _selector, template, ...spec } = job["spec"] as JsonObject;
  const { metadata: _metadata, ...pod } = template as JsonObject;
  return { ...job, spec: { ...spec, template: pod } };
}

/** Creates an object, reads it in some way, and removes it again. */
async function whileStored<T>(
  client: ServerClient,
  object: JsonObject,
  read: (path: string) => Promise<T>,
): Promise<T> {
  const collection = await client.collection(object);
  const path = `${collection}/${String((object["metadata"] as JsonObject)["name"])}`;
  const wasThere = (await client.send(path)).code === 200;
  if (!wasThere) await client.create(collection, unassigned(object), { "user-agent": "purlin" });
  try {
    return await read(path);
  } finally {
    if (!wasThere) await remove(client, path);
  }
}

/** Deletes an object at once, whatever holds it, and waits until it is gone. */
export async function remove(client: ServerClient, path: string): Promise<void> {
  const headers = { "content-type": "application/merge-patch+json" };
  await client.send(path, { method: "PATCH", headers, body: { metadata: { finalizers: null } } });
  await client.send(path, { method: "DELETE", body: { gracePeriodSeconds: 0, propagationPolicy: "Background" } });
  await client.until(path, 404);
}

/** Members that no two servers agree on, or that a controller may have filled in meanwhile. */
const volatile = new Set([...assigned, "time", "clusterIP", "clusterIPs", "nodePort", "status", "controller-uid"]);

/** A value without what differs from server to server. */
export function stable(value: JsonValue): JsonValue {
  if (typeof value === "string") {
    const withoutUids = value.replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, "<uid>");
    return withoutUids.replaceAll(/X509SHA256=[0-9a-f]{64}/g, "<certificate>");
  }
  if (Array.isArray(value)) return value.map(stable);
  if (typeof value !== "object" || value === null) return value;
  const kept = Object.entries(value as JsonObject).filter(([name]) => !volatile.has(name));
  return Object.fromEntries(kept.map(([name, one]) => [name, stable(one)]));
}

const protobufType = { accept: "application/vnd.kubernetes.protobuf" };

const protobuf: Recording = {
  subject: "protobuf",
  file: "packages/kube-objects/src/protobuf/testdata/real-server.json",
  ...prettyList,
  comparable: ({ protobuf: bytes, json }) => {
    if (bytes === "") return "new";
    const decoded = decodeProtobuf(Buffer.from(String(bytes), "base64"));
    return [stable(parseJson(String(json))), decoded.known ? stable(decoded.object) : "unknown"];
  },
  answer: async (entries, peers) => {
    const client = await peers.server();
    await client.until(account);
    const all: Entry[] = [];
    for (const { json } of entries) {
      const read = async (path: string): Promise<Entry> => {
        const { bytes } = await client.send(path, { headers: protobufType });
        return { protobuf: bytes.toString("base64"), json: (await client.send(path)).text.trimEnd() };
      };
      all.push(await whileStored(client, parseJson(String(json)) as JsonObject, read));
    }
    return all;
  },
};

const typed: Recording = {
  subject: "stored",
  file: "packages/kube-objects/src/typed/testdata/stored.json",
  ...prettyList,
  comparable: (entry) => stable(entry),
  answer: async (entries, peers) => {
    const client = await peers.server();
    await client.until(account);
    const all: Entry[] = [];
    for (const object of entries) all.push(await whileStored(client, object, (path) => client.json(path)));
    return all;
  },
};

const structural: Recording = {
  subject: "structural",
  file: "packages/kube-objects/src/structural/testdata/real-server.json",
  ...prettyList,
  answer: async (entries, peers) => {
    const client = await peers.server();
    const all: Entry[] = [];
    for (const [index, { schema, spec }] of entries.entries()) {
      all.push({ schema, spec, stored: await storedUnder(client, index, { schema, spec } as JsonObject) } as Entry);
    }
    return all;
  },
};

/** The spec of an object after it was stored under a schema. */
async function storedUnder(client: ServerClient, index: number, { schema, spec }: JsonObject): Promise<JsonValue> {
  const group = `s${index}.structural.example.org`;
  const path = await createKind(client, group, { type: "object", properties: { spec: schema ?? {} } });
  const object = { apiVersion: `${group}/v1`, kind: "K", metadata: { name: "o" }, spec: spec ?? null };
  const stored = await client.create(`${path}?dryRun=All`, object);
  await client.send(`${definitions}/ks.${group}`, { method: "DELETE" });
  return stored["spec"] ?? null;
}

const yamlFolder = "packages/kube-objects/src/yaml/testdata";

/** One object full of awkward texts and numbers, whose spec the server writes as YAML. */
const yaml: Recording = {
  subject: "yaml",
  file: `${yamlFolder}/written.yaml`,
  parse: (text) => [{ text }],
  print: ([entry]) => String(entry?.["text"]),
  answer: async (_entries, peers) => {
    const client = await peers.server();
    const free = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
    const group = "yaml.example.org";
    const path = await createKind(client, group, { type: "object", properties: { spec: free } });
    const sent = parseJson(readFileSync(`${yamlFolder}/written.json`, "utf8")) as JsonObject;
    const body = { apiVersion: `${group}/v1`, kind: "K", metadata: { name: "o" }, ...sent };
    const headers = { accept: "application/yaml" };
    const { text } = await client.send(`${path}?dryRun=All`, {
      method: "POST",
      headers,
      body: printJson(body as JsonObject),
    });
    return [{ text: text.slice(text.indexOf("\nspec:\n") + 1) }];
  },
};

export const storedRecordings: readonly Recording[] = [protobuf, typed, structural, yaml];
