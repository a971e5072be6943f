// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { testTypes } from "@purlin/kube-builtin/testing";
import type { JsonObject, JsonValue } from "@purlin/kube-objects/json";
import { Registry } from "../registry/registry.ts";
import { testRequest } from "../testing/test-request.ts";
import { createOpenApiEndpoint } from "./endpoint.ts";
import { PublishedDocuments } from "./published-documents.ts";
import { PublishedV2Document } from "./v2-document.ts";

function setUp() {
  const registry = new Registry(testTypes);
  return new PublishedDocuments(() => ({ catalog: registry.catalog, crds: [] }));
}

const at = (value: JsonValue | undefined, ...names: string[]): JsonObject =>
  names.reduce<JsonValue | undefined>((inner, name) => (inner as JsonObject | undefined)?.[name], value) as JsonObject;

test("one document says everything, and every reference in it leads somewhere", () => {
  const { value } = new PublishedV2Document(setUp()).document();
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
  const published = new PublishedV2Document(setUp());
  assert.equal(published.document(), published.document());
});

test("options list every group-version they belong to", () => {
  const { value } = new PublishedV2Document(setUp()).document();
  const options = at(value, "definitions", "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions");
  const groups = (options["x-kubernetes-group-version-kind"] as readonly JsonObject[]).map(({ group }) => group);
  for (const group of ["", "apps", "batch", "apiextensions.k8s.io"]) assert.ok(groups.includes(group), String(group));
});

const forms: Record<string, { accept: string | undefined; code: number; type: string | undefined }> = {
  "nothing asked for": { accept: undefined, code: 200, type: "application/json" },
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
  test(`the old document for who accepts ${name}`, () => {
    const endpoint = createOpenApiEndpoint(setUp(), () => 0);
    const headers: Record<string, string> = accept === undefined ? {} : { accept };
    const answer = endpoint(testRequest("/openapi/v2", { headers }));
    assert.deepEqual([answer?.code, answer?.payload?.contentType], [code, type]);
    assert.equal(answer?.headers?.["vary"], "Accept-Encoding, Accept");
  });
}

test("who has the document is not sent it again", () => {
  const endpoint = createOpenApiEndpoint(setUp(), () => 0);
  const etag = endpoint(testRequest("/openapi/v2"))?.headers?.["etag"] ?? "";
  assert.match(etag, /^"[0-9A-F]{128}"$/);
  assert.equal(endpoint(testRequest("/openapi/v2", { headers: { "if-none-match": etag } }))?.code, 304);
});
