// SPDX-License-Identifier: Apache-2.0
// The subresources `ephemeralcontainers` and `resize` of Pods. The texts are those of kube-apiserver 1.36.
import assert from "node:assert/strict";
import { test } from "node:test";
import { fieldErrorText } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import {
  ephemeralContainerErrors,
  qosClassOf,
  resizeErrors,
  withEphemeralContainers,
  withResources,
} from "./pod-parts.ts";

const container = (name: string, requests: JsonObject, limits: JsonObject = {}): JsonObject => ({
  name,
  image: "i",
  resources: { requests, limits },
});

const burstable = container("c", { cpu: "1", memory: "1Gi" }, { cpu: "2" });
const podOf = (spec: JsonObject, more: JsonObject = {}): JsonObject => ({
  metadata: { name: "p", resourceVersion: "1" },
  spec,
  status: { qosClass: "Burstable" },
  ...more,
});

interface ResizeCase {
  readonly old: JsonObject;
  readonly now: JsonObject;
  readonly want: readonly string[];
}

const init = (requests: JsonObject, more: JsonObject = {}): JsonObject => ({ ...container("i", requests), ...more });
const only = "spec: Forbidden: only cpu and memory resources are mutable";
const onlyInit =
  "spec.initContainers[0]: Forbidden: only cpu and memory resources for init or sidecar containers are mutable";
const running = (more: JsonObject): JsonObject => ({
  status: {
    qosClass: "Burstable",
    containerStatuses: [{ name: "c", state: { running: { startedAt: "x" } }, ...more }],
  },
});

const resizes: Record<string, ResizeCase> = {
  "other amounts of cpu and memory are accepted": {
    old: podOf({ containers: [burstable] }),
    now: podOf({ containers: [container("c", { cpu: "2", memory: "2Gi" }, { cpu: "3", memory: "4Gi" })] }),
    want: [],
  },
  "another amount of storage is refused": {
    old: podOf({ containers: [container("c", { cpu: "1", "ephemeral-storage": "1Gi" })] }),
    now: podOf({ containers: [container("c", { cpu: "1", "ephemeral-storage": "2Gi" })] }),
    want: [only],
  },
  "an amount of another resource cannot be added": {
    old: podOf({ containers: [container("c", { cpu: "1" })] }),
    now: podOf({ containers: [container("c", { cpu: "1", "ephemeral-storage": "2Gi" })] }),
    want: [only],
  },
  "amounts in another order are the same": {
    old: podOf({ containers: [container("c", { cpu: "1", a: "1", b: "1" })] }),
    now: podOf({ containers: [container("c", { b: "1", a: "1", cpu: "2" })] }),
    want: [],
  },
  "requests and limits cannot be removed": {
    old: podOf({ containers: [burstable] }),
    now: podOf({ containers: [container("c", { cpu: "1" })] }),
    want: [
      "spec.containers[0].resources.requests: Forbidden: resource requests cannot be removed",
      "spec.containers[0].resources.limits: Forbidden: resource limits cannot be removed",
    ],
  },
  "the policy of a resize cannot change": {
    old: podOf({ containers: [burstable] }),
    now: podOf({
      containers: [{ ...burstable, resizePolicy: [{ resourceName: "cpu", restartPolicy: "NotRequired" }] }],
    }),
    want: [only],
  },
  "the class of service cannot change": {
    old: podOf({ containers: [burstable] }),
    now: podOf({ containers: [container("c", { cpu: "2", memory: "1Gi" }, { cpu: "2", memory: "1Gi" })] }),
    want: ['spec: Invalid value: "Burstable": Pod QOS Class may not change as a result of resizing'],
  },
  "a class of service that the status lacks is computed": {
    old: podOf({ containers: [burstable] }, { status: {} }),
    now: podOf({ containers: [container("c", { cpu: "2", memory: "1Gi" }, { cpu: "2", memory: "1Gi" })] }),
    want: ['spec: Invalid value: "": Pod QOS Class may not change as a result of resizing'],
  },
  "containers cannot be added": {
    old: podOf({ containers: [burstable] }),
    now: podOf({ containers: [burstable, container("d", {})] }),
    want: ["spec.containers: Forbidden: containers may not be added or removed on resize"],
  },
  "init containers cannot be removed": {
    old: podOf({ containers: [burstable], initContainers: [init({})] }),
    now: podOf({ containers: [burstable] }),
    want: ["spec.initContainers: Forbidden: initContainers may not be added or removed on resize"],
  },
  "containers cannot be renamed, and nothing else is checked then": {
    old: podOf({ containers: [burstable] }),
    now: podOf({ containers: [container("d", { cpu: "1" })] }),
    want: ["spec.containers[0].name: Forbidden: containers may not be renamed or reordered on resize"],
  },
  "a sidecar can be resized": {
    old: podOf({ containers: [burstable], initContainers: [init({ cpu: "1" }, { restartPolicy: "Always" })] }),
    now: podOf({ containers: [burstable], initContainers: [init({ cpu: "2" }, { restartPolicy: "Always" })] }),
    want: [],
  },
  "an init container can be resized": {
    old: podOf({ containers: [burstable], initContainers: [init({ cpu: "1" })] }),
    now: podOf({ containers: [burstable], initContainers: [init({ cpu: "2" })] }),
    want: [],
  },
  "an init container keeps its other resources": {
    old: podOf({ containers: [burstable], initContainers: [init({ cpu: "1", a: "1" })] }),
    now: podOf({ containers: [burstable], initContainers: [init({ cpu: "1", a: "2" })] }),
    want: [onlyInit],
  },
  "amounts of init containers come before those of containers": {
    old: podOf({ containers: [burstable], initContainers: [init({ cpu: "1" })] }),
    now: podOf({ containers: [container("c", { cpu: "1" }, { cpu: "2" })], initContainers: [init({})] }),
    want: [
      "spec.initContainers[0].resources.requests: Forbidden: resource requests cannot be removed",
      "spec.containers[0].resources.requests: Forbidden: resource requests cannot be removed",
    ],
  },
  "an init container that would restart cannot be resized": {
    old: podOf({
      containers: [burstable],
      initContainers: [
        init({ cpu: "1" }, { resizePolicy: [{ resourceName: "cpu", restartPolicy: "RestartContainer" }] }),
      ],
    }),
    now: podOf({
      containers: [burstable],
      initContainers: [
        init({ cpu: "2" }, { resizePolicy: [{ resourceName: "cpu", restartPolicy: "RestartContainer" }] }),
      ],
    }),
    want: [
      "spec.initContainers[0]: Forbidden: non-sidecar init containers with a resize policy of RestartContainer cannot be resized",
    ],
  },
  "resources of the whole Pod can change": {
    old: podOf({ containers: [burstable], resources: { requests: { cpu: "1" } } }),
    now: podOf({ containers: [burstable], resources: { requests: { cpu: "2", memory: "1Gi" } } }),
    want: [],
  },
  "resources of the whole Pod cannot be removed": {
    old: podOf({ containers: [burstable], resources: { requests: { cpu: "1" } } }),
    now: podOf({ containers: [burstable] }),
    want: ["spec.resources: Forbidden: pod-level resources cannot be removed"],
  },
  "single amounts of the whole Pod cannot be removed": {
    old: podOf({ containers: [burstable], resources: { requests: { cpu: "1", memory: "1Gi" }, limits: { cpu: "2" } } }),
    now: podOf({ containers: [burstable], resources: { requests: { cpu: "1" } } }),
    want: [
      "spec.resources.requests: Forbidden: pod-level resource requests cannot be removed",
      "spec.resources.limits: Forbidden: pod-level resource limits cannot be removed",
    ],
  },
  "of the whole Pod only cpu and memory can change": {
    old: podOf({ containers: [burstable], resources: { requests: { cpu: "1", "hugepages-2Mi": "2Mi" } } }),
    now: podOf({ containers: [burstable], resources: { requests: { cpu: "1", "hugepages-2Mi": "4Mi" } } }),
    want: ["spec: Forbidden: only cpu and memory resources are mutable at pod-level"],
  },
  "a running container without a record of its resources cannot be resized": {
    old: podOf({ containers: [burstable] }, running({})),
    now: podOf({ containers: [container("c", { cpu: "3", memory: "1Gi" }, { cpu: "4" })] }),
    want: ["spec: Forbidden: Pod running on node without support for resize"],
  },
  "a running container with a record of its resources can be resized": {
    old: podOf({ containers: [burstable] }, running({ resources: {} })),
    now: podOf({ containers: [container("c", { cpu: "3", memory: "1Gi" }, { cpu: "4" })] }),
    want: [],
  },
  "a static Pod cannot be resized": {
    old: podOf({ containers: [burstable] }, { metadata: { annotations: { "kubernetes.io/config.mirror": "x" } } }),
    now: podOf({ containers: [burstable] }),
    want: [": Forbidden: static pods cannot be resized"],
  },
  "a Windows Pod cannot be resized": {
    old: podOf({ containers: [burstable], os: { name: "windows" } }),
    now: podOf({ containers: [burstable], os: { name: "windows" } }),
    want: [": Forbidden: windows pods cannot be resized"],
  },
};

for (const [name, { old, now, want }] of Object.entries(resizes)) {
  test(`resize: ${name}`, () => {
    assert.deepEqual(resizeErrors(now, old).map(fieldErrorText), want);
  });
}

test("a resize keeps everything but the resources and the policy of a resize", () => {
  const old = podOf({ nodeName: "n", containers: [burstable], initContainers: [init({ cpu: "1" })] });
  const policy = [{ resourceName: "cpu", restartPolicy: "NotRequired" }];
  const sent: JsonObject = {
    metadata: { name: "p", resourceVersion: "2", managedFields: [{ manager: "m" }], labels: { a: "b" } },
    spec: {
      nodeName: "other",
      resources: { limits: { cpu: "4" } },
      containers: [{ name: "c", image: "other", resources: { requests: { cpu: "9" } }, resizePolicy: policy }],
      initContainers: [{ name: "i", image: "other" }],
    },
    status: { phase: "Failed" },
  };
  assert.deepEqual(withResources(sent, old), {
    metadata: { name: "p", resourceVersion: "2", managedFields: [{ manager: "m" }] },
    spec: {
      nodeName: "n",
      containers: [{ name: "c", image: "i", resources: { requests: { cpu: "9" } }, resizePolicy: policy }],
      initContainers: [{ name: "i", image: "i" }],
      resources: { limits: { cpu: "4" } },
    },
    status: { qosClass: "Burstable" },
  });
  assert.deepEqual(old["spec"], { nodeName: "n", containers: [burstable], initContainers: [init({ cpu: "1" })] });
});

test("a resize that adds or renames containers is passed on as it is, for the rules to refuse", () => {
  const old = podOf({ containers: [burstable] });
  const more = podOf({ containers: [burstable, container("d", {})] });
  assert.equal(withResources(more, old), more);
  const renamed = withResources(podOf({ containers: [{ name: "d", image: "x" }] }), old);
  assert.deepEqual(renamed["spec"], { containers: [{ name: "d", image: "x" }] });
});

test("an update of ephemeral containers changes nothing else", () => {
  const debug = { name: "debug", image: "busybox" };
  const old = podOf({ containers: [burstable], ephemeralContainers: [debug] });
  const more = withEphemeralContainers(
    podOf({ containers: [], nodeName: "n", ephemeralContainers: [debug, { name: "two" }] }),
    old,
  );
  assert.deepEqual(more["spec"], { containers: [burstable], ephemeralContainers: [debug, { name: "two" }] });
  const none = withEphemeralContainers(podOf({ containers: [] }), old);
  assert.deepEqual(none["spec"], { containers: [burstable] });
});

test("ephemeral containers cannot be changed or removed, and their order does not count", () => {
  const [one, two] = [
    { name: "one", image: "a" },
    { name: "two", image: "b" },
  ];
  const old = podOf({ ephemeralContainers: [one, two] });
  const errors = (...ephemeralContainers: JsonObject[]): string[] =>
    ephemeralContainerErrors(podOf({ ephemeralContainers }), old).map(fieldErrorText);
  assert.deepEqual(errors(two, one, { name: "three" }), []);
  assert.deepEqual(errors(two), [
    'spec.ephemeralContainers: Forbidden: existing ephemeral containers "one" may not be removed\n',
  ]);
  assert.deepEqual(errors(one, { ...two, image: "c" }), [
    'spec.ephemeralContainers: Forbidden: existing ephemeral containers "two" may not be changed\n',
  ]);
  const mirror = { metadata: { annotations: { "kubernetes.io/config.mirror": "" } } };
  assert.deepEqual(ephemeralContainerErrors(podOf({}), podOf({}, mirror)).map(fieldErrorText), [
    ": Forbidden: static pods do not support ephemeral containers",
  ]);
});

test("the class of service of a Pod with resources of its own depends on those alone", () => {
  const both = { cpu: "1", memory: "1Gi" };
  const whole = (resources: JsonObject): string => qosClassOf({ spec: { resources, containers: [burstable] } });
  assert.equal(whole({ requests: both, limits: both }), "Guaranteed");
  assert.equal(whole({ requests: both }), "Burstable");
  assert.equal(whole({ limits: { cpu: "1" } }), "Burstable");
  assert.equal(whole({}), "BestEffort");
  assert.equal(qosClassOf({}), "BestEffort");
});

test("init containers count for the class of service", () => {
  const both = { cpu: "1", memory: "1Gi" };
  const guaranteed = container("c", both, both);
  assert.equal(qosClassOf({ spec: { containers: [guaranteed], initContainers: [guaranteed] } }), "Guaranteed");
  assert.equal(qosClassOf({ spec: { containers: [guaranteed], initContainers: [init({})] } }), "Burstable");
  assert.equal(qosClassOf({ spec: { containers: [init({})], initContainers: [init({ cpu: "1m" })] } }), "Burstable");
});
