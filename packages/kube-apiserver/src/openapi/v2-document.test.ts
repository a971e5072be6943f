// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { finish } from "@purlin/base";
import { testTypes } from "@purlin/kube-builtin/testing";
import type { JsonObject, JsonValue } from "@purlin/kube-objects/json";
import { testRequest } from "../../test/test-server.ts";
import { Registry } from "../registry/registry.ts";
import { createOpenApiEndpoint } from "./endpoint.ts";
import { PublishedDocuments } from "./published-documents.ts";
import { PublishedV2Document, type V2Document } from "./v2-document.ts";

function setUp() {
  const registry = new Registry(testTypes);
  return new PublishedDocuments(() => ({ catalog: registry.catalog, crds: [] }));
}

function documentOf(documents: PublishedDocuments, published = new PublishedV2Document()): V2Document {
  return finish(published.document([...finish(documents.all()).values()]));
}

const at = (value: JsonValue | undefined, ...names: string[]): JsonObject =>
  names.reduce<JsonValue | undefined>((inner, name) => (inner as JsonObject | undefined)?.[name], value) as JsonObject;

test("one document says everything, and every reference in it leads somewhere", () => {
  const { value } = documentOf(setUp());
  const definitions = at(value, "definitions");
  for (const [, name = ""] of JSON.stringify(value).matchAll(/"\$ref":"#\/definitions\/([^"]+)"/g)) {
    assert.ok(Object.hasOwn(definitions, name), name);
  }
  const paths = Object.keys(at(value, "paths"));
  assert.deepEqual(paths, paths.toSorted());
  for (const path of ["/api/v1/namespaces/{namespace}/configmaps", "/apis/apps/v1/", "/version/", "/apis/"]) {
    assert.ok(paths.includes(path), path);
  }
});

test("it is made once for one state", () => {
  const [documents, published] = [setUp(), new PublishedV2Document()];
  assert.equal(documentOf(documents, published), documentOf(documents, published));
});

test("options list every group-version they belong to", () => {
  const { value } = documentOf(setUp());
  const options = at(value, "definitions", "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions");
  const groups = (options["x-kubernetes-group-version-kind"] as readonly JsonObject[]).map(({ group }) => group);
  for (const group of ["", "apps", "batch", "apiextensions.k8s.io"]) assert.ok(groups.includes(group), String(group));
});

const forms: Record<string, { accept: string | undefined; code: number; type: string | undefined }> = {
  "no header": { accept: undefined, code: 200, type: "application/json" },
  anything: { accept: "*/*", code: 200, type: "application/json" },
  "JSON among others": { accept: "text/html, application/json;q=0.5", code: 200, type: "application/json" },
  "a range": { accept: "application/*", code: 200, type: "application/json" },
  protobuf: {
    accept: "application/com.github.proto-openapi.spec.v2.v1.0+protobuf",
    code: 200,
    type: "application/com.github.proto-openapi.spec.v2.v1.0+protobuf",
  },
  "protobuf as it was spelled": {
    accept: "application/com.github.proto-openapi.spec.v2@v1.0+protobuf",
    code: 200,
    type: "application/com.github.proto-openapi.spec.v2.v1.0+protobuf",
  },
  YAML: { accept: "application/yaml", code: 406, type: undefined },
};

for (const [name, { accept, code, type }] of Object.entries(forms)) {
  test(`OpenAPI v2 with Accept: ${name}`, async () => {
    const endpoint = createOpenApiEndpoint(setUp(), () => 0);
    const headers: Record<string, string> = accept === undefined ? {} : { accept };
    const answer = await endpoint(testRequest("/openapi/v2", { headers }));
    assert.deepEqual([answer?.code, answer?.payload?.contentType], [code, type]);
    assert.equal(answer?.headers?.["vary"], "Accept-Encoding, Accept");
  });
}

test("a client that has the document is not sent it again", async () => {
  const endpoint = createOpenApiEndpoint(setUp(), () => 0);
  const etag = (await endpoint(testRequest("/openapi/v2")))?.headers?.["etag"] ?? "";
  assert.match(etag, /^"[0-9A-F]{128}"$/);
  const again = await endpoint(testRequest("/openapi/v2", { headers: { "if-none-match": etag } }));
  assert.equal(again?.code, 304);
});
