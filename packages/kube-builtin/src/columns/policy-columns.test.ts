// SPDX-License-Identifier: Apache-2.0
// The cells of Ingresses, autoscalers, policies and storage as kubectl shows them.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject, JsonValue } from "@purlin/kube-objects/json";
import { policyPrinters } from "./policy-columns.ts";
import { storagePrinters } from "./storage-columns.ts";

const now = Date.parse("2026-01-01T01:00:00Z");
const metadata = { name: "n", creationTimestamp: "2026-01-01T00:00:00Z" };

function cellsOf(kind: string, object: JsonObject): JsonValue[] {
  const printer = policyPrinters[kind] ?? storagePrinters[kind] ?? assert.fail(kind);
  return printer.cells({ metadata, ...object }, now);
}

/** The cell of a column by its title. */
function cellOf(kind: string, title: string, object: JsonObject): JsonValue | undefined {
  const printer = policyPrinters[kind] ?? storagePrinters[kind] ?? assert.fail(kind);
  const index = printer.columns.findIndex(({ name }) => name === title);
  assert.ok(index >= 0, title);
  return cellsOf(kind, object)[index];
}

const rules = (...hosts: string[]): JsonObject => ({ spec: { rules: hosts.map((host) => ({ host })) } });

test("an Ingress shows up to three hosts, and how many rules there are beyond", () => {
  const hosts = (...list: string[]): unknown => cellOf("Ingress", "Hosts", rules(...list));
  assert.equal(hosts(), "*");
  assert.equal(hosts(""), "*");
  assert.equal(hosts("a", "b", "c"), "a,b,c");
  assert.equal(hosts("a", "", "b"), "a,b");
  assert.equal(hosts("a", "b", "c", "d", "e"), "a,b,c + 2 more...");
});

test("an Ingress shows its addresses sorted, each once, and its ports", () => {
  const ingress = [{ ip: "2.2.2.2" }, { hostname: "a.b" }, { ip: "1.1.1.1" }, { ip: "2.2.2.2" }, {}];
  assert.deepEqual(
    cellsOf("Ingress", { spec: { ingressClassName: "c", tls: [{}] }, status: { loadBalancer: { ingress } } }),
    ["n", "c", "*", "1.1.1.1,2.2.2.2,a.b", "80, 443", "60m"],
  );
  assert.deepEqual(cellsOf("Ingress", {}), ["n", "<none>", "*", "", "80", "60m"]);
});

test("an IngressClass shows whether it is the default, and its parameters", () => {
  const parameters = { apiGroup: "a.b", kind: "K", name: "p" };
  assert.deepEqual(cellsOf("IngressClass", { spec: { controller: "c/d", parameters } }), [
    "n",
    "c/d",
    "K.a.b/p",
    "60m",
  ]);
  assert.equal(cellOf("IngressClass", "Parameters", { spec: { parameters: { kind: "K", name: "p" } } }), "K/p");
  assert.equal(cellOf("IngressClass", "Parameters", {}), "<none>");
  const annotated = {
    metadata: { ...metadata, annotations: { "ingressclass.kubernetes.io/is-default-class": "true" } },
  };
  assert.equal(cellOf("IngressClass", "Name", annotated), "n (default)");
});

const resource = (target: JsonObject): JsonObject => ({ type: "Resource", resource: { name: "cpu", target } });
const current = (type: string, member: string, values: JsonObject): JsonObject => ({
  type,
  [member]: { current: values },
});
const named = (type: string, member: string, target: JsonObject): JsonObject => ({
  type,
  [member]: { metric: { name: "m" }, target },
});

const targets: readonly (readonly [name: string, spec: JsonObject, status: JsonObject | undefined, want: string])[] = [
  [
    "a percentage",
    resource({ averageUtilization: 80 }),
    current("Resource", "resource", { averageUtilization: 12 }),
    "cpu: 12%/80%",
  ],
  ["a percentage that is not known", resource({ averageUtilization: 80 }), undefined, "cpu: <unknown>/80%"],
  ["no target", resource({}), current("Resource", "resource", { averageUtilization: 12 }), "cpu: 12%/<auto>"],
  [
    "an average",
    resource({ averageValue: "1" }),
    current("Resource", "resource", { averageValue: "500m" }),
    "cpu: 500m/1",
  ],
  [
    "a resource of a container",
    { type: "ContainerResource", containerResource: { name: "memory", target: { averageUtilization: 5 } } },
    undefined,
    "memory: <unknown>/5%",
  ],
  ["Pods", named("Pods", "pods", { averageValue: "10" }), current("Pods", "pods", { averageValue: "3" }), "3/10"],
  ["an object", named("Object", "object", { value: "10" }), current("Object", "object", { value: "4" }), "4/10"],
  ["an average of an object", named("Object", "object", { averageValue: "10" }), undefined, "<unknown>/10 (avg)"],
  [
    "something outside",
    named("External", "external", { averageValue: "10" }),
    current("External", "external", { averageValue: "2" }),
    "2/10 (avg)",
  ],
  ["a type that is not known", { type: "x" }, undefined, "<unknown type>"],
];

for (const [name, spec, status, want] of targets) {
  test(`the target of an autoscaler: ${name}`, () => {
    const object = { spec: { metrics: [spec] }, status: { currentMetrics: status === undefined ? [] : [status] } };
    assert.equal(cellOf("HorizontalPodAutoscaler", "Targets", object), want);
  });
}

test("an autoscaler shows two targets, and how many more there are", () => {
  const metrics = (count: number): JsonObject => ({
    spec: { metrics: Array<JsonObject>(count).fill(resource({ averageUtilization: 80 })) },
  });
  const one = "cpu: <unknown>/80%";
  assert.equal(cellOf("HorizontalPodAutoscaler", "Targets", metrics(0)), "<none>");
  assert.equal(cellOf("HorizontalPodAutoscaler", "Targets", metrics(2)), `${one}, ${one}`);
  assert.equal(cellOf("HorizontalPodAutoscaler", "Targets", metrics(4)), `${one}, ${one} + 2 more...`);
});

test("an autoscaler shows what it scales, and between which numbers", () => {
  const spec = { scaleTargetRef: { kind: "Deployment", name: "d" }, maxReplicas: 5 };
  assert.deepEqual(cellsOf("HorizontalPodAutoscaler", { spec, status: { currentReplicas: 2 } }), [
    "n",
    "Deployment/d",
    "<none>",
    "<unset>",
    5,
    2,
    "60m",
  ]);
  assert.equal(cellOf("HorizontalPodAutoscaler", "MinPods", { spec: { minReplicas: 3 } }), "3");
});

test("small kinds of networks and policies", () => {
  assert.deepEqual(cellsOf("NetworkPolicy", { spec: { podSelector: { matchLabels: { a: "b" } } } }), [
    "n",
    "a=b",
    "60m",
  ]);
  assert.deepEqual(
    cellsOf("IPAddress", { spec: { parentRef: { group: "a.b", resource: "Things", namespace: "x", name: "y" } } }),
    ["n", "things.a.b/x/y", "60m"],
  );
  assert.deepEqual(cellsOf("IPAddress", { spec: { parentRef: { resource: "services", name: "y" } } }), [
    "n",
    "services/y",
    "60m",
  ]);
  assert.deepEqual(cellsOf("IPAddress", {}), ["n", "<none>", "60m"]);
  assert.deepEqual(cellsOf("ServiceCIDR", { spec: { cidrs: ["10.0.0.0/8", "fd00::/8"] } }), [
    "n",
    "10.0.0.0/8,fd00::/8",
    "60m",
  ]);
  assert.deepEqual(
    cellsOf("PodDisruptionBudget", { spec: { minAvailable: "50%" }, status: { disruptionsAllowed: 1 } }),
    ["n", "50%", "N/A", 1, "60m"],
  );
  assert.deepEqual(
    cellsOf("ValidatingAdmissionPolicy", {
      spec: { validations: [{}, {}], paramKind: { apiVersion: "v1", kind: "ConfigMap" } },
    }),
    ["n", 2, "v1/ConfigMap", "60m"],
  );
  assert.deepEqual(cellsOf("MutatingAdmissionPolicy", {}), ["n", 0, "<unset>", "60m"]);
});

test("a binding shows its parameters by name or by selector", () => {
  const parameters = (paramRef?: JsonObject): unknown =>
    cellOf("ValidatingAdmissionPolicyBinding", "ParamRef", {
      spec: { policyName: "p", ...(paramRef && { paramRef }) },
    });
  assert.equal(parameters(), "<unset>");
  assert.equal(parameters({ name: "a" }), "*/a");
  assert.equal(parameters({ name: "a", namespace: "b" }), "b/a");
  assert.equal(parameters({ selector: { matchLabels: { a: "b" } } }), "a=b");
});

test("a claim shows what it got once it has a volume", () => {
  const status = { phase: "Bound", capacity: { storage: "2Gi" }, accessModes: ["ReadWriteMany", "ReadWriteOnce", "x"] };
  assert.deepEqual(
    cellsOf("PersistentVolumeClaim", { spec: { volumeName: "v", storageClassName: "c", volumeMode: "Block" }, status }),
    ["n", "Bound", "v", "2Gi", "RWO,RWX", "c", "<unset>", "60m", "Block"],
  );
  assert.deepEqual(cellsOf("PersistentVolumeClaim", { spec: {}, status: { phase: "Pending" } }), [
    "n",
    "Pending",
    "",
    "",
    "",
    "",
    "<unset>",
    "60m",
    "<unset>",
  ]);
  const deleted = {
    metadata: {
      ...metadata,
      deletionTimestamp: "x",
      annotations: { "volume.beta.kubernetes.io/storage-class": "old" },
    },
    spec: { storageClassName: "new" },
  };
  assert.deepEqual(
    [cellOf("PersistentVolumeClaim", "Status", deleted), cellOf("PersistentVolumeClaim", "StorageClass", deleted)],
    ["Terminating", "old"],
  );
});

test("a volume shows its claim", () => {
  const spec = {
    capacity: { storage: "1Gi" },
    accessModes: ["ReadWriteOncePod", "ReadOnlyMany"],
    persistentVolumeReclaimPolicy: "Retain",
    claimRef: { namespace: "a", name: "b" },
    volumeAttributesClassName: "gold",
  };
  assert.deepEqual(cellsOf("PersistentVolume", { spec, status: { phase: "Bound", reason: "r" } }), [
    "n",
    "1Gi",
    "ROX,RWOP",
    "Retain",
    "Bound",
    "a/b",
    "",
    "gold",
    "r",
    "60m",
    "<unset>",
  ]);
  assert.deepEqual(cellsOf("PersistentVolume", {}), ["n", "0", "", "", "", "", "", "<unset>", "", "60m", "<unset>"]);
});

test("the kinds of storage.k8s.io", () => {
  assert.deepEqual(cellsOf("StorageClass", { provisioner: "p", allowVolumeExpansion: true }), [
    "n",
    "p",
    "Delete",
    "Immediate",
    true,
    "60m",
  ]);
  const beta = {
    metadata: { ...metadata, annotations: { "storageclass.beta.kubernetes.io/is-default-class": "true" } },
  };
  assert.equal(cellOf("StorageClass", "Name", beta), "n (default)");
  assert.deepEqual(
    cellsOf("CSIDriver", {
      spec: {
        attachRequired: false,
        tokenRequests: [{ audience: "a" }, { audience: "b" }],
        volumeLifecycleModes: ["Persistent", "Ephemeral"],
      },
    }),
    ["n", false, false, false, "a,b", false, "Persistent,Ephemeral", "60m"],
  );
  assert.deepEqual(cellsOf("CSIDriver", {}), ["n", true, false, false, "<unset>", false, "<none>", "60m"]);
  assert.deepEqual(cellsOf("CSINode", { spec: { drivers: [{}, {}] } }), ["n", 2, "60m"]);
  assert.deepEqual(
    cellsOf("VolumeAttachment", {
      spec: { attacher: "a", nodeName: "x", source: { persistentVolumeName: "v" } },
      status: { attached: true },
    }),
    ["n", "a", "v", "x", true, "60m"],
  );
  assert.deepEqual(cellsOf("VolumeAttributesClass", { driverName: "d" }), ["n", "d", "60m"]);
});
