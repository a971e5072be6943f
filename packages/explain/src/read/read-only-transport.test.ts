// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { KubeRequest, KubeTransport } from "@purlin/kube-client";
import { readOnlyTransport } from "./read-only-transport.ts";

const sent: string[] = [];
const transport: KubeTransport = {
  async request({ method, path }) {
    sent.push(`${method} ${path}`);
    return { code: 200, body: {}, warnings: [] };
  },
  async stream({ method, path }) {
    sent.push(`${method} ${path}`);
    return (async function* () {})();
  },
  async close() {},
};
const readOnly = readOnlyTransport(transport);
const pods = "/api/v1/namespaces/default/pods";

test("reads, dry runs and reviews pass", async () => {
  const allowed: readonly KubeRequest[] = [
    { method: "GET", path: pods },
    { method: "PATCH", path: `${pods}/a`, query: { dryRun: "All" } },
    { method: "POST", path: "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", body: {} },
  ];
  for (const request of allowed) await readOnly.request(request);
  await readOnly.stream({ method: "GET", path: pods, query: { watch: "true" } });
  assert.equal(sent.length, 4);
});

test("writes are refused before they are sent", async () => {
  sent.length = 0;
  for (const method of ["POST", "PUT", "PATCH", "DELETE"] as const) {
    const refused = { message: `refusing ${method} ${pods}: this command is read-only` };
    await assert.rejects(readOnly.request({ method, path: pods, body: {} }), refused);
    await assert.rejects(readOnly.stream({ method, path: pods }), refused);
    await assert.rejects(readOnly.request({ method, path: pods, query: { dryRun: "None" } }), refused);
  }
  assert.deepEqual(sent, []);
});
