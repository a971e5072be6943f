// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { create, SchemaSelector } from "@purlin/function-protocol";
import { createSchemaFetcher, openAPIDocuments } from "@purlin/function-runner";
import { createMemorySource } from "@purlin/function-sdk/testing";
import type { KubeRequest } from "@purlin/kube-client";
import type { JsonValue } from "@purlin/kube-objects/json";
import { formatApiVersion } from "@purlin/kube-objects/object";
import { builtinOpenAPI, parseOpenAPIPathKey } from "@purlin/kube-objects/openapi";
import { startEmbeddedApi } from "../test/embedded-api.ts";
import { serverOpenAPI } from "./function-plane.ts";

function serverWith(answers: Readonly<Record<string, JsonValue>>) {
  const asked: KubeRequest[] = [];
  const reader = serverOpenAPI({
    async raw(request) {
      asked.push(request);
      return answers[request.path] ?? null;
    },
  });
  return { reader, asked };
}

const index = { paths: { "apis/apps/v1": { serverRelativeURL: "/openapi/v3/apis/apps/v1?hash=ABC" } } };

for (const [why, answer] of Object.entries({ JSON: index, "JSON that calls itself text": JSON.stringify(index) })) {
  test(`an index as ${why}`, async () => {
    const { reader } = serverWith({ "/openapi/v3": answer });
    assert.deepEqual([...(await reader.index())], [["apis/apps/v1", "/openapi/v3/apis/apps/v1?hash=ABC"]]);
  });
}

test("a document is asked for by its own URL, hash included", async () => {
  const { reader, asked } = serverWith({ "/openapi/v3/apis/apps/v1": { components: { schemas: {} } } });
  assert.deepEqual(await reader.document("/openapi/v3/apis/apps/v1?hash=ABC"), { components: { schemas: {} } });
  assert.deepEqual(asked, [{ method: "GET", path: "/openapi/v3/apis/apps/v1", query: { hash: "ABC" } }]);
});

test("an invalid index has no documents, and an invalid document describes nothing", async () => {
  for (const odd of [null, [], { paths: [] }, { paths: { x: { serverRelativeURL: 1 }, y: null } }]) {
    assert.equal((await serverWith({ "/openapi/v3": odd as JsonValue }).reader.index()).size, 0);
  }
  assert.deepEqual(await serverWith({}).reader.document("/openapi/v3/x"), {});
});

/** Every kind of the built-in documents, and one of each group-version that does not exist. */
function builtinSelectors(): SchemaSelector[] {
  const { keys, document } = builtinOpenAPI();
  return keys.flatMap((key) => {
    const groupVersion = parseOpenAPIPathKey(key);
    if (groupVersion === undefined) return [];
    const schemas = Object.values(document(key)?.components.schemas ?? {});
    const kinds = schemas.flatMap((schema) => {
      const of = schema["x-kubernetes-group-version-kind"];
      return Array.isArray(of) && of.length === 1 ? [String((of[0] as { kind: string }).kind)] : [];
    });
    const apiVersion = formatApiVersion(groupVersion);
    return [...new Set([...kinds, "Nothing"])].map((kind) => create(SchemaSelector, { apiVersion, kind }));
  });
}

test("the embedded server, commands without a server and the SDK's test harness know the same built-in kinds", async () => {
  await using api = await startEmbeddedApi();
  const server = createSchemaFetcher(serverOpenAPI(api.users)).schema;
  const files = createSchemaFetcher(openAPIDocuments()).schema;
  const harness = createMemorySource({}).schema;
  const found: string[] = [];
  for (const selector of builtinSelectors()) {
    const want = (await server(selector)).openapiV3?.value;
    const name = `${selector.apiVersion}/${selector.kind}`;
    assert.deepEqual((await files(selector)).openapiV3?.value, want, name);
    assert.deepEqual((await harness(selector)).openapiV3?.value, want, name);
    if (want !== undefined) found.push(name);
  }
  for (const name of ["v1/Pod", "apps/v1/Deployment", "batch/v1/Job"]) assert.ok(found.includes(name), name);
  assert.ok(!found.some((name) => name.endsWith("/Nothing")));
});
