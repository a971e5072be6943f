// SPDX-License-Identifier: Apache-2.0
// Changes, statuses, warnings and cells of Services. The texts are those of kube-apiserver 1.36.
import assert from "node:assert/strict";
import { test } from "node:test";
import { fieldErrorText } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import { serviceCells, serviceRules } from "./service-rules.ts";

const rules = serviceRules({ isAddressTaken: () => false, isPortTaken: (port) => port === 30_001 });
const port = (more: JsonObject = {}): JsonObject => ({ port: 80, protocol: "TCP", targetPort: 80, ...more });
const address = {
  clusterIP: "10.0.0.9",
  clusterIPs: ["10.0.0.9"],
  ipFamilies: ["IPv4"],
  ipFamilyPolicy: "SingleStack",
};
const spec = (more: JsonObject = {}): JsonObject => ({
  type: "ClusterIP",
  sessionAffinity: "None",
  internalTrafficPolicy: "Cluster",
  ports: [port()],
  ...address,
  ...more,
});
const { clusterIP: _ip, clusterIPs: _ips, ipFamilies: _families, ipFamilyPolicy: _policy, ...bare } = spec();

const updated = (now: JsonObject, old: JsonObject): unknown =>
  rules.prepareUpdate?.({ spec: now }, { spec: old }, "")["spec"];
const changed = (now: JsonObject, old: JsonObject): string[] =>
  (rules.validateChange?.({ spec: now }, { spec: old }, "") ?? []).map(fieldErrorText);

test("an update without an address keeps the one that the Service has", () => {
  assert.deepEqual(updated(bare, spec()), spec());
});

test("an update without families takes those of its list of addresses, and keeps the policy", () => {
  const { ipFamilies: _given, ...listed } = spec({ clusterIPs: ["::1"] });
  const { clusterIP: _address, ...unnamed } = listed;
  assert.deepEqual(updated(unnamed, spec()), listed);
  assert.deepEqual(changed(listed, spec()), [
    'spec.clusterIPs: Invalid value: ["::1"]: first value must match `clusterIP`',
  ]);
  const { ipFamilyPolicy: _policy, ...plain } = spec();
  assert.deepEqual(updated(plain, spec({ ipFamilyPolicy: "PreferDualStack" })), {
    ...spec({ ipFamilyPolicy: "PreferDualStack" }),
  });
});

test("an address that is changed alone takes the list with it", () => {
  assert.deepEqual(
    updated(spec({ clusterIP: "10.0.0.8" }), spec()),
    spec({ clusterIP: "10.0.0.8", clusterIPs: ["10.0.0.8"] }),
  );
});

test("ports of nodes stay with the names of their ports, unless another port asks for them", () => {
  const [first, second] = [port({ name: "a", nodePort: 30_100 }), port({ port: 81, name: "b", nodePort: 30_101 })];
  const old = spec({ type: "NodePort", ports: [first, second] });
  const portsOf = (...ports: JsonObject[]): JsonObject[] =>
    (updated(spec({ type: "NodePort", ports }), old) as { ports: JsonObject[] }).ports;
  assert.deepEqual(portsOf(port({ port: 8080, name: "b" }), port({ name: "a" })), [
    port({ port: 8080, name: "b", nodePort: 30_101 }),
    first,
  ]);
  const [renamed, moved] = portsOf(port({ port: 81, name: "c" }), port({ name: "a", nodePort: 30_101 }));
  assert.notEqual(renamed?.["nodePort"], 30_101);
  assert.equal(moved?.["nodePort"], 30_101);
  const [other] = portsOf(port({ name: "a" }), port({ port: 81, name: "b", nodePort: 30_100 }));
  assert.notEqual(other?.["nodePort"], 30_100);
});

test("a Service that no longer needs them loses its address and its ports of nodes", () => {
  const old = spec({ type: "NodePort", externalTrafficPolicy: "Cluster", ports: [port({ nodePort: 30_100 })] });
  assert.deepEqual(updated({ ...old, type: "ClusterIP" }, old), spec());
  const named = { ...spec(), type: "ExternalName", externalName: "a.example.org" };
  assert.deepEqual(updated(named, spec()), {
    type: "ExternalName",
    externalName: "a.example.org",
    sessionAffinity: "None",
    ports: [port()],
  });
});

test("members of a balancer go with it, unless they were changed too", () => {
  const balancer = {
    type: "LoadBalancer",
    externalTrafficPolicy: "Local",
    allocateLoadBalancerNodePorts: true,
    loadBalancerClass: "a/b",
    healthCheckNodePort: 30_200,
    ports: [port({ nodePort: 30_100 })],
  };
  assert.deepEqual(updated(spec({ ...balancer, type: "ClusterIP" }), spec(balancer)), spec());
  const kept = updated(
    spec({ ...balancer, type: "ClusterIP", healthCheckNodePort: 30_201 }),
    spec(balancer),
  ) as JsonObject;
  assert.equal(kept["healthCheckNodePort"], 30_201);
});

test("a new Service for a name outside has no policy for traffic inside", () => {
  const made = rules.prepareCreate?.({
    spec: { type: "ExternalName", externalName: "a.b", internalTrafficPolicy: "Cluster" },
  });
  assert.deepEqual(made?.["spec"], { type: "ExternalName", externalName: "a.b" });
});

test("the address and the class of a balancer stay", () => {
  assert.deepEqual(changed(spec({ clusterIP: "10.0.0.8", clusterIPs: ["10.0.0.8"] }), spec()), [
    'spec.clusterIPs[0]: Invalid value: ["10.0.0.8"]: may not change once set',
  ]);
  const balancer = (more: JsonObject): JsonObject =>
    spec({ type: "LoadBalancer", ports: [port({ nodePort: 30_100 })], ...more });
  assert.deepEqual(changed(balancer({ loadBalancerClass: "b" }), balancer({ loadBalancerClass: "a" })), [
    'spec.loadBalancerClass: Invalid value: "b": may not change once set',
  ]);
  assert.deepEqual(changed(balancer({}), balancer({ loadBalancerClass: "a" })), [
    "spec.loadBalancerClass: Invalid value: null: may not change once set",
  ]);
  assert.deepEqual(
    changed(balancer({ loadBalancerClass: "a" }), spec()),
    [],
    "a Service that becomes a balancer can have any class",
  );
});

test("errors of addresses, of ports of nodes and of the rest are reported one after the other", () => {
  const fresh = (more: JsonObject): string[] =>
    (rules.validateNew?.({ spec: spec(more) }) ?? []).map((error) => error.field);
  const wrong = { type: "NodePort", sessionAffinity: "x" };
  assert.deepEqual(fresh({ ...wrong, clusterIPs: [], ports: [port({ nodePort: 1 })] }), ["spec.clusterIPs"]);
  assert.deepEqual(fresh({ ...wrong, ports: [port({ nodePort: 1 })] }), ["spec.ports[0].nodePort"]);
  assert.deepEqual(fresh({ ...wrong, ports: [port({ nodePort: 30_001 })] }), ["spec.ports[0].nodePort"]);
  assert.deepEqual(fresh({ ...wrong, ports: [port({ nodePort: 30_002 })] }), ["spec.sessionAffinity"]);
});

test("the status of a balancer says what its addresses are", () => {
  const status = (type: string, ...ingress: JsonObject[]): string[] =>
    (rules.validateChange?.({ spec: { type }, status: { loadBalancer: { ingress } } }, {}, "status") ?? []).map(
      fieldErrorText,
    );
  const at = "status.loadBalancer.ingress";
  assert.deepEqual(status("LoadBalancer", { ip: "1.2.3.4", ipMode: "Proxy" }, { hostname: "a.b" }), []);
  assert.deepEqual(status("ClusterIP"), []);
  assert.deepEqual(status("ClusterIP", { ip: "x" }), [
    `${at}: Forbidden: may only be used when \`spec.type\` is 'LoadBalancer'`,
  ]);
  assert.deepEqual(
    status("LoadBalancer", { ip: "1.2.3.4" }, { hostname: "a.b", ipMode: "VIP" }, { ip: "1.2.3.5", ipMode: "x" }),
    [
      `${at}[0].ipMode: Required value: must be specified when \`ip\` is set`,
      `${at}[1].ipMode: Forbidden: may not be specified when \`ip\` is not set`,
      `${at}[2].ipMode: Unsupported value: "x": supported values: "Proxy", "VIP"`,
    ],
  );
});

test("members that have no effect, or that are deprecated, give warnings", () => {
  const warnings = (more: JsonObject): unknown => rules.warnings?.({ spec: spec(more) }, undefined, "");
  assert.deepEqual(warnings({}), []);
  const headless = { clusterIP: "None", clusterIPs: ["None"] };
  assert.deepEqual(
    warnings({ ...headless, loadBalancerIP: "1.2.3.4", externalIPs: ["1.2.3.4"], sessionAffinity: "ClientIP" }),
    [
      "spec.loadBalancerIP is ignored for headless services",
      "spec.externalIPs is ignored for headless services",
      "spec.SessionAffinity is ignored for headless services",
    ],
  );
  assert.deepEqual(warnings({ externalIPs: ["1.2.3.4"] }), [
    "spec.externalIPs is deprecated and may no longer be implemented in some clusters",
  ]);
  assert.deepEqual(warnings({ type: "ExternalName", externalIPs: ["1.2.3.4"] }), [
    'spec.externalIPs is ignored when spec.type is "ExternalName"',
  ]);
  assert.deepEqual(warnings({ externalName: "a.b" }), [
    'spec.externalName is ignored when spec.type is not "ExternalName"',
  ]);
  assert.deepEqual(warnings({ trafficDistribution: "PreferClose" }), [
    'spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"',
  ]);
  assert.deepEqual(warnings({ loadBalancerIP: "FD00::1" }), [
    'spec.loadBalancerIP: IPv6 address "FD00::1" should be in RFC 5952 canonical format ("fd00::1")',
  ]);
  const hints = { metadata: { annotations: { "service.kubernetes.io/topology-aware-hints": "Auto" } }, spec: spec() };
  assert.deepEqual(rules.warnings?.(hints, undefined, ""), [
    "annotation service.kubernetes.io/topology-aware-hints is deprecated, please use service.kubernetes.io/topology-mode instead",
  ]);
  assert.deepEqual(rules.warnings?.({ spec: spec({ externalName: "a.b" }) }, undefined, "status"), []);
});

test("a write to the status changes no spec", () => {
  const object = { spec: bare };
  assert.equal(rules.prepareUpdate?.(object, { spec: spec() }, "status"), object);
});

const cells = (more: JsonObject, status: JsonObject = {}): unknown[] =>
  serviceCells({ metadata: { name: "s" }, spec: spec(more), status }, "5m");

test("the cells of a Service", () => {
  assert.deepEqual(cells({ selector: { a: "b", c: "d" } }), [
    "s",
    "ClusterIP",
    "10.0.0.9",
    "<none>",
    "80/TCP",
    "5m",
    "a=b,c=d",
  ]);
  assert.deepEqual(cells({ clusterIP: "", ports: [] }), [
    "s",
    "ClusterIP",
    "<none>",
    "<none>",
    "<none>",
    "5m",
    "<none>",
  ]);
  assert.equal(cells({ externalIPs: ["1.2.3.4", "1.2.3.5"] })[3], "1.2.3.4,1.2.3.5");
  assert.equal(cells({ type: "ExternalName", externalName: "a.b" })[3], "a.b");
  assert.equal(cells({ type: "LoadBalancer" })[3], "<pending>");
  const ingress = [{ ip: "1.2.3.4" }, { hostname: "a.b" }, {}];
  assert.equal(
    cells({ type: "LoadBalancer", externalIPs: ["9.9.9.9"] }, { loadBalancer: { ingress } })[3],
    "1.2.3.4,a.b,9.9.9.9",
  );
  assert.equal(
    cells({ ports: [port({ nodePort: 30_000 }), port({ port: 53, protocol: "UDP" })] })[4],
    "80:30000/TCP,53/UDP",
  );
});
