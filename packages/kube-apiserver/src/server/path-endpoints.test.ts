// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { answerValue, startTestServer, type TestServer, testRequest, textOf } from "../../test/test-server.ts";
import { Registry } from "../registry/registry.ts";
import { defineKinds } from "../strategy/kind-rules.ts";
import { documentEndpoint, rootPaths, serverChecks } from "./path-endpoints.ts";

let server: TestServer;
before(async () => {
  server = await startTestServer({
    documents: (path, query) => {
      if (path === "/later") return Promise.resolve(query.has("none") ? undefined : { q: query.get("q") });
      return path === "/x" ? { q: query.get("q") } : undefined;
    },
  });
});
after(() => server[Symbol.asyncDispose]());

const well = {
  storeProblem: () => undefined,
  areKindsServed: () => true,
  isBootstrapped: () => true,
  isStopping: () => false,
};

/** The checks that fail, with their problems. */
function failing(state: Partial<typeof well> | { storeProblem: () => string }): Record<string, string[]> {
  const checks = serverChecks({ ...well, ...state });
  const problems = (list: (typeof checks)["livez"]): string[] =>
    list.flatMap(({ name, check }) => (check() === undefined ? [] : [`${name}: ${check()}`]));
  return { livez: problems(checks.livez), readyz: problems(checks.readyz), healthz: problems(checks.healthz) };
}

test("a server that is well passes all checks, in the order of the reference", () => {
  assert.deepEqual(failing({}), { livez: [], readyz: [], healthz: [] });
  const { livez, readyz, healthz } = serverChecks(well);
  assert.deepEqual(
    livez.map(({ name }) => name),
    [
      "ping",
      "etcd",
      "poststarthook/start-apiextensions-controllers",
      "poststarthook/crd-informer-synced",
      "poststarthook/start-system-namespaces-controller",
      "poststarthook/rbac/bootstrap-roles",
    ],
  );
  assert.deepEqual(healthz, livez);
  assert.deepEqual(
    readyz.slice(0, 4).map(({ name }) => name),
    ["ping", "etcd", "etcd-readiness", "informer-sync"],
  );
  assert.equal(readyz.at(-1)?.name, "shutdown");
});

test("a store that takes no writes is neither live nor ready", () => {
  assert.deepEqual(failing({ storeProblem: () => "disk full" }), {
    livez: ["etcd: disk full"],
    readyz: ["etcd: disk full", "etcd-readiness: disk full"],
    healthz: ["etcd: disk full"],
  });
});

test("a server that starts lacks its kinds and what every cluster has", () => {
  const { readyz = [], livez = [] } = failing({ areKindsServed: () => false, isBootstrapped: () => false });
  assert.deepEqual(livez, [
    "poststarthook/start-apiextensions-controllers: custom kinds are not served yet",
    "poststarthook/crd-informer-synced: custom kinds are not served yet",
    "poststarthook/start-system-namespaces-controller: bootstrap objects are not created yet",
    "poststarthook/rbac/bootstrap-roles: bootstrap objects are not created yet",
  ]);
  assert.deepEqual(readyz[0], "informer-sync: custom kinds are not served yet");
});

test("a server that stops is live and not ready", () => {
  assert.deepEqual(failing({ isStopping: () => true }), {
    livez: [],
    readyz: ["shutdown: process is shutting down"],
    healthz: [],
  });
});

test("a document is indented JSON at its path, with or without a slash", () => {
  const endpoint = documentEndpoint("/version", () => ({ a: "<b>" }));
  for (const path of ["/version", "/version/"]) {
    const response = endpoint(testRequest(path));
    assert.equal(textOf(response), '{\n  "a": "\\u003cb\\u003e"\n}');
    assert.deepEqual(answerValue(response), { a: "<b>" });
    assert.equal(response?.payload?.contentType, "application/json");
  }
  assert.equal(endpoint(testRequest("/versions")), undefined);
});

test("the root lists groups, versions and checks, sorted", () => {
  const types = [
    ...defineKinds({ group: "", version: "v1", priority: 9 }, [{ resource: "pods", kind: "Pod" }]),
    ...defineKinds({ group: "apps", version: "v1", priority: 1 }, [{ resource: "deployments", kind: "Deployment" }]),
  ].map(({ type }) => type);
  const { paths } = rootPaths(new Registry(types).catalog, ["/livez", "/livez/ping"]) as { paths: string[] };
  assert.deepEqual(paths, [
    "/api",
    "/api/v1",
    "/apis",
    "/apis/",
    "/apis/apps",
    "/apis/apps/v1",
    "/livez",
    "/livez/ping",
    "/metrics",
    "/metrics/slis",
    "/openapi/v2",
    "/openapi/v3",
    "/openapi/v3/",
    "/version",
  ]);
});

test("a watch of nothing is an error of the server, as in the reference", async () => {
  for (const path of ["/api/v1/watch", "/apis/apps/v1/watch/"]) {
    const response = await server.send(path);
    assert.equal(response.code, 500);
    assert.equal(
      textOf(response),
      `Internal Server Error: "${path}": failed to create RequestInfo: unable to determine kind and namespace from url, ${path}\n`,
    );
    assert.equal(response.headers?.["x-content-type-options"], "nosniff");
  }
});

test("documents of other parts of the process are served for GET only", async () => {
  const response = await server.send("/x?q=1");
  assert.equal(textOf(response), '{"q":"1"}\n');
  assert.deepEqual(answerValue(response), { q: "1" });
  assert.equal((await server.send("/x", { method: "POST" })).code, 405);
});

test("documents that are made in parts are served as others, and may be none", async () => {
  assert.equal(textOf(await server.send("/later?q=1")), '{"q":"1"}\n');
  assert.equal((await server.send("/later?none")).code, 404);
  assert.equal((await server.send("/later", { method: "POST" })).code, 405);
});

test("a snapshot is made by POST, one at a time", async () => {
  const path = "/purlin.dev/snapshot";
  assert.equal((await server.send(path)).code, 405);
  const responses = await Promise.all([server.send(path, { method: "POST" }), server.send(path, { method: "POST" })]);
  assert.deepEqual(responses.map(({ code }) => code).sort(), [200, 429]);
  const [made] = responses;
  assert.equal(textOf(made), '{"file":"snapshot.db"}');
  assert.equal((await server.send(path, { method: "POST" })).code, 200);
});
