// SPDX-License-Identifier: Apache-2.0

import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject } from "@purlin/kube-objects/json";
import { storeOf } from "../../test/test-server.ts";
import { type Availability, checkAvailability, type RemoteApi } from "./api-service.ts";
import { type Backends, TransportError } from "./backends.ts";

const remote: RemoteApi = {
  name: "v1.example.org",
  group: "example.org",
  version: "v1",
  groupPriority: 1,
  versionPriority: 1,
  service: { namespace: "ns", name: "api", port: 443 },
  caBundle: "",
  skipsVerification: false,
};
const url = "https://10.0.0.1:8443/apis/example.org/v1";

const service: JsonObject = { spec: { ports: [{ name: "tls", port: 443 }] } };
const slice = (more: JsonObject = {}): JsonObject => ({
  metadata: { labels: { "kubernetes.io/service-name": "api" } },
  ports: [{ name: "tls", port: 8443 }],
  endpoints: [{ addresses: ["10.0.0.1"] }],
  ...more,
});
const serviceAt = "//services/ns/api";
const sliceAt = "/discovery.k8s.io/endpointslices/ns/api-1";
const complete = { [serviceAt]: service, [sliceAt]: slice() };

interface Sent {
  readonly path: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, unknown>>;
}

/** The outcome of a check whose request is answered with a code or fails. */
async function check(
  objects: Readonly<Record<string, JsonObject>>,
  {
    code = 200,
    error,
    unresolved,
    api = remote,
    sent = [],
  }: { code?: number; error?: Error; unresolved?: Error; api?: RemoteApi; sent?: Sent[] } = {},
): Promise<Availability | undefined> {
  await using store = await storeOf(objects);
  const backends = {
    address: () => {
      if (unresolved !== undefined) throw unresolved;
      return { host: "10.0.0.1", port: 8443 };
    },
    send: async (_: RemoteApi, request: Sent) => {
      sent.push(request);
      if (error !== undefined) throw error;
      return { statusCode: code, destroy: () => {} };
    },
  } as unknown as Backends;
  return await checkAvailability(api, { store, backends, signal: new AbortController().signal });
}

const failed = (reason: string, message: string): Availability => ({ status: "False", reason, message });

test("an API whose server answers discovery is available", async () => {
  const sent: Sent[] = [];
  assert.deepEqual(await check(complete, { sent }), { status: "True", reason: "Passed", message: "all checks passed" });
  assert.deepEqual([sent[0]?.method, sent[0]?.path], ["GET", "/apis/example.org/v1"]);
  assert.equal(sent[0]?.headers["x-remote-user"], "system:kube-aggregator");
  assert.deepEqual(sent[0]?.headers["x-remote-group"], ["system:masters"]);
  const core: Sent[] = [];
  await check(complete, { sent: core, api: { ...remote, group: "" } });
  assert.equal(core[0]?.path, "/api/v1");
});

const services: readonly (readonly [string, Readonly<Record<string, JsonObject>>, Availability])[] = [
  ["no Service", { [sliceAt]: slice() }, failed("ServiceNotFound", 'service/api in "ns" is not present')],
  [
    "another port",
    { ...complete, [serviceAt]: { spec: { ports: [{ name: "tls", port: 80 }] } } },
    failed("ServicePortError", 'service/api in "ns" is not listening on port 443'),
  ],
  [
    "no slices",
    { [serviceAt]: service },
    failed("EndpointsNotFound", 'cannot find endpointslices for service/api in "ns"'),
  ],
  [
    "slices of another Service",
    { ...complete, [sliceAt]: slice({ metadata: { labels: { "kubernetes.io/service-name": "other" } } }) },
    failed("EndpointsNotFound", 'cannot find endpointslices for service/api in "ns"'),
  ],
];

for (const [name, objects, expected] of services) {
  test(`an API is not available: ${name}`, async () => {
    const sent: Sent[] = [];
    assert.deepEqual(await check(objects, { sent }), expected);
    assert.equal(sent.length, 0, "nothing is requested");
  });
}

test("an API is not available without a ready address under the name of the port", async () => {
  const missing = failed(
    "MissingEndpoints",
    'endpointslices for service/api in "ns" have no addresses with port name "tls"',
  );
  for (const more of [
    { ports: [{ name: "other", port: 1 }] },
    { endpoints: [] },
    { endpoints: [{ addresses: [] }] },
    { endpoints: [{ addresses: ["10.0.0.1"], conditions: { ready: false } }] },
  ]) {
    assert.deepEqual(await check({ ...complete, [sliceAt]: slice(more) }), missing, JSON.stringify(more));
  }
  const ready = { endpoints: [{ addresses: ["10.0.0.1"], conditions: { ready: true } }] };
  assert.equal((await check({ ...complete, [sliceAt]: slice(ready) }))?.status, "True");
});

test("the endpoints of a Service that is not of type ClusterIP are not looked for", async () => {
  const external = { [serviceAt]: { spec: { type: "ExternalName", externalName: "x" } } };
  assert.equal((await check(external))?.status, "True");
});

test("codes from 200 to 299 pass", async () => {
  assert.equal((await check(complete, { code: 299 }))?.status, "True");
  for (const code of [199, 300, 401, 503]) {
    assert.deepEqual(
      await check(complete, { code }),
      failed("FailedDiscoveryCheck", `failing or missing response from ${url}: bad status from ${url}: ${code}`),
    );
  }
});

test("a request that fails has the text of Go", async () => {
  const error = Object.assign(new Error(), { code: "ECONNREFUSED", address: "10.0.0.1", port: 8443 });
  const text = `Get "${url}": dial tcp 10.0.0.1:8443: connect: connection refused`;
  assert.deepEqual(
    await check(complete, { error }),
    failed("FailedDiscoveryCheck", `failing or missing response from ${url}: ${text}`),
  );
});

test("an address that cannot be found is the whole message", async () => {
  const unresolved = new Error('no endpoints available for service "api"');
  assert.deepEqual(await check(complete, { unresolved }), failed("FailedDiscoveryCheck", unresolved.message));
});

test("nothing is known about an API whose certificates cannot be read", async () => {
  assert.equal(await check(complete, { error: new TransportError("no PEM") }), undefined);
});
