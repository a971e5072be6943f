// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { requestTarget } from "./request-target.ts";

const core = { group: "", version: "v1", namespace: "", name: "", subresource: "" };

const cases: Record<string, { reason: string; request: string; want: object }> = {
  List: {
    reason: "a collection",
    request: "GET /api/v1/configmaps",
    want: { ...core, verb: "list", resource: "configmaps" },
  },
  ListIn: {
    reason: "a collection in a namespace",
    request: "GET /api/v1/namespaces/a/configmaps",
    want: { ...core, verb: "list", namespace: "a", resource: "configmaps" },
  },
  Get: {
    reason: "one object",
    request: "GET /api/v1/namespaces/a/configmaps/b",
    want: { ...core, verb: "get", namespace: "a", resource: "configmaps", name: "b" },
  },
  Head: {
    reason: "reading without the body",
    request: "HEAD /api/v1/nodes/b",
    want: { ...core, verb: "get", resource: "nodes", name: "b" },
  },
  Group: {
    reason: "a named group",
    request: "PUT /apis/apps/v1/namespaces/a/deployments/b",
    want: { ...core, group: "apps", verb: "update", namespace: "a", resource: "deployments", name: "b" },
  },
  Subresource: {
    reason: "a part of an object",
    request: "PATCH /apis/apps/v1/namespaces/a/deployments/b/scale",
    want: {
      ...core,
      group: "apps",
      verb: "patch",
      namespace: "a",
      resource: "deployments",
      name: "b",
      subresource: "scale",
    },
  },
  ClusterSubresource: {
    reason: "without a namespace",
    request: "PUT /apis/g.io/v1/things/b/status",
    want: { ...core, group: "g.io", verb: "update", resource: "things", name: "b", subresource: "status" },
  },
  Create: {
    reason: "POST",
    request: "POST /api/v1/namespaces/a/secrets",
    want: { ...core, verb: "create", namespace: "a", resource: "secrets" },
  },
  Delete: {
    reason: "DELETE of one",
    request: "DELETE /api/v1/namespaces/a/secrets/b",
    want: { ...core, verb: "delete", namespace: "a", resource: "secrets", name: "b" },
  },
  DeleteCollection: {
    reason: "DELETE of many",
    request: "DELETE /api/v1/namespaces/a/secrets",
    want: { ...core, verb: "deletecollection", namespace: "a", resource: "secrets" },
  },
  WatchPath: {
    reason: "the deprecated path of a watch, whatever the query says",
    request: "GET /api/v1/watch/namespaces/a/configmaps?watch=false",
    want: { ...core, verb: "watch", namespace: "a", resource: "configmaps" },
  },
  WatchPathOfOne: {
    reason: "the deprecated path of a watch of one object, whatever the method is",
    request: "POST /apis/apps/v1/watch/namespaces/a/deployments/b",
    want: { ...core, group: "apps", verb: "watch", namespace: "a", resource: "deployments", name: "b" },
  },
  Namespaces: {
    reason: "the collection of namespaces",
    request: "GET /api/v1/namespaces",
    want: { ...core, verb: "list", resource: "namespaces" },
  },
  Namespace: {
    reason: "a namespace is in itself",
    request: "GET /api/v1/namespaces/a",
    want: { ...core, verb: "get", namespace: "a", resource: "namespaces", name: "a" },
  },
  NamespaceStatus: {
    reason: "not a resource named status",
    request: "GET /api/v1/namespaces/a/status",
    want: { ...core, verb: "get", namespace: "a", resource: "namespaces", name: "a", subresource: "status" },
  },
  NamespaceFinalize: {
    reason: "nor one named finalize",
    request: "PUT /api/v1/namespaces/a/finalize",
    want: { ...core, verb: "update", namespace: "a", resource: "namespaces", name: "a", subresource: "finalize" },
  },
  Watch: {
    reason: "watch=true",
    request: "GET /api/v1/pods?watch=true",
    want: { ...core, verb: "watch", resource: "pods" },
  },
  WatchBare: {
    reason: "any value but false and 0",
    request: "GET /api/v1/pods?watch",
    want: { ...core, verb: "watch", resource: "pods" },
  },
  WatchFalse: {
    reason: "false does not watch",
    request: "GET /api/v1/pods?watch=false",
    want: { ...core, verb: "list", resource: "pods" },
  },
  WatchZero: {
    reason: "nor is 0",
    request: "GET /api/v1/pods?watch=0",
    want: { ...core, verb: "list", resource: "pods" },
  },
  WatchOne: {
    reason: "one object is got",
    request: "GET /api/v1/nodes/x?watch=true",
    want: { ...core, verb: "get", resource: "nodes", name: "x" },
  },
  Pinned: {
    reason: "a selector that names one object",
    request: "GET /api/v1/pods?fieldSelector=metadata.name%3Dx&watch=1",
    want: { ...core, verb: "watch", resource: "pods", name: "x" },
  },
  NotPinned: {
    reason: "a selector that does not",
    request: "GET /api/v1/pods?fieldSelector=metadata.name!%3Dx",
    want: { ...core, verb: "list", resource: "pods" },
  },
  BadSelector: {
    reason: "refused where it is used",
    request: "GET /api/v1/pods?fieldSelector=x",
    want: { ...core, verb: "list", resource: "pods" },
  },
  Escaped: {
    reason: "escapes are undone in segments",
    request: "GET /apis/rbac/v1/clusterroles/system%3Aa%20b",
    want: { ...core, group: "rbac", verb: "get", resource: "clusterroles", name: "system:a b" },
  },
  TrailingSlash: {
    reason: "does not matter",
    request: "GET /api/v1/pods/",
    want: { ...core, verb: "list", resource: "pods" },
  },
};

for (const [name, { reason, request, want }] of Object.entries(cases)) {
  test(`target: ${name}`, () => {
    const [method = "", url = ""] = request.split(" ");
    const [path = "", query = ""] = url.split("?");
    assert.deepEqual(requestTarget(method, path, new URLSearchParams(query)), { kind: "resource", ...want }, reason);
  });
}

for (const path of [
  "/",
  "/api",
  "/api/v1",
  "/apis",
  "/apis/apps",
  "/apis/apps/v1",
  "/healthz",
  "/apiss/x/y/z",
  "/api/v1/pods/%zz",
]) {
  test(`"${path}" is not a resource`, () => {
    assert.deepEqual(requestTarget("GET", path, new URLSearchParams()), { kind: "path", verb: "get", path });
  });
}
