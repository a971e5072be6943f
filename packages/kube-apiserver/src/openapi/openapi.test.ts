// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { finish } from "@purlin/base";
import { testTypes } from "@purlin/kube-builtin/testing";
import type { JsonObject } from "@purlin/kube-objects/json";
import { findSchema, inlineReferences, type OpenAPIDocument } from "@purlin/kube-objects/openapi";
import { Registry, type ResourceType } from "../registry/registry.ts";
import type { ApiRequest, CompleteResponse } from "../request/api-request.ts";
import { createOpenApiEndpoint } from "./endpoint.ts";
import { PublishedDocuments } from "./published-documents.ts";

function widgetCrd(properties: JsonObject): JsonObject {
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: "widgets.example.org" },
    spec: {
      group: "example.org",
      scope: "Namespaced",
      names: { plural: "widgets", kind: "Widget", listKind: "WidgetList" },
      versions: [
        { name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object", properties } } },
      ],
    },
  };
}

function widgetType(template: ResourceType): ResourceType {
  const names = {
    group: "example.org",
    version: "v1",
    kind: "Widget",
    listKind: "WidgetList",
    resource: "widgets",
    singular: "widget",
  };
  return { ...template, ...names, custom: true, storage: { group: "example.org", resource: "widgets", version: "v1" } };
}

function setUp() {
  const registry = new Registry(testTypes);
  let crds: readonly JsonObject[] = [];
  const documents = new PublishedDocuments(() => ({ catalog: registry.catalog, crds }));
  const endpoint = createOpenApiEndpoint(documents, () => 0);
  const template = registry.catalog.find("", "v1", "configmaps") as ResourceType;
  const serve = (properties: JsonObject): void => {
    crds = [widgetCrd(properties)];
    registry.setCustom([widgetType(template)]);
  };
  const stop = (): void => {
    crds = [];
    registry.setCustom([]);
  };
  return { all: () => finish(documents.all()), endpoint, serve, stop };
}

function ask(path: string, headers: Record<string, string> = {}): ApiRequest {
  const url = new URL(path, "https://localhost");
  const user = { name: "me", groups: [] } as unknown as ApiRequest["user"];
  const { signal } = new AbortController();
  return { method: "GET", path: url.pathname, query: url.searchParams, headers, body: { kind: "none" }, user, signal };
}

const bodyOf = (response: CompleteResponse | undefined): JsonObject => response?.payload?.value() as JsonObject;
const urlOf = (index: JsonObject, key: string): string =>
  ((index["paths"] as JsonObject)[key] as Record<string, string> | undefined)?.["serverRelativeURL"] ?? "";

test("the index names every group-version with the hash of its document", async () => {
  const { endpoint } = setUp();
  const index = bodyOf(await endpoint(ask("/openapi/v3")));
  assert.ok(Object.keys(index["paths"] as JsonObject).includes("api/v1"));
  const url = urlOf(index, "apis/apps/v1");
  const response = await endpoint(ask(url));
  const bytes = Buffer.concat([...(response?.payload?.chunks() ?? [])]);
  assert.equal(url, `/openapi/v3/apis/apps/v1?hash=${createHash("sha512").update(bytes).digest("hex").toUpperCase()}`);
  assert.equal(response?.headers?.["cache-control"], "public, immutable");
  assert.equal(response?.headers?.["expires"], "Fri, 01 Jan 1971 00:00:00 GMT");
});

test("a stale hash is sent to the current one, no hash is answered but not for ever, a known document is not sent again", async () => {
  const { endpoint } = setUp();
  const current = urlOf(bodyOf(await endpoint(ask("/openapi/v3"))), "apis/apps/v1");
  const stale = await endpoint(ask("/openapi/v3/apis/apps/v1?hash=OLD"));
  assert.deepEqual([stale?.code, stale?.headers?.["location"]], [301, current]);
  const plain = await endpoint(ask("/openapi/v3/apis/apps/v1"));
  assert.deepEqual([plain?.code, plain?.headers?.["cache-control"]], [200, undefined]);
  const again = await endpoint(ask(current, { "if-none-match": plain?.headers?.["etag"] ?? "" }));
  assert.deepEqual([again?.code, again?.payload], [304, undefined]);
});

test("other paths are left to others, documents that are not served are not found", async () => {
  const { endpoint } = setUp();
  assert.equal(endpoint(ask("/openapi")), undefined);
  assert.equal(endpoint(ask("/openapi/v2/x")), undefined);
  assert.deepEqual(await endpoint(ask("/openapi/v3/apis/nope.example.org/v1")), { kind: "complete", code: 404 });
  for (const path of ["%", "apis/%zz", "apis/apps%2", "%c0%af", "apis/apps/v1%00"]) {
    assert.deepEqual(await endpoint(ask(`/openapi/v3/${path}`)), { kind: "complete", code: 404 }, path);
  }
});

test("a custom kind is published with its metadata, and gone with its definition", async () => {
  const { endpoint, serve, stop } = setUp();
  serve({ spec: { type: "object", properties: { size: { type: "integer" } } } });
  const document = bodyOf(await endpoint(ask("/openapi/v3/apis/example.org/v1"))) as unknown as OpenAPIDocument;
  const component = findSchema(document, { group: "example.org", version: "v1", kind: "Widget" });
  assert.equal(component, "org.example.v1.Widget");
  const inlined = JSON.stringify(inlineReferences(document, component ?? ""));
  assert.ok(!inlined.includes("$ref") && inlined.includes("ownerReferences") && inlined.includes('"size"'));
  stop();
  assert.equal((await endpoint(ask("/openapi/v3/apis/example.org/v1")))?.code, 404);
});

test("only what changed is described again", () => {
  const { all, serve } = setUp();
  serve({});
  const before = all();
  serve({ spec: { type: "object" } });
  const after = all();
  assert.equal(after.get("apis/apps/v1"), before.get("apis/apps/v1"));
  assert.notEqual(after.get("apis/example.org/v1")?.hash, before.get("apis/example.org/v1")?.hash);
});

test("a document that is no longer served is made again when it is served again", () => {
  const { all, serve, stop } = setUp();
  serve({});
  const first = all().get("apis/example.org/v1");
  stop();
  assert.equal(all().get("apis/example.org/v1"), undefined);
  serve({});
  assert.notEqual(all().get("apis/example.org/v1"), first);
});

test("integers beyond 2^53 in the schema of a custom kind are published as they are", async () => {
  const { endpoint, serve } = setUp();
  serve({ spec: { type: "integer", maximum: 9007199254740993n, default: 9007199254740993n } });
  for (const path of ["/openapi/v3/apis/example.org/v1", "/openapi/v2"]) {
    const response = await endpoint(ask(path));
    const text = Buffer.concat([...(response?.payload?.chunks() ?? [])]).toString();
    assert.ok(text.includes('"maximum":9007199254740993'), path);
  }
});

test("requests that come at the same time get the same bytes, made once", async () => {
  const { endpoint, serve } = setUp();
  serve({});
  const protobuf = { accept: "application/com.github.proto-openapi.spec.v2.v1.0+protobuf" };
  for (const headers of [{}, protobuf]) {
    const responses = await Promise.all([1, 2, 3].map(async () => endpoint(ask("/openapi/v2", headers))));
    const [first, ...others] = responses.map((response) => response?.payload?.chunks()[0]);
    assert.ok((first?.length ?? 0) > 0);
    for (const other of others) assert.equal(other, first);
  }
});

test("operations have the kind, the patch types and the parameters that clients look for", () => {
  const { all, serve } = setUp();
  serve({});
  const at = (value: unknown, ...names: string[]): unknown =>
    names.reduce((inner, name) => (inner as Record<string, unknown> | undefined)?.[name], value);
  const item = (key: string, path: string): Record<string, JsonObject> =>
    at(all().get(key)?.value, "paths", path) as Record<string, JsonObject>;
  const deployment = item("apis/apps/v1", "/apis/apps/v1/namespaces/{namespace}/deployments/{name}");
  assert.deepEqual(deployment["patch"]?.["x-kubernetes-group-version-kind"], {
    group: "apps",
    kind: "Deployment",
    version: "v1",
  });
  const types = (operation: JsonObject | undefined): string[] =>
    Object.keys((at(operation, "requestBody", "content") ?? {}) as object);
  assert.ok(types(deployment["patch"]).includes("application/strategic-merge-patch+json"));
  const widget = item("apis/example.org/v1", "/apis/example.org/v1/namespaces/{namespace}/widgets/{name}");
  assert.ok(!types(widget["patch"]).includes("application/strategic-merge-patch+json"));
  const names = ((at(widget, "patch", "parameters") ?? []) as readonly JsonObject[]).map(({ name }) => name);
  assert.deepEqual(names, ["dryRun", "fieldManager", "fieldValidation", "force"]);
  const scale = item("apis/apps/v1", "/apis/apps/v1/namespaces/{namespace}/deployments/{name}/scale");
  assert.deepEqual(scale["get"]?.["x-kubernetes-group-version-kind"], {
    group: "autoscaling",
    kind: "Scale",
    version: "v1",
  });
  const list = item("api/v1", "/api/v1/configmaps");
  assert.deepEqual(Object.keys(list), ["get", "parameters"]);
});

test("every reference in every document resolves inside it", () => {
  for (const [key, { value, schemas }] of setUp().all()) {
    for (const match of JSON.stringify(value).matchAll(/"\$ref":"#\/components\/schemas\/([^"]+)"/g)) {
      assert.ok(Object.hasOwn(schemas, match[1] ?? ""), `${key}: ${match[1]}`);
    }
  }
});
