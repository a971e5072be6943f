// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { answerValue } from "@purlin/kube-apiserver/testing";
import type { JsonObject } from "@purlin/kube-objects/json";
import { startTestServer, type TestServer } from "../test/index.ts";

let server: TestServer;

before(async () => {
  server = await startTestServer();
  await server.until("/api/v1/namespaces/default/serviceaccounts/default", ({ code }) => code === 200);
});
after(() => server[Symbol.asyncDispose]());

const pod = { containers: [{ name: "c", image: "i" }] };
const template = { metadata: { labels: { a: "b" } }, spec: pod };
const workload = { spec: { selector: { matchLabels: { a: "b" } }, template } };
const job = { template: { spec: { ...pod, restartPolicy: "Never" } } };

// How many causes kube-apiserver 1.36.3 gives for one invalid label.
const cases: readonly (readonly [path: string, more: JsonObject, causes: number, ofStatus?: number])[] = [
  ["/api/v1/namespaces/default/configmaps", {}, 4],
  ["/api/v1/namespaces/default/secrets", {}, 4],
  ["/api/v1/namespaces/default/serviceaccounts", {}, 4],
  ["/api/v1/namespaces/default/services", { spec: { ports: [{ port: 80 }] } }, 3, 3],
  ["/api/v1/namespaces/default/events", { involvedObject: { namespace: "default" } }, 2],
  ["/api/v1/namespaces/default/pods", { spec: pod }, 4, 3],
  ["/apis/apps/v1/namespaces/default/deployments", workload, 3],
  ["/apis/apps/v1/namespaces/default/replicasets", workload, 3, 3],
  ["/apis/batch/v1/namespaces/default/jobs", { spec: job }, 4, 3],
  ["/apis/batch/v1/namespaces/default/cronjobs", { spec: { schedule: "@daily", jobTemplate: { spec: job } } }, 3, 2],
  ["/apis/coordination.k8s.io/v1/namespaces/default/leases", {}, 3],
  ["/apis/rbac.authorization.k8s.io/v1/clusterroles", {}, 4],
  ["/api/v1/namespaces", {}, 4, 3],
];

for (const [path, more, causes, ofStatus] of cases) {
  test(`an invalid label has as many causes as in the reference: ${path}`, async () => {
    await server.post(path, { metadata: { name: "labelled" }, ...more });
    const causesAt = async (endpoint: string): Promise<number> => {
      const headers = { "content-type": "application/merge-patch+json" };
      const body = { metadata: { labels: { "a!": "b" } } };
      const response = await server.send(`${path}/labelled${endpoint}`, { method: "PATCH", headers, body });
      const { details } = answerValue(response) as { readonly details?: { readonly causes?: readonly unknown[] } };
      return details?.causes?.length ?? 0;
    };
    assert.equal(await causesAt(""), causes);
    if (ofStatus !== undefined) assert.equal(await causesAt("/status"), ofStatus);
  });
}

test("an immutable member has one cause less", async () => {
  const path = "/api/v1/namespaces/default/configmaps";
  const made = await server.post(path, { metadata: { name: "same" } });
  const metadata = { ...(made["metadata"] as JsonObject), deletionGracePeriodSeconds: 7 };
  const response = await server.send(`${path}/same`, { method: "PUT", body: { ...made, metadata } });
  const { details } = answerValue(response) as { readonly details: { readonly causes: readonly unknown[] } };
  assert.equal(details.causes.length, 2);
});
