// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { builtinKinds } from "@purlin/kube-builtin";
import type { JsonObject } from "@purlin/kube-objects/json";
import { tempDirectory } from "../../test/store/temp-store.ts";
import { connectClient } from "../../test/test-client.ts";
import { answerValue, testRequest } from "../../test/test-server.ts";
import type { ApiResponse } from "../request/api-request.ts";
import { startApiServer } from "./api-server.ts";

const body = (response: ApiResponse): JsonObject => answerValue(response) as JsonObject;

test("a server starts with what every cluster has, and keeps everything across restarts", async () => {
  const directory = tempDirectory();
  const path = "/api/v1/namespaces/default/configmaps";
  {
    await using server = await startApiServer({ kinds: builtinKinds, directory });
    const { items } = body(await server.handle(testRequest("/api/v1/namespaces"))) as unknown as {
      items: { metadata: { name: string } }[];
    };
    assert.deepEqual(
      items.map(({ metadata }) => metadata.name),
      ["default", "kube-node-lease", "kube-public", "kube-system"],
    );
    const created = await server.handle(
      testRequest(path, { method: "POST", body: { metadata: { name: "a" }, data: { x: "1" } } }),
    );
    assert.equal(created.code, 201);
  }
  await using server = await startApiServer({ kinds: builtinKinds, directory });
  assert.deepEqual(body(await server.handle(testRequest(`${path}/a`)))["data"], { x: "1" });
});

for (const protocol of ["h2", "http/1.1"] as const) {
  test(`clients reach it over ${protocol} with the certificates it made`, async () => {
    await using server = await startApiServer({ kinds: builtinKinds, directory: tempDirectory() });
    const { port } = await server.listen({ host: "localhost" });
    const { authority, admin } = server.certificates;
    await using client = await connectClient({ protocol, port, authorityPem: authority.certPem, pair: admin });
    const made = await client.send("/api/v1/namespaces/default/configmaps", {
      method: "POST",
      body: '{"metadata":{"name":"a"}}',
    });
    assert.equal(made.code, 201);
    const { metadata } = JSON.parse(made.text) as { metadata: { resourceVersion: string } };
    const watch = await client.stream(`/api/v1/configmaps?watch=true&resourceVersion=${metadata.resourceVersion}`);
    await client.send("/api/v1/namespaces/default/configmaps/a", { method: "DELETE" });
    for await (const chunk of watch.chunks) {
      const { type, object } = JSON.parse(String(chunk)) as { type: string; object: { metadata: { name: string } } };
      assert.deepEqual([type, object.metadata.name], ["DELETED", "a"]);
      break;
    }
    assert.equal((await client.send("/readyz")).text, "ok");
  });
}

test("a second server on the same directory is refused", async () => {
  const directory = tempDirectory();
  await using _server = await startApiServer({ kinds: builtinKinds, directory });
  await assert.rejects(startApiServer({ kinds: builtinKinds, directory }), { code: "locked" });
});
