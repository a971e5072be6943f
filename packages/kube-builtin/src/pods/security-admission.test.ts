// SPDX-License-Identifier: Apache-2.0
// Labels of namespaces and the Pods that they refuse. All rules are compared with kube-apiserver by the conformance suite.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { answerValue } from "@purlin/kube-apiserver/testing";
import type { JsonObject } from "@purlin/kube-objects/json";
import { startTestServer, type TestServer } from "../../test/index.ts";

type Response = Awaited<ReturnType<TestServer["send"]>>;

let server: TestServer;
before(async () => {
  server = await startTestServer();
});
after(() => server[Symbol.asyncDispose]());

const pod = (name: string, spec: JsonObject = {}): JsonObject => ({
  metadata: { name },
  spec: { automountServiceAccountToken: false, containers: [{ name: "c", image: "i" }], ...spec },
});

async function inNamespace(
  name: string,
  labels: Readonly<Record<string, string>>,
): Promise<(resource: string) => string> {
  const named = Object.entries(labels).map(([key, value]) => [`pod-security.kubernetes.io/${key}`, value]);
  await server.post("/api/v1/namespaces", { metadata: { name, labels: Object.fromEntries(named) as JsonObject } });
  return (resource) => `/api/v1/namespaces/${name}/${resource}`;
}

async function send(method: string, path: string, body: JsonObject): Promise<Response> {
  const patch = method === "PATCH" ? { "content-type": "application/merge-patch+json" } : undefined;
  return await server.send(path, { method, body, ...(patch && { headers: patch }) });
}

const messageOf = (response: Response): unknown => (answerValue(response) as JsonObject)["message"];

test("a namespace without labels allows all Pods", async () => {
  const at = await inNamespace("unlabelled", {});
  await server.post(at("pods"), pod("p", { hostPID: true, hostNetwork: true }));
});

test("a namespace refuses Pods that do not meet its level", async () => {
  const at = await inNamespace("enforced", { enforce: "baseline" });
  await server.post(at("pods"), pod("plain"));
  const refused = await send("POST", at("pods"), pod("p", { hostPID: true }));
  assert.equal(refused.code, 403);
  const text = 'pods "p" is forbidden: violates PodSecurity "baseline:latest": host namespaces (hostPID=true)';
  assert.equal(messageOf(refused), text);
  assert.equal((await send("GET", at("pods/p"), {})).code, 404);
});

test("a wrong level of a namespace is refused, and one that was there before is restricted", async () => {
  const labels = { "pod-security.kubernetes.io/enforce": "none" };
  const refused = await send("POST", "/api/v1/namespaces", { metadata: { name: "wrong", labels } });
  assert.equal(refused.code, 422);
  const expected = "must be one of privileged, baseline, restricted";
  const field = "metadata.labels[pod-security.kubernetes.io/enforce]";
  assert.equal(messageOf(refused), `Namespace "wrong" is invalid: ${field}: Invalid value: "none": ${expected}`);
});

test("an update of a Pod is checked when it changes an image", async () => {
  const at = await inNamespace("updated", {});
  await server.post(at("pods"), pod("p", { hostPID: true }));
  const label = { metadata: { labels: { "pod-security.kubernetes.io/enforce": "baseline" } } };
  assert.equal((await send("PATCH", "/api/v1/namespaces/updated", label)).code, 200);
  assert.equal((await send("PATCH", at("pods/p"), { metadata: { labels: { a: "b" } } })).code, 200);
  const containers = [{ name: "c", image: "other" }];
  assert.equal((await send("PATCH", at("pods/p"), { spec: { containers } })).code, 403);
});

test("a version of the standards has the rules of its time", async () => {
  const livenessProbe = { httpGet: { host: "h", port: 80 } };
  const probing = pod("p", { containers: [{ name: "c", image: "i", livenessProbe }] });
  const before = await inNamespace("before", { enforce: "baseline", "enforce-version": "v1.33" });
  assert.equal((await send("POST", before("pods"), probing)).code, 201);
  const since = await inNamespace("since", { enforce: "baseline", "enforce-version": "v1.34" });
  const detail = 'container "c" uses probe or lifecycle host "h"';
  assert.equal(
    messageOf(await send("POST", since("pods"), probing)),
    `pods "p" is forbidden: violates PodSecurity "baseline:v1.34": probe or lifecycle host (${detail})`,
  );
});

test("a new level of a namespace warns of the Pods that it would refuse, by what is wrong with them", async () => {
  const at = await inNamespace("raised", {});
  await server.post(at("pods"), pod("b", { hostPID: true }));
  await server.post(at("pods"), pod("c", { hostIPC: true }));
  await server.post(at("pods"), pod("a", { hostNetwork: true }));
  await server.post(at("pods"), pod("d", { hostPID: true, volumes: [{ name: "v", hostPath: { path: "/" } }] }));
  await server.post(at("pods"), pod("fine"));
  const label = { metadata: { labels: { "pod-security.kubernetes.io/enforce": "baseline" } } };
  const raised = await send("PATCH", "/api/v1/namespaces/raised", label);
  assert.deepEqual(raised.warnings, [
    'existing pods in namespace "raised" violate the new PodSecurity enforce level "baseline:latest"',
    "a (and 2 other pods): host namespaces",
    "d: host namespaces, hostPath volumes",
  ]);
});
