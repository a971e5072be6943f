// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject } from "@purlin/kube-objects/json";
import { storeOf } from "../../test/test-server.ts";
import { serviceResolver } from "./resolve-service.ts";
import type { ServiceAddress } from "./webhook-client.ts";

const serviceKey = "//services/ns/hook";
const endpointsKey = "//endpoints/ns/hook";
const sliceKey = (name: string): string => `/discovery.k8s.io/endpointslices/ns/${name}`;

const service: JsonObject = {
  metadata: { namespace: "ns", name: "hook" },
  spec: { type: "ClusterIP", clusterIP: "10.96.0.7", ports: [{ port: 80 }, { name: "tls", port: 443 }] },
};

function slice(name: string, more: JsonObject): JsonObject {
  const labels = { "kubernetes.io/service-name": "hook" };
  return { metadata: { namespace: "ns", name, labels }, ports: [{ name: "tls", port: 8443 }], ...more };
}

async function resolved(
  objects: Readonly<Record<string, JsonObject>>,
  port = 443,
  overrides: ReadonlyMap<string, ServiceAddress> = new Map(),
): Promise<ServiceAddress> {
  await using store = await storeOf(objects);
  return await serviceResolver(store, overrides)({ namespace: "ns", name: "hook", port });
}

test("a Service that does not exist is not found", async () => {
  await assert.rejects(resolved({}), { message: 'service "hook" not found' });
});

test("an override is used before the store is read, for its port only", async () => {
  const address = { host: "127.0.0.1", port: 7, socketPath: "/run/hook.sock" };
  const overrides = new Map([["ns/hook:443", address]]);
  assert.equal(await resolved({}, 443, overrides), address);
  await assert.rejects(resolved({}, 80, overrides), { message: 'service "hook" not found' });
});

test("a Service with an external name leads there, with the port that was asked for", async () => {
  const external = { spec: { type: "ExternalName", externalName: "hook.example.org" } };
  assert.deepEqual(await resolved({ [serviceKey]: external }, 8080), { host: "hook.example.org", port: 8080 });
});

test("a port that the Service does not have is an error", async () => {
  await assert.rejects(resolved({ [serviceKey]: service }, 8080), {
    message: 'no service port 8080 found for service "hook"',
  });
});

test("a Service without endpoints is an error", async () => {
  await assert.rejects(resolved({ [serviceKey]: service }), { message: 'no endpoints available for service "hook"' });
});

test("the first endpoint that is ready or does not state it is used, with the port of the same name", async () => {
  const endpoints = [
    { addresses: ["10.1.0.1"], conditions: { ready: false } },
    { addresses: ["10.1.0.2", "10.1.0.3"] },
    { addresses: ["10.1.0.4"], conditions: { ready: true } },
  ];
  const ports = [
    { name: "metrics", port: 1 },
    { name: "tls", port: 9443 },
  ];
  const found = await resolved({ [serviceKey]: service, [sliceKey("a")]: slice("a", { endpoints, ports }) });
  assert.deepEqual(found, { host: "10.1.0.2", port: 9443 });
});

test("a port without a name is found under no name", async () => {
  const endpoints = [{ addresses: ["10.1.0.1"] }];
  const objects = { [serviceKey]: service, [sliceKey("a")]: slice("a", { endpoints, ports: [{ port: 8080 }] }) };
  assert.deepEqual(await resolved(objects, 80), { host: "10.1.0.1", port: 8080 });
  await assert.rejects(resolved(objects, 443), { message: 'no endpoints available for service "hook"' });
});

test("slices of other Services and slices without a ready endpoint are passed over", async () => {
  const other = slice("a", { endpoints: [{ addresses: ["10.1.0.1"] }] });
  const found = await resolved({
    [serviceKey]: service,
    [sliceKey("a")]: { ...other, metadata: { labels: { "kubernetes.io/service-name": "other" } } },
    [sliceKey("b")]: slice("b", { endpoints: [{ addresses: ["10.1.0.2"], conditions: { ready: false } }] }),
    [sliceKey("c")]: slice("c", { endpoints: [{ addresses: [] }] }),
    [sliceKey("d")]: slice("d", { endpoints: [{ addresses: ["10.1.0.3"] }] }),
    "/discovery.k8s.io/endpointslices/ns2/a": slice("a", { endpoints: [{ addresses: ["10.1.0.4"] }] }),
  });
  assert.deepEqual(found, { host: "10.1.0.3", port: 8443 });
});

test("Endpoints are used where no slice leads to the Service", async () => {
  const subsets = [
    { addresses: [{ ip: "10.2.0.1" }], ports: [{ name: "metrics", port: 1 }] },
    { notReadyAddresses: [{ ip: "10.2.0.2" }], ports: [{ name: "tls", port: 8443 }] },
    { addresses: [{ ip: "10.2.0.3" }, { ip: "10.2.0.4" }], ports: [{ name: "tls", port: 8443 }] },
  ];
  const objects = { [serviceKey]: service, [endpointsKey]: { subsets } };
  assert.deepEqual(await resolved(objects), { host: "10.2.0.3", port: 8443 });
  const withSlice = { ...objects, [sliceKey("a")]: slice("a", { endpoints: [{ addresses: ["10.1.0.1"] }] }) };
  assert.deepEqual(await resolved(withSlice), { host: "10.1.0.1", port: 8443 });
});
