// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { KubeRequest } from "@purlin/kube-client";
import type { JsonValue } from "@purlin/kube-objects";
import { serverOpenAPI } from "./open-api-reader.ts";

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

test("what is no index has no documents, and what is no document describes nothing", async () => {
  for (const odd of [null, [], { paths: [] }, { paths: { x: { serverRelativeURL: 1 }, y: null } }]) {
    assert.equal((await serverWith({ "/openapi/v3": odd as JsonValue }).reader.index()).size, 0);
  }
  assert.deepEqual(await serverWith({}).reader.document("/openapi/v3/x"), {});
});
