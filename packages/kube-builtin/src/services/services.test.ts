// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { answerValue } from "@purlin/kube-apiserver/testing";
import type { JsonObject } from "@purlin/kube-objects/json";
import { startTestServer, type TestServer } from "../../test/index.ts";

const services = "/api/v1/namespaces/default/services";
let server: TestServer;

before(async () => {
  server = await startTestServer();
});
after(() => server[Symbol.asyncDispose]());

type Spec = Readonly<Record<string, unknown>> & { readonly ports: readonly JsonObject[] };

async function create(name: string, spec: JsonObject): Promise<Spec> {
  const made = await server.post(services, { metadata: { name }, spec: { selector: { a: "b" }, ...spec } });
  return made["spec"] as unknown as Spec;
}

async function change(name: string, spec: JsonObject): Promise<Spec> {
  return (await server.patch(`${services}/${name}`, { spec }))["spec"] as unknown as Spec;
}

async function refused(name: string, spec: JsonObject): Promise<string> {
  const response = await server.send(services, { method: "POST", body: { metadata: { name }, spec } });
  return String((answerValue(response) as JsonObject)["message"]);
}

const inRange = (port: unknown): boolean => Number(port) >= 30_000 && Number(port) <= 32_767;

test("Services that are reached through nodes get node ports, each its own", async () => {
  const spec = await create("nodes", {
    type: "NodePort",
    ports: [
      { port: 1, name: "a" },
      { port: 2, name: "b" },
    ],
  });
  const ports = spec.ports.map(({ nodePort }) => nodePort);
  assert.ok(ports.every(inRange));
  assert.equal(new Set(ports).size, 2);
});

test("a balancer may do without, and one for nearby Pods is asked for its health", async () => {
  const spec = await create("balanced", {
    type: "LoadBalancer",
    allocateLoadBalancerNodePorts: false,
    externalTrafficPolicy: "Local",
    ports: [{ port: 1 }],
  });
  assert.equal(spec.ports[0]?.["nodePort"], undefined);
  assert.ok(inRange(spec["healthCheckNodePort"]));
});

test("a balancer that does without ports of nodes cannot take the one of another Service", async () => {
  await create("owner", { type: "NodePort", ports: [{ port: 1, nodePort: 30_013 }] });
  const spec = { type: "LoadBalancer", allocateLoadBalancerNodePorts: false, ports: [{ port: 1, nodePort: 30_013 }] };
  assert.match(await refused("thief", spec), /spec\.ports\[0\]\.nodePort: .* provided port is already allocated$/);
});

test("a port of nodes is one Service's, and in their range", async () => {
  await create("first", { type: "NodePort", ports: [{ port: 1, nodePort: 30_012 }] });
  const invalid = (name: string, port: number): string =>
    `Service "${name}" is invalid: spec.ports[0].nodePort: Invalid value: ${port}: provided port is`;
  assert.equal(
    await refused("second", { type: "NodePort", ports: [{ port: 1, nodePort: 30_012 }] }),
    `${invalid("second", 30_012)} already allocated`,
  );
  assert.equal(
    await refused("third", { type: "NodePort", ports: [{ port: 1, nodePort: 80 }] }),
    `${invalid("third", 80)} not in the valid range. The range of valid ports is 30000-32767`,
  );
});

test("ports of nodes that a Service does not name lie above those that are for Services that do", async () => {
  const ports = Array.from({ length: 200 }, (_, index) => ({ name: `p${index}`, port: index + 1 }));
  const spec = await create("many", { type: "NodePort", ports });
  assert.equal(spec.ports.length, 200);
  for (const { nodePort } of spec.ports) assert.ok(Number(nodePort) > 30_085, String(nodePort));
});

test("a change of ports keeps the ports of nodes of those that stay", async () => {
  const before = await create("moving", { type: "NodePort", ports: [{ port: 1 }] });
  const same = await change("moving", { ports: [{ port: 1, targetPort: 9 }] });
  assert.equal(same.ports[0]?.["nodePort"], before.ports[0]?.["nodePort"]);
  const other = await change("moving", { ports: [{ port: 2 }] });
  assert.ok(inRange(other.ports[0]?.["nodePort"]));
});

test("what only some Services have goes when a Service becomes another one", async () => {
  const first = await create("turning", { type: "LoadBalancer", ports: [{ port: 1 }] });
  const inside = await change("turning", { type: "ClusterIP" });
  assert.equal(inside["clusterIP"], first["clusterIP"]);
  assert.deepEqual(
    [inside["externalTrafficPolicy"], inside["allocateLoadBalancerNodePorts"], inside.ports[0]?.["nodePort"]],
    [undefined, undefined, undefined],
  );
  const outside = await change("turning", { type: "ExternalName", externalName: "a.example.org" });
  assert.deepEqual(
    [outside["clusterIP"], outside["clusterIPs"], outside["ipFamilies"], outside["internalTrafficPolicy"]],
    [undefined, undefined, undefined, undefined],
  );
  const back = await change("turning", { type: "ClusterIP" });
  assert.match(String(back["clusterIP"]), /^10\.0\./);
});

test("an address stays", async () => {
  await create("staying", { ports: [{ port: 1 }] });
  const headers = { "content-type": "application/merge-patch+json" };
  const response = await server.send(`${services}/staying`, {
    method: "PATCH",
    headers,
    body: { spec: { clusterIP: "10.0.0.77" } },
  });
  const { message } = answerValue(response) as { readonly message: string };
  assert.equal(
    message,
    'Service "staying" is invalid: spec.clusterIPs[0]: Invalid value: ["10.0.0.77"]: may not change once set',
  );
});

test("a name that is not used gives a warning", async () => {
  const spec = { type: "ClusterIP", externalName: "a.example.org", ports: [{ port: 1 }] };
  const response = await server.send(services, { method: "POST", body: { metadata: { name: "named" }, spec } });
  assert.deepEqual(response.warnings, ['spec.externalName is ignored when spec.type is not "ExternalName"']);
});

test("without a selector, addresses may be of any family", async () => {
  const made = await server.post(services, { metadata: { name: "open" }, spec: { clusterIP: "None" } });
  const spec = made["spec"] as JsonObject;
  assert.deepEqual([spec["ipFamilies"], spec["ipFamilyPolicy"]], [["IPv4", "IPv6"], "RequireDualStack"]);
});
