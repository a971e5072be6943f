// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { testTypes } from "@purlin/kube-builtin/testing";
import { Registry as Metrics } from "prom-client";
import { tempDirectory } from "../../test/store/temp-store.ts";
import { startTestServer, testRequest, textOf } from "../../test/test-server.ts";
import { Registry } from "../registry/registry.ts";
import { objectCodec } from "../rest/object-codec.ts";
import { openStore } from "../store/open-store.ts";
import { metricsEndpoint } from "./server-metrics.ts";

test("objects, the process, the build and health have metrics; other paths are not served", async () => {
  const { catalog } = new Registry(testTypes);
  await using store = openStore({ directory: tempDirectory(), codec: objectCodec });
  await store.write("//configmaps/a/b", () => ({ action: "put", value: { kind: "ConfigMap" } }));
  const well = { name: "ping", check: () => undefined };
  const ill = { name: "etcd", check: () => "no" };
  const endpoint = metricsEndpoint({
    store,
    catalog: () => catalog,
    health: { healthz: [], livez: [well], readyz: [well, ill] },
    registry: new Metrics(),
    version: { major: "1", gitVersion: "v1.36.3+x" },
  });
  const text = textOf(await endpoint(testRequest("/metrics")));
  assert.match(text, /^apiserver_resource_objects\{group="",resource="configmaps"\} 1$/m);
  assert.match(text, /^apiserver_resource_objects\{group="apps",resource="deployments"\} 0$/m);
  assert.doesNotMatch(text, /selfsubjectaccessreviews/, "what is never stored is not counted");
  assert.match(text, /^process_resident_memory_bytes \d+$/m);
  assert.match(text, /^kubernetes_build_info\{.*git_version="v1\.36\.3\+x".*\} 1$/m);
  const health = textOf(await endpoint(testRequest("/metrics/slis")));
  assert.match(health, /^kubernetes_healthcheck\{name="ping",type="livez"\} 1$/m);
  assert.match(health, /^kubernetes_healthcheck\{name="etcd",type="readyz"\} 0$/m);
  assert.equal(endpoint(testRequest("/metrics/")), undefined);
});

test("a subresource that a kind does not have is not the value of a label", async () => {
  await using server = await startTestServer();
  for (const path of ["clusterroles/admin/made-up", "clusterroles/admin/b/c", "clusterrolebindings/a/status/x"])
    assert.equal((await server.send(`/apis/rbac.authorization.k8s.io/v1/${path}`)).code, 404);
  const text = textOf(await server.send("/metrics"));
  assert.doesNotMatch(text, /made-up|b\/c|status\/x/);
  assert.match(text, /^apiserver_request_total\{code="404",.*subresource="".*\} [3-9]$/m);
});
