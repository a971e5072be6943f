// SPDX-License-Identifier: Apache-2.0
// The operations of a real API server as its OpenAPI documents of version 3 describe them, without words.
import { setTimeout as delay } from "node:timers/promises";
import { type JsonObject, type JsonValue, parseJson } from "../../packages/kube-objects/src/json/index.ts";
import { listOfLines } from "./formats.ts";
import { createWidgets, removeWidgets } from "./prepare-server.ts";
import type { Entry, Recording } from "./recording.ts";
import type { ServerClient } from "./server-client.ts";

const publishedWithinMs = 60_000;

interface Content {
  readonly content?: Readonly<Record<string, { readonly schema?: JsonObject }>>;
  readonly required?: boolean;
}

/** A group-version, such as `apis/apps/v1`, of the path of an operation. */
const documentOf = (path: string): string =>
  path
    .split("/")
    .slice(1, path.startsWith("/api/") ? 3 : 4)
    .join("/");

type Paths = Readonly<Record<string, JsonObject>>;

/** The paths of a document, once all that are needed are there. Those of CRDs come a second or more after the CRDs. */
async function pathsIn(client: ServerClient, name: string, needed: readonly string[]): Promise<Paths> {
  const deadline = Date.now() + publishedWithinMs;
  while (Date.now() < deadline) {
    const { code, text } = await client.send(`/openapi/v3/${name}`);
    const { paths = {} } = code === 200 ? (parseJson(text) as { readonly paths?: Paths }) : {};
    if (needed.every((path) => paths[path] !== undefined)) return paths;
    await delay(500);
  }
  throw new Error(`/openapi/v3/${name} did not have ${needed.join(", ")} within ${publishedWithinMs / 1000}s`);
}

/** Which types a body may have, but for protobuf and CBOR, and the component that all of them hold. */
function shown({ content = {} }: Content): JsonObject {
  const types = Object.keys(content).filter((type) => !/protobuf|cbor/.test(type));
  const schema = content[types[0] ?? ""]?.schema ?? {};
  return { types: types.sort(), component: String(schema["$ref"] ?? "").replace("#/components/schemas/", "") };
}

function parametersOf(...lists: readonly (JsonValue | undefined)[]): string {
  const all = lists.flatMap((list) => (list ?? []) as JsonObject[]);
  return all
    .map(({ name, in: where, schema }) => `${name}:${where}:${(schema as JsonObject)["type"]}`)
    .sort()
    .join(" ");
}

function described(path: string, method: string, item: JsonObject): Entry {
  const operation = (item[method] ?? {}) as JsonObject;
  const kind = operation["x-kubernetes-group-version-kind"] as JsonObject | undefined;
  const body = operation["requestBody"] as Content | undefined;
  const answers = Object.entries((operation["responses"] ?? {}) as Record<string, Content>);
  return {
    path,
    method,
    id: operation["operationId"] ?? "",
    tag: String(((operation["tags"] ?? []) as string[])[0]),
    action: operation["x-kubernetes-action"] ?? "",
    kind: kind === undefined ? "" : `${kind["group"]} ${kind["version"]} ${kind["kind"]}`,
    parameters: parametersOf(item["parameters"], operation["parameters"]),
    ...(body !== undefined && { body: shown(body) }),
    required: body?.required ?? false,
    // Every operation may be refused for want of credentials.
    responses: Object.fromEntries(answers.filter(([code]) => code !== "401").map(([code, one]) => [code, shown(one)])),
  };
}

const operations: Recording = {
  subject: "openapi",
  file: "packages/kube-apiserver/src/openapi/testdata/operations.json",
  ...listOfLines,
  answer: async (entries, peers) => {
    const client = await peers.server();
    await createWidgets(client, "example.org");
    const documents = new Map<string, Paths>();
    const needed = Map.groupBy(new Set(entries.map(({ path }) => String(path))), documentOf);
    for (const [name, paths] of needed) documents.set(name, await pathsIn(client, name, paths));
    await removeWidgets(client, "example.org");
    return entries.map(({ path, method }) => {
      const paths = documents.get(documentOf(String(path)));
      return described(String(path), String(method), paths?.[String(path)] ?? {});
    });
  },
};

export const operationRecordings: readonly Recording[] = [operations];
