// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { builtinKinds } from "@purlin/kube-builtin";
import type { Status } from "@purlin/kube-objects/errors";
import { serverDirectory } from "../../test/store/temp-store.ts";
import { answerValue, type TestRequest, testRequest } from "../../test/test-server.ts";
import { type ApiServer, startApiServer } from "../server/api-server.ts";

const root = "/api/v1/namespaces/default";

let server: ApiServer;
before(async () => {
  server = await startApiServer({ kinds: builtinKinds, directory: serverDirectory() });
  const spec = { containers: [{ name: "main", image: "example.org/web:1" }] };
  await ask("/pods", { method: "POST", body: { metadata: { name: "web" }, spec } });
});
after(() => server.close());

async function ask(path: string, options?: TestRequest): Promise<Partial<Status>> {
  return answerValue(await server.handle(testRequest(`${root}${path}`, options))) as unknown as Partial<Status>;
}

test("what needs containers is answered with a Status that says so", async () => {
  const { code, reason, status, message, details } = await ask("/pods/web/log?container=main");
  assert.deepEqual([code, reason, status], [501, "NotImplemented", "Failure"]);
  assert.equal(message, 'cannot get the logs of pod "web": this API server runs no containers');
  assert.deepEqual(details, { name: "web", kind: "pods/log" });
});

const rows: readonly { readonly reason: string; readonly path: string; readonly want: readonly unknown[] }[] = [
  { reason: "a path behind the subresource", path: "/pods/web/proxy/a/b", want: [501, "NotImplemented"] },
  { reason: "an object that does not exist", path: "/pods/absent/log", want: [404, "NotFound"] },
  { reason: "a subresource that no cluster has", path: "/pods/web/nope", want: [404, "NotFound"] },
  { reason: "of a resource that no cluster has it for", path: "/configmaps/web/log", want: [404, "NotFound"] },
];
for (const { reason, path, want } of rows) {
  test(`a subresource that is not served: ${reason}`, async () => {
    const { code, reason: why } = await ask(path);
    assert.deepEqual([code, why], want);
  });
}

test("commands come by POST as well", async () => {
  assert.equal((await ask("/pods/web/exec?command=ls", { method: "POST" })).code, 501);
});
