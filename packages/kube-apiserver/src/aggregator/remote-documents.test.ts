// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject, JsonValue } from "@purlin/kube-objects/json";
import type { RemoteApi } from "./api-service.ts";
import type { BackendAnswer, Backends } from "./backends.ts";
import {
  mergeGroups,
  noDocuments,
  type RemoteDocuments,
  type RemoteVersion,
  readDocuments,
  remoteVersionBody,
} from "./remote-documents.ts";

const remote = { group: "example.org", version: "v1", groupPriority: 100, versionPriority: 10 } as RemoteApi;
const aggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

type Documents = Readonly<
  Record<string, { readonly body: JsonValue | string; readonly contentType?: string; readonly code?: number }>
>;

/** Reads the documents of a server; a path that it does not have fails. */
function read(documents: Documents, seen: string[] = []): Promise<RemoteDocuments> {
  const backends = {
    async read(
      _: RemoteApi,
      { path, headers }: { path: string; headers: Record<string, unknown> },
    ): Promise<BackendAnswer> {
      seen.push(`${path} ${String(headers["accept"])} ${String(headers["x-remote-user"])}`);
      const found = documents[path];
      if (found === undefined) throw new Error("connection refused");
      const { body, contentType = "application/json", code = 200 } = found;
      return { code, contentType, etag: "", body: Buffer.from(typeof body === "string" ? body : JSON.stringify(body)) };
    },
  } as unknown as Backends;
  return readDocuments(remote, backends, new AbortController().signal);
}

const discovery = (...versions: JsonObject[]): JsonObject => ({
  items: [{ metadata: { name: "example.org" }, versions }],
});

test("a server without documents has none", async () => {
  assert.deepEqual(await read({}), noDocuments);
});

test("resources are read from aggregated discovery, of the group and the version", async () => {
  const resources = [{ resource: "things" }];
  const seen: string[] = [];
  const body = discovery({ version: "v2", resources: [] }, { version: "v1", resources });
  assert.deepEqual((await read({ "/apis": { body, contentType: aggregated } }, seen)).resources, resources);
  const beta = aggregated.replace("v=v2;", "v=v2beta1;");
  assert.ok(seen.includes(`/apis ${aggregated},${beta} system:kube-aggregator`));
  assert.deepEqual((await read({ "/apis": { body, contentType: beta } })).resources, resources);
});

const rows = [
  {
    ...{ name: "things", singularName: "thing", namespaced: true, kind: "Thing", verbs: ["get", "list"] },
    ...{ shortNames: ["t"], categories: ["all"] },
  },
  { name: "things/status", namespaced: true, kind: "Thing", verbs: ["get"] },
  { name: "things/a/b", kind: "Scale", group: "autoscaling", version: "v1", verbs: ["get"] },
  { name: "nodes", namespaced: false, kind: "Node", verbs: [] },
  { name: "" },
];
const kind = (name: string): JsonObject => ({ group: "", version: "", kind: name });
const listed = [
  {
    resource: "things",
    responseKind: kind("Thing"),
    scope: "Namespaced",
    singularResource: "thing",
    verbs: ["get", "list"],
    shortNames: ["t"],
    categories: ["all"],
    subresources: [
      { subresource: "status", responseKind: kind("Thing"), verbs: ["get"] },
      { subresource: "a/b", responseKind: { group: "autoscaling", version: "v1", kind: "Scale" }, verbs: ["get"] },
    ],
  },
  { resource: "nodes", responseKind: kind("Node"), scope: "Cluster", singularResource: "", verbs: [] },
];

test("resources are read from the list of the version where discovery is not aggregated", async () => {
  const list = { "/apis/example.org/v1": { body: { resources: rows } } };
  assert.deepEqual((await read(list)).resources, listed);
  const unaggregated = { "/apis": { body: discovery({ version: "v1", resources: [] }) } };
  assert.deepEqual((await read({ ...list, ...unaggregated })).resources, listed, "another content type");
  const others = { "/apis": { body: discovery({ version: "v2" }), contentType: aggregated } };
  assert.deepEqual((await read({ ...list, ...others })).resources, listed, "another version");
  const failing = { "/apis": { body: discovery({ version: "v1" }), contentType: aggregated, code: 500 } };
  assert.deepEqual((await read({ ...list, ...failing })).resources, listed, "an error");
});

test("a list that is an error, or not JSON, is not read", async () => {
  const at = (more: Documents[string]): Promise<RemoteDocuments> => read({ "/apis/example.org/v1": more });
  assert.equal((await at({ body: { resources: rows }, code: 404 })).resources, undefined);
  assert.equal((await at({ body: "{" })).resources, undefined);
  assert.equal((await at({ body: [] })).resources, undefined);
  assert.deepEqual((await at({ body: {} })).resources, []);
});

test("the address of the OpenAPI v3 document must be below the index", async () => {
  const address = async (serverRelativeURL: JsonValue): Promise<string | undefined> =>
    (await read({ "/openapi/v3": { body: { paths: { "apis/example.org/v1": { serverRelativeURL } } } } })).v3Address;
  assert.equal(await address("/openapi/v3/apis/example.org/v1?hash=1"), "/openapi/v3/apis/example.org/v1?hash=1");
  assert.equal(await address("https://other/openapi/v3/x"), undefined);
  assert.equal(await address("/api/v1/secrets"), undefined);
  assert.equal(await address(1), undefined);
  assert.equal((await read({ "/openapi/v3": { body: {} } })).v3Address, undefined);
});

test("the OpenAPI v2 document must have paths", async () => {
  assert.deepEqual((await read({ "/openapi/v2": { body: { paths: {} } } })).v2, { paths: {} });
  assert.equal((await read({ "/openapi/v2": { body: { swagger: "2.0" } } })).v2, undefined);
});

const versionOf = (group: string, version: string, groupPriority: number, versionPriority: number): RemoteVersion => ({
  remote: { ...remote, group, version, groupPriority, versionPriority },
  isAvailable: true,
  documents: noDocuments,
});
const local = [
  { name: "apps", priority: 500, versions: [{ version: "v1", priority: 15, entry: "local apps/v1" }] },
  {
    name: "batch",
    priority: 400,
    versions: [
      { version: "v1", priority: 15, entry: "local batch/v1" },
      { version: "v1beta1", priority: 9, entry: "local batch/v1beta1" },
    ],
  },
];
const merged = (...remotes: RemoteVersion[]): string[] =>
  mergeGroups(local, remotes, ({ remote: { group, version } }) => `remote ${group}/${version}`).map(
    ({ name, versions }) => `${name}: ${versions.join(", ")}`,
  );

test("groups keep their order where no other server serves one", () => {
  assert.deepEqual(merged(), ["apps: local apps/v1", "batch: local batch/v1, local batch/v1beta1"]);
});

test("groups of other servers are listed by priority, then by name", () => {
  assert.deepEqual(merged(versionOf("z", "v1", 450, 1), versionOf("b", "v1", 450, 1), versionOf("top", "v1", 900, 1)), [
    "top: remote top/v1",
    "apps: local apps/v1",
    "b: remote b/v1",
    "z: remote z/v1",
    "batch: local batch/v1, local batch/v1beta1",
  ]);
});

test("a version of another server has its place by priority, after those of the same priority, and replaces its own", () => {
  assert.deepEqual(merged(versionOf("batch", "v2", 1, 15)), [
    "apps: local apps/v1",
    "batch: local batch/v1, remote batch/v2, local batch/v1beta1",
  ]);
  assert.deepEqual(merged(versionOf("batch", "v1", 1, 1)), [
    "apps: local apps/v1",
    "batch: local batch/v1beta1, remote batch/v1",
  ]);
});

test("the highest priority of its versions is that of a group", () => {
  assert.deepEqual(
    merged(versionOf("batch", "v2", 600, 1), versionOf("batch", "v3", 1, 20))[0],
    "batch: remote batch/v3, local batch/v1, local batch/v1beta1, remote batch/v2",
  );
});

test("a version of a server that is not available, or unknown, is stale", () => {
  const resources = [{ resource: "things" }];
  const documents = { ...noDocuments, resources };
  const body = (isAvailable: boolean, of: RemoteDocuments): JsonObject =>
    remoteVersionBody({ remote, isAvailable, documents: of });
  assert.deepEqual(body(true, documents), { version: "v1", resources, freshness: "Current" });
  assert.deepEqual(body(false, documents), { version: "v1", freshness: "Stale" });
  assert.deepEqual(body(true, noDocuments), { version: "v1", freshness: "Stale" });
});
