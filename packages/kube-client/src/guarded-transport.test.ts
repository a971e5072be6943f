// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { KubeRequest } from "@purlin/kube-client";
import { guardTransport } from "./guarded-transport.ts";

const dryRun = { dryRun: "All" };
const rows: readonly { readonly request: KubeRequest; readonly isSent: boolean }[] = [
  { request: { method: "GET", path: "/api/v1/pods" }, isSent: true },
  { request: { method: "POST", path: "/api/v1/namespaces/a/configmaps", body: {} }, isSent: false },
  { request: { method: "POST", path: "/api/v1/namespaces/a/configmaps", body: {}, query: dryRun }, isSent: true },
  { request: { method: "PUT", path: "/api/v1/namespaces/a/configmaps/b", body: {} }, isSent: false },
  {
    request: { method: "PATCH", path: "/api/v1/namespaces/a/configmaps/b", body: {}, query: { dryRun: "None" } },
    isSent: false,
  },
  { request: { method: "DELETE", path: "/api/v1/namespaces/a/configmaps/b", body: {} }, isSent: false },
  { request: { method: "DELETE", path: "/api/v1/namespaces/a/configmaps/b", body: { dryRun: ["All"] } }, isSent: true },
  { request: { method: "DELETE", path: "/api/v1/namespaces/a/configmaps/b", body: { dryRun: [] } }, isSent: false },
  {
    request: { method: "POST", path: "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", body: {} },
    isSent: true,
  },
  { request: { method: "POST", path: "/apis/evil.example.org/v1/selfsubjectaccessreviews", body: {} }, isSent: false },
  // A body cannot turn a write into a dry run, nor a query a deletion of a body that says otherwise.
  { request: { method: "PUT", path: "/api/v1/namespaces/a/configmaps/b", body: { dryRun: ["All"] } }, isSent: false },
];

for (const { request, isSent } of rows) {
  test(`${request.method} ${request.path} ${JSON.stringify(request.query ?? request.body ?? "")} is ${isSent ? "sent" : "refused"}`, async () => {
    const sent: KubeRequest[] = [];
    const guarded = guardTransport({
      request: async (one) => {
        sent.push(one);
        return { code: 200, body: {}, warnings: [] };
      },
      stream: async () => (async function* () {})(),
      close: async () => {},
    });
    const outcome = guarded.request(request);
    if (isSent) await outcome;
    else await assert.rejects(outcome, /refused to send .* without dryRun=All/);
    assert.equal(sent.length, isSent ? 1 : 0);
  });
}
