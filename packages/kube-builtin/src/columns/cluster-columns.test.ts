// SPDX-License-Identifier: Apache-2.0
// The cells of nodes, quotas, certificate requests, flow control and devices as kubectl shows them.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { JsonObject, JsonValue } from "@purlin/kube-objects/json";
import { clusterPrinters } from "./cluster-columns.ts";

const now = Date.parse("2026-01-01T01:00:00Z");
const metadata = { name: "n", creationTimestamp: "2026-01-01T00:00:00Z" };

function cellsOf(kind: string, object: JsonObject): JsonValue[] {
  const printer = clusterPrinters[kind] ?? assert.fail(kind);
  return printer.cells({ ...object, metadata: { ...metadata, ...(object["metadata"] as JsonObject) } }, now);
}

/** The cell of a column by its title. */
function cellOf(kind: string, title: string, object: JsonObject): JsonValue | undefined {
  const index = clusterPrinters[kind]?.columns.findIndex(({ name }) => name === title) ?? -1;
  assert.ok(index >= 0, title);
  return cellsOf(kind, object)[index];
}

const condition = (type: string, status = "True"): JsonObject => ({ type, status });
const conditions = (...list: readonly JsonObject[]): JsonObject => ({ status: { conditions: [...list] } });

test("each row has a cell for each column", () => {
  for (const [kind, { columns }] of Object.entries(clusterPrinters))
    assert.equal(cellsOf(kind, {}).length, columns.length, kind);
});

describe("a Node", () => {
  test("shows its status, and that nothing is scheduled on it", () => {
    const status = (object: JsonObject): unknown => cellOf("Node", "Status", object);
    assert.equal(status(conditions(condition("MemoryPressure"), condition("Ready"))), "Ready");
    assert.equal(status(conditions(condition("Ready", "False"))), "NotReady");
    assert.equal(status(conditions(condition("Ready", "Unknown"))), "NotReady");
    assert.equal(status({}), "Unknown");
    const cordoned = { spec: { unschedulable: true } };
    assert.equal(status({ ...conditions(condition("Ready")), ...cordoned }), "Ready,SchedulingDisabled");
    assert.equal(status(cordoned), "Unknown,SchedulingDisabled");
    assert.equal(status({ spec: { unschedulable: false } }), "Unknown");
  });

  test("shows its roles sorted, each once, from both labels", () => {
    const roles = (labels: JsonObject): unknown => cellOf("Node", "Roles", { metadata: { labels } });
    assert.equal(roles({}), "<none>");
    assert.equal(
      roles({ "node-role.kubernetes.io/worker": "", "node-role.kubernetes.io/control": "" }),
      "control,worker",
    );
    assert.equal(roles({ "kubernetes.io/role": "b", "node-role.kubernetes.io/b": "x", a: "c" }), "b");
    assert.equal(roles({ "kubernetes.io/role": "", "node-role.kubernetes.io/": "x" }), "<none>");
  });

  test("shows its first address of each type, and its system", () => {
    const addresses = [
      { type: "Hostname", address: "h" },
      { type: "InternalIP", address: "10.0.0.1" },
      { type: "InternalIP", address: "fd00::1" },
    ];
    const nodeInfo = {
      kubeletVersion: "v1.36.0",
      osImage: "Debian",
      kernelVersion: "6.1",
      architecture: "arm64",
      containerRuntimeVersion: "containerd://2",
    };
    assert.deepEqual(cellsOf("Node", { status: { addresses, nodeInfo } }), [
      "n",
      "Unknown",
      "<none>",
      "60m",
      "v1.36.0",
      "10.0.0.1",
      "<none>",
      "Debian",
      "6.1 (arm64)",
      "containerd://2",
    ]);
    const kernel = (info: JsonObject): unknown => cellOf("Node", "Kernel-Version", { status: { nodeInfo: info } });
    assert.equal(kernel({ kernelVersion: "6.1" }), "6.1");
    assert.equal(kernel({}), "<unknown>");
    assert.deepEqual(cellsOf("Node", {}).slice(4), ["", "<none>", "<none>", "<unknown>", "<unknown>", "<unknown>"]);
  });

  test("shows addresses and system with -o wide only", () => {
    const wide = clusterPrinters["Node"]?.columns.filter(({ priority }) => (priority ?? 0) > 0).map(({ name }) => name);
    assert.deepEqual(wide, ["Internal-IP", "External-IP", "OS-Image", "Kernel-Version", "Container-Runtime"]);
  });
});

test("a ResourceQuota shows limits apart from all else, sorted by name, with 0 for what is not counted yet", () => {
  const hard = { "requests.cpu": "2", pods: "10", "limits.memory": "1Gi", "limits.cpu": "4" };
  const status = { hard, used: { pods: "3", "limits.cpu": "500m", services: "1" } };
  assert.deepEqual(cellsOf("ResourceQuota", { spec: { hard: { secrets: "1" } }, status }), [
    "n",
    "pods: 3/10, requests.cpu: 0/2",
    "limits.cpu: 500m/4, limits.memory: 0/1Gi",
    "60m",
  ]);
  assert.deepEqual(cellsOf("ResourceQuota", {}), ["n", "", "", "60m"]);
});

const podSpec = {
  containers: [
    { name: "a", image: "i:1" },
    { name: "b", image: "j:2" },
  ],
  initContainers: [{ name: "c", image: "k" }],
};

test("a PodTemplate shows its containers and labels", () => {
  const template = { metadata: { labels: { b: "2", a: "1" } }, spec: podSpec };
  assert.deepEqual(cellsOf("PodTemplate", { template }), ["n", "a,b", "i:1,j:2", "a=1,b=2"]);
  assert.deepEqual(cellsOf("PodTemplate", {}), ["n", "", "", "<none>"]);
});

test("a ReplicationController shows its numbers, containers and selector", () => {
  const object = {
    spec: { replicas: 3, selector: { app: "x" }, template: { spec: podSpec } },
    status: { replicas: 2, readyReplicas: 1 },
  };
  assert.deepEqual(cellsOf("ReplicationController", object), ["n", 3, 2, 1, "60m", "a,b", "i:1,j:2", "app=x"]);
});

test("a ControllerRevision shows the controller among its owners with the group", () => {
  const owner = (apiVersion: string, controller?: boolean): JsonObject => ({
    apiVersion,
    kind: "StatefulSet",
    name: "web",
    ...(controller !== undefined && { controller }),
  });
  const controller = (...ownerReferences: JsonObject[]): unknown =>
    cellOf("ControllerRevision", "Controller", { metadata: { ownerReferences } });
  assert.equal(controller(owner("v1"), owner("x/v1", false), owner("apps/v1", true)), "statefulset.apps/web");
  assert.equal(controller(owner("v1", true)), "statefulset/web");
  assert.equal(controller(owner("apps/v1")), "<none>");
  assert.equal(cellOf("ControllerRevision", "Revision", { revision: 9007199254740993n }), 9007199254740993n);
  assert.equal(cellOf("ControllerRevision", "Revision", {}), 0);
});

test("a ComponentStatus shows its condition Healthy", () => {
  const row = (...list: JsonObject[]): unknown => cellsOf("ComponentStatus", { conditions: list });
  const healthy = { type: "Healthy", status: "True", message: "ok" };
  assert.deepEqual(row({ type: "Other", status: "True", message: "m" }, healthy), ["n", "Healthy", "ok", ""]);
  assert.deepEqual(row({ ...healthy, status: "False", error: "e" }), ["n", "Unhealthy", "ok", "e"]);
  assert.deepEqual(row(), ["n", "Unknown", "", ""]);
});

describe("a CertificateSigningRequest", () => {
  const cases: Readonly<Record<string, readonly [JsonObject, string]>> = {
    "not decided": [{}, "Pending"],
    approved: [conditions(condition("Approved")), "Approved"],
    "approved and denied": [conditions(condition("Approved"), condition("Denied")), "Denied"],
    failed: [conditions(condition("Approved"), condition("Failed")), "Approved,Failed"],
    issued: [{ status: { conditions: [condition("Approved")], certificate: "LS0=" } }, "Approved,Issued"],
    "issued without a decision": [{ status: { certificate: "LS0=" } }, "Pending,Issued"],
  };
  for (const [name, [object, want]] of Object.entries(cases)) {
    test(name, () => assert.equal(cellOf("CertificateSigningRequest", "Condition", object), want));
  }

  test("shows its signer, its requestor and the duration that was asked for", () => {
    const spec = { signerName: "example.org/s", username: "jane", expirationSeconds: 3600 };
    assert.deepEqual(cellsOf("CertificateSigningRequest", { spec }), [
      "n",
      "60m",
      "example.org/s",
      "jane",
      "60m",
      "Pending",
    ]);
    assert.deepEqual(cellsOf("CertificateSigningRequest", {}), ["n", "60m", "<none>", "", "<none>", "Pending"]);
  });
});

test("a PriorityClass shows its value and whether it is the default", () => {
  const object = { value: -5, globalDefault: true, preemptionPolicy: "Never" };
  assert.deepEqual(cellsOf("PriorityClass", object), ["n", -5, true, "60m", "Never"]);
  assert.equal(cellOf("PriorityClass", "Global-Default", {}), false);
});

test("a FlowSchema shows whether its priority level is missing", () => {
  const spec = {
    priorityLevelConfiguration: { name: "level" },
    matchingPrecedence: 100,
    distinguisherMethod: { type: "ByUser" },
  };
  const row = (...list: JsonObject[]): unknown => cellsOf("FlowSchema", { spec, ...conditions(...list) });
  assert.deepEqual(row(condition("Dangling", "False")), ["n", "level", 100, "ByUser", "60m", "False"]);
  assert.deepEqual(row(condition("Other")), ["n", "level", 100, "ByUser", "60m", "?"]);
  assert.equal(cellOf("FlowSchema", "DistinguisherMethod", {}), "<none>");
});

test("a PriorityLevelConfiguration shows its shares and queues, which may be 0", () => {
  const row = (spec: JsonObject): JsonValue[] => cellsOf("PriorityLevelConfiguration", { spec });
  const queuing = { queues: 64, handSize: 6, queueLengthLimit: 50 };
  const limited = { nominalConcurrencyShares: 0, limitResponse: { type: "Queue", queuing } };
  assert.deepEqual(row({ type: "Limited", limited }), ["n", "Limited", 0, 64, 6, 50, "60m"]);
  assert.deepEqual(row({ type: "Exempt" }), ["n", "Exempt", "<none>", "<none>", "<none>", "<none>", "60m"]);
});

test("a ResourceClaim shows what has happened to it", () => {
  const state = (status: JsonObject, isDeleted = false): unknown => {
    const own = isDeleted ? { metadata: { deletionTimestamp: "2026-01-01T00:30:00Z" } } : {};
    return cellOf("ResourceClaim", "State", { status, ...own });
  };
  const reservedFor = [{ resource: "pods", name: "p", uid: "u" }];
  assert.equal(state({}), "pending");
  assert.equal(state({ reservedFor }), "pending");
  assert.equal(state({ allocation: {} }), "allocated");
  assert.equal(state({ allocation: {}, reservedFor }), "allocated,reserved");
  assert.equal(state({ allocation: {}, reservedFor: [] }), "allocated");
  assert.equal(state({}, true), "deleted");
  assert.equal(state({ allocation: {}, reservedFor }, true), "deleted,allocated,reserved");
});

test("a ResourceSlice shows its node, driver and pool, and a RuntimeClass its handler", () => {
  const spec = { nodeName: "w", driver: "d.example.org", pool: { name: "p" } };
  assert.deepEqual(cellsOf("ResourceSlice", { spec }), ["n", "w", "d.example.org", "p", "60m"]);
  assert.deepEqual(cellsOf("RuntimeClass", { handler: "runc" }), ["n", "runc", "60m"]);
  for (const kind of ["DeviceClass", "ResourceClaimTemplate"]) assert.deepEqual(cellsOf(kind, {}), ["n", "60m"]);
});
