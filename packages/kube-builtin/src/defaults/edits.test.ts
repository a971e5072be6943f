// SPDX-License-Identifier: Apache-2.0
// Defaults of built-in kinds: those that recorded answers of the reference do not show, and that inputs stay as they are.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject } from "@purlin/kube-objects/json";
import { memberAt } from "@purlin/kube-objects/object";
import { builtinDefaults } from "./builtin-defaults.ts";
import { all, each, fill, inside, when } from "./pod-defaults.ts";

function filled(key: string, object: JsonObject): JsonObject {
  const [kind = "", ...version] = key.split("/").reverse();
  const edit = builtinDefaults(version.reverse().join("/"), kind) ?? assert.fail(key);
  const copy = structuredClone(object);
  const result = edit(object);
  assert.deepEqual(object, copy, "the object that was sent stays as it is");
  assert.deepEqual(edit(result), result, "defaults are filled in once");
  return result;
}

const specOf = (key: string, spec: JsonObject): JsonObject => filled(key, { spec })["spec"] as JsonObject;

test("edits give the same object back when there is nothing to change", () => {
  const object = { a: 1, b: { c: 2 }, d: [{ e: 3 }, 7] };
  const edits = [
    fill({ a: 9 }),
    inside("b", fill({ c: 9 })),
    each("d", fill({ e: 9 })),
    inside("a", fill({ x: 1 })),
    each("b", fill({ x: 1 })),
    when(() => false, fill({ x: 1 })),
    all(),
  ];
  for (const edit of edits) assert.equal(edit(object), object);
  assert.deepEqual(all(fill({ f: 1 }), inside("b", fill({ g: 2 })), each("d", fill({ h: 3 })))(object), {
    a: 1,
    b: { c: 2, g: 2 },
    d: [{ e: 3, h: 3 }, 7],
    f: 1,
  });
  assert.deepEqual(fill({ a: 1 })({ a: null }), { a: 1 }, "null is as good as nothing");
});

test("a kind without defaults has none, whatever it is called", () => {
  assert.equal(builtinDefaults("v1", "ConfigMap"), undefined);
  assert.equal(builtinDefaults("constructor", ""), undefined);
  assert.equal(builtinDefaults("", "toString"), undefined);
});

test("a Job without a goal is done when one Pod succeeds", () => {
  const job = (spec: JsonObject): unknown[] =>
    ["completions", "parallelism"].map((name) => specOf("batch/v1/Job", spec)[name]);
  assert.deepEqual(job({}), [1, 1]);
  assert.deepEqual(job({ parallelism: 3 }), [undefined, 3]);
  assert.deepEqual(job({ completions: 3 }), [3, 1]);
});

test("the limits of a Job depend on its policies", () => {
  const job = (spec: JsonObject): unknown[] =>
    ["backoffLimit", "podReplacementPolicy"].map((name) => specOf("batch/v1/Job", spec)[name]);
  assert.deepEqual(job({}), [6, "TerminatingOrFailed"]);
  assert.deepEqual(job({ backoffLimitPerIndex: 1, podFailurePolicy: {} }), [2_147_483_647, "Failed"]);
  const rules = [{ onPodConditions: [{ type: "a" }, { type: "b", status: "False" }] }];
  assert.deepEqual(specOf("batch/v1/Job", { podFailurePolicy: { rules } })["podFailurePolicy"], {
    rules: [
      {
        onPodConditions: [
          { type: "a", status: "True" },
          { type: "b", status: "False" },
        ],
      },
    ],
  });
});

test("a strategy has steps when it replaces Pods step by step", () => {
  const strategy = (given: JsonObject): unknown => specOf("apps/v1/Deployment", { strategy: given })["strategy"];
  assert.deepEqual(strategy({}), { type: "RollingUpdate", rollingUpdate: { maxUnavailable: "25%", maxSurge: "25%" } });
  assert.deepEqual(strategy({ type: "Recreate" }), { type: "Recreate" });
  assert.deepEqual(strategy({ type: "RollingUpdate", rollingUpdate: { maxSurge: 0 } }), {
    type: "RollingUpdate",
    rollingUpdate: { maxSurge: 0, maxUnavailable: "25%" },
  });
  const stateful = (updateStrategy: JsonObject): unknown =>
    specOf("apps/v1/StatefulSet", { updateStrategy })["updateStrategy"];
  assert.deepEqual(stateful({}), { type: "RollingUpdate", rollingUpdate: { partition: 0 } });
  assert.deepEqual(stateful({ type: "RollingUpdate" }), { type: "RollingUpdate" });
  assert.deepEqual(stateful({ type: "OnDelete" }), { type: "OnDelete" });
});

test("a Service gets what its type needs", () => {
  const service = (spec: JsonObject): JsonObject => specOf("v1/Service", spec);
  assert.deepEqual(service({}), { sessionAffinity: "None", type: "ClusterIP", internalTrafficPolicy: "Cluster" });
  assert.deepEqual(service({ type: "ExternalName" }), { type: "ExternalName", sessionAffinity: "None" });
  assert.deepEqual(service({ type: "LoadBalancer" }), {
    type: "LoadBalancer",
    sessionAffinity: "None",
    internalTrafficPolicy: "Cluster",
    externalTrafficPolicy: "Cluster",
    allocateLoadBalancerNodePorts: true,
  });
  assert.deepEqual(service({ sessionAffinity: "ClientIP" })["sessionAffinityConfig"], {
    clientIP: { timeoutSeconds: 10_800 },
  });
  assert.equal(service({ sessionAffinity: "None", sessionAffinityConfig: {} })["sessionAffinityConfig"], undefined);
  assert.deepEqual(
    service({ ports: [{ port: 80 }, { port: 81, targetPort: 0 }, { port: 82, targetPort: "x", protocol: "UDP" }] })[
      "ports"
    ],
    [
      { port: 80, protocol: "TCP", targetPort: 80 },
      { port: 81, protocol: "TCP", targetPort: 81 },
      { port: 82, protocol: "UDP", targetPort: "x" },
    ],
  );
});

test("requests of a Pod are its limits where they are missing; a template leaves them out", () => {
  const containers = [
    { name: "c", image: "i:1", resources: { limits: { cpu: "2", memory: "1Gi" }, requests: { cpu: "1" } } },
  ];
  const [pod] = specOf("v1/Pod", { containers })["containers"] as JsonObject[];
  assert.deepEqual(pod?.["resources"], { limits: { cpu: "2", memory: "1Gi" }, requests: { cpu: "1", memory: "1Gi" } });
  const { template } = specOf("apps/v1/ReplicaSet", { template: { spec: { containers } } }) as {
    template: { spec: { containers: JsonObject[] } };
  };
  assert.deepEqual(template.spec.containers[0]?.["resources"], containers[0]?.resources);
});

const podLevel: Record<string, { reason: string; own: JsonObject; container: JsonObject; want: JsonObject }> = {
  LimitsOnly: {
    reason: "requests are those of the containers, then the limits",
    own: { limits: { cpu: "4", memory: "4Gi" } },
    container: { requests: { cpu: "1", "example.org/x": "1" } },
    want: { limits: { cpu: "4", memory: "4Gi" }, requests: { cpu: "1", memory: "4Gi" } },
  },
  RequestsOnly: {
    reason: "without limits nothing is filled in",
    own: { requests: { cpu: "4" } },
    container: { requests: { cpu: "1", memory: "1Gi" } },
    want: { requests: { cpu: "4" } },
  },
  HugePages: {
    reason: "limits of huge pages come from the containers, and requests from them",
    own: { requests: { cpu: "4" } },
    container: { limits: { "hugepages-2Mi": "2Mi", cpu: "1" } },
    want: { limits: { "hugepages-2Mi": "2Mi" }, requests: { cpu: "4", "hugepages-2Mi": "2Mi" } },
  },
  HugePagesAskedFor: {
    reason: "a request for huge pages without a limit is refused later",
    own: { limits: { cpu: "4" }, requests: { "hugepages-2Mi": "2Mi" } },
    container: { limits: { "hugepages-2Mi": "2Mi", cpu: "1" } },
    want: { limits: { cpu: "4" }, requests: { cpu: "1", "hugepages-2Mi": "2Mi" } },
  },
  Empty: { reason: "no resources of its own", own: {}, container: { requests: { cpu: "1" } }, want: {} },
};

for (const [name, { reason, own, container, want }] of Object.entries(podLevel)) {
  test(`resources of the whole Pod: ${name}`, () => {
    const spec = { containers: [{ name: "c", image: "i:1", resources: container }], resources: own };
    assert.deepEqual(specOf("v1/Pod", spec)["resources"], want, reason);
  });
}

test("ports of a Pod on the network of its host are those of the host", () => {
  const ports = (spec: JsonObject): unknown =>
    (
      specOf("v1/Pod", {
        containers: [{ ports: [{ containerPort: 80 }, { containerPort: 81, hostPort: 9 }] }],
        ...spec,
      })["containers"] as JsonObject[]
    )[0]?.["ports"];
  assert.deepEqual(ports({ hostNetwork: true }), [
    { containerPort: 80, protocol: "TCP", hostPort: 80 },
    { containerPort: 81, hostPort: 9, protocol: "TCP" },
  ]);
  assert.deepEqual(ports({}), [
    { containerPort: 80, protocol: "TCP" },
    { containerPort: 81, hostPort: 9, protocol: "TCP" },
  ]);
});

test("both names of the account are set", () => {
  const account = (spec: JsonObject): unknown[] =>
    ["serviceAccountName", "serviceAccount"].map((name) => specOf("v1/Pod", spec)[name]);
  assert.deepEqual(
    [account({ serviceAccount: "a" }), account({ serviceAccountName: "b", serviceAccount: "a" }), account({})],
    [
      ["a", "a"],
      ["b", "b"],
      [undefined, undefined],
    ],
  );
});

test("a LimitRange fills requests from limits, and limits from maxima", () => {
  const item = (limit: JsonObject): unknown =>
    (specOf("v1/LimitRange", { limits: [limit] })["limits"] as JsonObject[])[0];
  assert.deepEqual(item({ type: "Container", max: { cpu: "4" }, min: { memory: "1Mi" } }), {
    type: "Container",
    max: { cpu: "4" },
    min: { memory: "1Mi" },
    default: { cpu: "4" },
    defaultRequest: { memory: "1Mi", cpu: "4" },
  });
  assert.deepEqual(item({ type: "Container" }), { type: "Container" });
  assert.deepEqual(item({ type: "Pod", max: { cpu: "4" } }), { type: "Pod", max: { cpu: "4" } });
});

test("a ReplicationController selects, and has, the labels of its template", () => {
  const template = { metadata: { labels: { a: "b" } }, spec: {} };
  const made = filled("v1/ReplicationController", { metadata: { name: "r" }, spec: { template } }) as {
    metadata: JsonObject;
    spec: JsonObject;
  };
  assert.deepEqual(
    [made.metadata, made.spec["selector"], made.spec["replicas"]],
    [{ name: "r", labels: { a: "b" } }, { a: "b" }, 1],
  );
  const own = filled("v1/ReplicationController", {
    metadata: { labels: { x: "y" } },
    spec: { selector: { c: "d" }, template },
  }) as { metadata: JsonObject; spec: JsonObject };
  assert.deepEqual([own.metadata, own.spec["selector"]], [{ labels: { x: "y" } }, { c: "d" }]);
});

test("a NetworkPolicy is for traffic out only when it has rules for it", () => {
  const types = (spec: JsonObject): unknown => specOf("networking.k8s.io/v1/NetworkPolicy", spec)["policyTypes"];
  assert.deepEqual(
    [types({}), types({ egress: [] }), types({ egress: [{}] }), types({ policyTypes: ["Egress"] })],
    [["Ingress"], ["Ingress"], ["Ingress", "Egress"], ["Egress"]],
  );
});

test("the policies of an autoscaler's behavior", () => {
  const behavior = (given: JsonObject): unknown =>
    specOf("autoscaling/v2/HorizontalPodAutoscaler", { behavior: given })["behavior"];
  assert.deepEqual(behavior({ scaleUp: { selectPolicy: "Min" } }), {
    scaleUp: {
      selectPolicy: "Min",
      stabilizationWindowSeconds: 0,
      policies: [
        { type: "Pods", value: 4, periodSeconds: 15 },
        { type: "Percent", value: 100, periodSeconds: 15 },
      ],
    },
    scaleDown: { selectPolicy: "Max", policies: [{ type: "Percent", value: 100, periodSeconds: 15 }] },
  });
  assert.equal(specOf("autoscaling/v2/HorizontalPodAutoscaler", {})["behavior"], undefined);
});

test("requests for devices", () => {
  const devices = (request: JsonObject): unknown =>
    (
      specOf("resource.k8s.io/v1/ResourceClaim", { devices: { requests: [request] } }) as {
        devices: { requests: JsonObject[] };
      }
    ).devices.requests[0];
  assert.deepEqual(devices({ exactly: {} }), { exactly: { allocationMode: "ExactCount", count: 1 } });
  assert.deepEqual(devices({ exactly: { allocationMode: "All" } }), { exactly: { allocationMode: "All" } });
  assert.deepEqual(devices({ firstAvailable: [{ count: 2, tolerations: [{ key: "a" }, { operator: "Exists" }] }] }), {
    firstAvailable: [
      {
        count: 2,
        allocationMode: "ExactCount",
        tolerations: [{ key: "a", operator: "Equal" }, { operator: "Exists" }],
      },
    ],
  });
});

test("numbers that are zero get defaults in the kinds of flow control", () => {
  assert.equal(
    specOf("flowcontrol.apiserver.k8s.io/v1/FlowSchema", { matchingPrecedence: 0 })["matchingPrecedence"],
    1000,
  );
  const limited = { limitResponse: { queuing: { queues: 0, handSize: 5 } }, nominalConcurrencyShares: 0 };
  assert.deepEqual(specOf("flowcontrol.apiserver.k8s.io/v1/PriorityLevelConfiguration", { limited })["limited"], {
    limitResponse: { queuing: { queues: 64, handSize: 5, queueLengthLimit: 50 } },
    nominalConcurrencyShares: 0,
    lendablePercent: 0,
  });
});

test("what a node can give is what it has, unless it says otherwise", () => {
  const status = (given: JsonObject): unknown => filled("v1/Node", { status: given })["status"];
  assert.deepEqual(status({ capacity: { cpu: "4" } }), { capacity: { cpu: "4" }, allocatable: { cpu: "4" } });
  assert.deepEqual(status({ capacity: { cpu: "4" }, allocatable: {} }), { capacity: { cpu: "4" }, allocatable: {} });
});

test("the claim of an ephemeral volume has a mode", () => {
  const volumes = (spec: JsonObject): JsonObject[] => [{ name: "v", ephemeral: { volumeClaimTemplate: { spec } } }];
  const made = filled("v1/PodTemplate", { template: { spec: { volumes: volumes({}) } } });
  assert.deepEqual(memberAt(made, ["template", "spec", "volumes"]), volumes({ volumeMode: "Filesystem" }));
});
