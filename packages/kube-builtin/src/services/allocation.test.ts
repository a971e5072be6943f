// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Store } from "@purlin/kube-apiserver/kinds";
import { objectCodec, openStore, tempDirectory } from "@purlin/kube-apiserver/testing";
import { fieldErrorText, type StatusError } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import { allocated, DrawnPlaces, nodePortErrors, ServicePlaces, type TakenPlaces } from "./allocation.ts";

const nothingTaken: TakenPlaces = { isAddressTaken: () => false, isPortTaken: () => false };
const isAddress = (value: unknown): boolean =>
  /^10\.0\.\d+\.([1-9]|[1-9]\d|1\d\d|2[0-4]\d|25[0-4])$/.test(String(value));
const isPort = (value: unknown): boolean => Number(value) >= 30_000 && Number(value) <= 32_767;
const portsOf = (spec: JsonObject): readonly unknown[] =>
  ((spec["ports"] ?? []) as readonly JsonObject[]).map((port) => port["nodePort"]);

const cases: Record<string, { reason: string; spec: JsonObject; holds: (made: JsonObject) => boolean }> = {
  ClusterIP: {
    reason: "an address and its family",
    spec: { type: "ClusterIP", ports: [{ port: 80 }] },
    holds: ({ clusterIP, clusterIPs, ipFamilies, ipFamilyPolicy, ports }) =>
      isAddress(clusterIP) &&
      JSON.stringify([clusterIPs, ipFamilies, ipFamilyPolicy, ports]) ===
        JSON.stringify([[clusterIP], ["IPv4"], "SingleStack", [{ port: 80 }]]),
  },
  Given: {
    reason: "the address that was asked for",
    spec: { clusterIP: "10.9.9.9" },
    holds: ({ clusterIP }) => clusterIP === "10.9.9.9",
  },
  Headless: {
    reason: "none, of one family where something is selected",
    spec: { clusterIP: "None", selector: { app: "a" } },
    holds: ({ clusterIPs, ipFamilies }) => String(clusterIPs) === "None" && String(ipFamilies) === "IPv4",
  },
  HeadlessOpen: {
    reason: "of any family where nothing is",
    spec: { clusterIP: "None" },
    holds: ({ ipFamilies, ipFamilyPolicy }) =>
      String(ipFamilies) === "IPv4,IPv6" && ipFamilyPolicy === "RequireDualStack",
  },
  ExternalName: {
    reason: "a name needs nothing",
    spec: { type: "ExternalName", externalName: "x" },
    holds: (made) => Object.keys(made).join() === "type,externalName",
  },
  NodePort: {
    reason: "a port of its own for each",
    spec: { type: "NodePort", ports: [{ port: 80 }, { port: 81, nodePort: 30_007 }, { port: 82 }] },
    holds: (made) => portsOf(made).every(isPort) && portsOf(made)[1] === 30_007 && new Set(portsOf(made)).size === 3,
  },
  Balancer: {
    reason: "ports of nodes too",
    spec: { type: "LoadBalancer", ports: [{ port: 80 }] },
    holds: (made) => portsOf(made).every(isPort),
  },
  BalancerWithout: {
    reason: "unless it says it needs none",
    spec: { type: "LoadBalancer", allocateLoadBalancerNodePorts: false, ports: [{ port: 80 }] },
    holds: (made) => portsOf(made)[0] === undefined,
  },
  LocalBalancer: {
    reason: "one more to ask for health",
    spec: { type: "LoadBalancer", externalTrafficPolicy: "Local", ports: [{ port: 80 }] },
    holds: ({ healthCheckNodePort }) => isPort(healthCheckNodePort),
  },
  LocalBalancerKept: {
    reason: "which stays",
    spec: { type: "LoadBalancer", externalTrafficPolicy: "Local", healthCheckNodePort: 31_000, ports: [{ port: 80 }] },
    holds: ({ healthCheckNodePort }) => healthCheckNodePort === 31_000,
  },
};

for (const [name, { reason, spec, holds }] of Object.entries(cases)) {
  test(`what a Service is given: ${name}`, () => {
    const made = allocated(spec, nothingTaken);
    assert.ok(holds(made), `${reason}: ${JSON.stringify(made)}`);
  });
}

test("the last free address and port are found", () => {
  const last: TakenPlaces = { isAddressTaken: (one) => one !== "10.0.200.254", isPortTaken: (port) => port !== 32_767 };
  const made = allocated({ type: "NodePort", ports: [{ port: 80 }] }, last);
  assert.deepEqual([made["clusterIP"], ...portsOf(made)], ["10.0.200.254", 32_767]);
});

test("taken addresses and ports are not allocated, and an error says when none is left", () => {
  const busy: TakenPlaces = {
    isAddressTaken: (address) => !address.endsWith(".77"),
    isPortTaken: (port) => port % 10 !== 0,
  };
  const made = allocated({ type: "NodePort", ports: [{ port: 80 }] }, busy);
  assert.match(String(made["clusterIP"]), /\.77$/);
  assert.equal(Number(portsOf(made)[0]) % 10, 0);
  assert.throws(() => allocated({}, { ...busy, isAddressTaken: () => true }), /no address is free/);
  assert.throws(
    () =>
      allocated(
        { type: "NodePort", clusterIP: "10.0.0.9", ports: [{ port: 80 }] },
        { ...busy, isPortTaken: () => true },
      ),
    /no port of nodes is free/,
  );
});

test("ports of a new Service with one number share a port of nodes", () => {
  const [tcp, udp] = [
    { port: 53, protocol: "TCP" },
    { port: 53, protocol: "UDP" },
  ];
  const [first, second, other] = portsOf(
    allocated({ type: "NodePort", ports: [tcp, udp, { port: 54 }] }, nothingTaken),
  );
  assert.ok(isPort(first) && first === second && first !== other);
  const given = allocated({ type: "NodePort", ports: [tcp, { ...udp, nodePort: 30_200 }] }, nothingTaken);
  assert.deepEqual(portsOf(given), [30_200, 30_200], "that of a later port");
  const changed = allocated({ type: "NodePort", ports: [tcp, udp] }, nothingTaken, { isChange: true });
  assert.equal(new Set(portsOf(changed)).size, 2, "those of a change do not");
});

test("a port for health checks is one that neither this Service nor another has", () => {
  const taken: TakenPlaces = { ...nothingTaken, isPortTaken: (one) => one === 31_111 };
  const balancer = (healthCheckNodePort: number): JsonObject => ({
    ...{ type: "LoadBalancer", externalTrafficPolicy: "Local", healthCheckNodePort },
    ports: [{ port: 80, nodePort: 31_112 }],
  });
  const errors = (port: number, old?: JsonObject): string[] =>
    nodePortErrors(balancer(port), old, taken).map(fieldErrorText);
  const refused = (port: number, problem = "already allocated"): Partial<StatusError> => ({
    code: 500,
    message: `Internal error occurred: failed to allocate requested HealthCheck NodePort ${port}: provided port is ${problem}`,
  });
  assert.deepEqual(errors(31_113), []);
  assert.throws(() => errors(31_111), refused(31_111));
  assert.throws(() => errors(31_112), refused(31_112));
  const range = "not in the valid range. The range of valid ports is 30000-32767";
  assert.throws(() => errors(5), refused(5, range));
  assert.throws(() => errors(31_111, { type: "LoadBalancer" }), refused(31_111), "of a Service that had none");
  assert.deepEqual(errors(31_111, balancer(31_111)), [], "its own");
});

test("ports of a change share a port of nodes only with different protocols", () => {
  const old = { type: "NodePort", ports: [{ port: 80, protocol: "TCP", nodePort: 30_080 }] };
  const errors = (...protocols: string[]): unknown =>
    nodePortErrors(
      { type: "NodePort", ports: protocols.map((protocol) => ({ protocol, nodePort: 30_080 })) },
      old,
      nothingTaken,
    );
  assert.deepEqual(errors("TCP", "UDP"), []);
  assert.throws(() => errors("TCP", "UDP", "TCP"), { code: 500, message: "duplicate nodePort: {TCP 30080}" });
});

const asked: Record<string, { reason: string; port: number; old?: number; want: readonly string[] }> = {
  Free: { reason: "in range and free", port: 30_500, want: [] },
  Low: {
    reason: "below the range",
    port: 29_999,
    want: ["spec.ports[0].nodePort: provided port is not in the valid range. The range of valid ports is 30000-32767"],
  },
  High: {
    reason: "above it",
    port: 32_768,
    want: ["spec.ports[0].nodePort: provided port is not in the valid range. The range of valid ports is 30000-32767"],
  },
  Taken: { reason: "another's", port: 31_111, want: ["spec.ports[0].nodePort: provided port is already allocated"] },
  Own: { reason: "one's own", port: 31_111, old: 31_111, want: [] },
  None: { reason: "zero asks for any", port: 0, want: [] },
};

for (const [name, { reason, port, old, want }] of Object.entries(asked)) {
  test(`a port of nodes that is asked for: ${name}`, () => {
    const taken: TakenPlaces = { ...nothingTaken, isPortTaken: (one) => one === 31_111 };
    const before = old === undefined ? undefined : { ports: [{ nodePort: old }] };
    const errors = nodePortErrors({ ports: [{ nodePort: port }] }, before, taken);
    assert.deepEqual(
      errors.map((error) => fieldErrorText(error).replace(/Invalid value: \d+: /, "")),
      want,
      reason,
    );
  });
}

function open(): Store<JsonObject> {
  return openStore<JsonObject>({ directory: tempDirectory(), codec: objectCodec });
}

async function put(store: Store<JsonObject>, name: string, spec: JsonObject): Promise<void> {
  await store.write(`//services/ns/${name}`, () => ({ action: "put", value: { metadata: { name }, spec } }));
}

const service = (address: string, port: number): JsonObject => ({ clusterIP: address, ports: [{ nodePort: port }] });

test("places are taken while a Service has them", async () => {
  const store = open();
  await put(store, "before", service("10.0.0.5", 30_005));
  const places = new ServicePlaces(store);
  assert.deepEqual([places.isAddressTaken("10.0.0.5"), places.isPortTaken(30_005)], [true, true]);
  assert.deepEqual([places.isAddressTaken("10.0.0.6"), places.isPortTaken(30_006)], [false, false]);

  await put(store, "after", { ...service("10.0.0.6", 30_006), healthCheckNodePort: 30_007 });
  assert.deepEqual([places.isAddressTaken("10.0.0.6"), places.isPortTaken(30_007)], [true, true]);

  await put(store, "after", { clusterIP: "10.0.0.6", ports: [{ port: 80 }] });
  assert.deepEqual(
    [places.isAddressTaken("10.0.0.6"), places.isPortTaken(30_006)],
    [true, false],
    "only its ports went",
  );

  await store.write("//services/ns/after", () => ({ action: "delete" }));
  assert.equal(places.isAddressTaken("10.0.0.6"), false);
  await store.close();
});

test("a place that two have is free when both are gone", async () => {
  const store = open();
  const places = new ServicePlaces(store);
  await put(store, "one", service("10.0.0.5", 0));
  await put(store, "two", service("10.0.0.5", 0));
  await store.write("//services/ns/one", () => ({ action: "delete" }));
  assert.equal(places.isAddressTaken("10.0.0.5"), true);
  await store.write("//services/ns/two", () => ({ action: "delete" }));
  assert.equal(places.isAddressTaken("10.0.0.5"), false);
  await store.close();
});

test("None and 0 are not counted", async () => {
  const store = open();
  const places = new ServicePlaces(store);
  await put(store, "headless", { clusterIP: "None", ports: [{ port: 80 }] });
  assert.deepEqual([places.isAddressTaken("None"), places.isPortTaken(0)], [false, false]);
  await store.close();
});

test("places stay known when the history is compacted", async () => {
  const store = open();
  const places = new ServicePlaces(store);
  assert.equal(places.isAddressTaken("10.0.1.1"), false);
  for (let n = 1; n <= 50; n += 1) await put(store, `s${n}`, service(`10.0.1.${n}`, 30_000 + n));
  store.compact(store.revision);
  assert.deepEqual([places.isAddressTaken("10.0.1.50"), places.isPortTaken(30_001)], [true, true]);
  await store.close();
});

test("requests at the same time draw different ports and addresses, however few are left", () => {
  const taken: TakenPlaces = {
    isAddressTaken: (address) => !address.startsWith("10.0.200."),
    isPortTaken: (port) => port < 32_668,
    drawn: new DrawnPlaces(),
  };
  const specs = Array.from({ length: 100 }, () => allocated({ type: "NodePort", ports: [{ port: 80 }] }, taken));
  assert.equal(new Set(specs.map((spec) => spec["clusterIP"])).size, 100);
  assert.equal(new Set(specs.map((spec) => JSON.stringify(spec["ports"]))).size, 100);
  const next = allocated({ type: "NodePort", ports: [{ port: 80 }] }, taken);
  assert.match(
    JSON.stringify(next["ports"]),
    /"nodePort":32[67]/,
    "a port that only failed requests can have drawn is used",
  );
});

test("requests that store nothing do not keep more than some hundred places", () => {
  const drawn = new DrawnPlaces();
  for (let port = 0; port < 600; port += 1) drawn.add(String(port));
  assert.deepEqual([drawn.has("99"), drawn.has("100"), drawn.has("599")], [false, true, true]);
});
