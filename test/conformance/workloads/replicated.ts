// SPDX-License-Identifier: Apache-2.0
// Deployments, ReplicaSets, StatefulSets and DaemonSets.
import type { JsonObject } from "@purlin/kube-objects/json";
import { labels, newImage, outcome, type Step, template, type WorkloadCase, workload } from "./case.ts";
import { types } from "./types.ts";

const { deployment, replicaSet, replicationController, statefulSet, daemonSet, pod } = types;
const onDeployment = (patch: JsonObject): Step => ({ type: deployment, name: "web", patch });
const onStatefulSet = (patch: JsonObject): Step => ({ type: statefulSet, name: "web", patch });
const onDaemonSet = (patch: JsonObject): Step => ({ type: daemonSet, name: "web", patch });
const size = (replicas: number): JsonObject => ({ spec: { replicas } });

const deployments: readonly WorkloadCase[] = [
  { title: "a Deployment of one Pod", objects: [workload(deployment)] },
  { title: "a Deployment of three Pods", objects: [workload(deployment, { replicas: 3 })] },
  { title: "a Deployment of no Pods", objects: [workload(deployment, { replicas: 0 })] },
  {
    title: "a Deployment is scaled up and down",
    objects: [workload(deployment, { replicas: 2 })],
    steps: [onDeployment(size(5)), onDeployment(size(1)), onDeployment(size(0))],
  },
  {
    title: "a Deployment rolls out a new image",
    objects: [workload(deployment, { replicas: 3 })],
    steps: [onDeployment(newImage())],
  },
  {
    title: "a Deployment rolls back to its first image",
    objects: [workload(deployment, { replicas: 2 })],
    steps: [onDeployment(newImage("nginx:2")), onDeployment(newImage("nginx:1"))],
  },
  {
    title: "a Deployment replaces all Pods at once",
    objects: [workload(deployment, { replicas: 2, strategy: { type: "Recreate" } })],
    steps: [onDeployment(newImage())],
  },
  {
    title: "a rollout without surge",
    objects: [workload(deployment, { replicas: 3, strategy: { rollingUpdate: { maxSurge: 0, maxUnavailable: 1 } } })],
    steps: [onDeployment(newImage())],
  },
  {
    title: "a rollout with surge in percent",
    objects: [
      workload(deployment, { replicas: 4, strategy: { rollingUpdate: { maxSurge: "50%", maxUnavailable: "50%" } } }),
    ],
    steps: [onDeployment(newImage())],
  },
  {
    title: "the image of a new Deployment cannot be pulled",
    objects: [workload(deployment, { replicas: 2 }, { annotations: outcome("ImagePullBackOff") })],
  },
  {
    title: "a rollout stops at an image that cannot be pulled, and another image repairs it",
    objects: [workload(deployment, { replicas: 3 })],
    steps: [
      onDeployment({ spec: { template: { metadata: { annotations: outcome("ImagePullBackOff") } } } }),
      onDeployment({ spec: { template: { metadata: { annotations: null } } } }),
    ],
  },
  {
    title: "a rollout misses its deadline",
    objects: [
      workload(deployment, { replicas: 1, progressDeadlineSeconds: 2 }, { annotations: outcome("ImagePullBackOff") }),
    ],
    steps: [],
  },
  {
    title: "a rollout is late, then done",
    objects: [
      workload(
        deployment,
        { replicas: 1, progressDeadlineSeconds: 1 },
        { annotations: { "simulation.purlin.dev/ready-after": "4s" } },
      ),
    ],
  },
  {
    title: "a Deployment is paused and resumed",
    objects: [workload(deployment, { replicas: 2 })],
    steps: [
      onDeployment({ spec: { paused: true } }),
      onDeployment(newImage()),
      onDeployment({ spec: { paused: false } }),
    ],
  },
  {
    title: "a Deployment is paused from the start",
    objects: [workload(deployment, { replicas: 2, paused: true })],
    steps: [onDeployment({ spec: { paused: false } })],
  },
  {
    title: "a paused Deployment is scaled",
    objects: [workload(deployment, { replicas: 2 })],
    steps: [onDeployment({ spec: { paused: true } }), onDeployment(size(4))],
  },
  {
    title: "a Deployment keeps one old ReplicaSet",
    objects: [workload(deployment, { replicas: 1, revisionHistoryLimit: 1 })],
    steps: ["nginx:2", "nginx:3", "nginx:4"].map((image) => onDeployment(newImage(image))),
  },
  {
    title: "a Deployment without a deadline",
    objects: [workload(deployment, { replicas: 1, progressDeadlineSeconds: 2147483647 })],
  },
  {
    title: "a Deployment waits until Pods are available",
    objects: [workload(deployment, { replicas: 2, minReadySeconds: 2 })],
  },
  {
    title: "a Deployment whose Pods become ready later",
    objects: [workload(deployment, { replicas: 2 }, { annotations: { "simulation.purlin.dev/ready-after": "2s" } })],
  },
  {
    title: "the Pods of a Deployment cannot be scheduled",
    objects: [workload(deployment, { replicas: 1 }, { annotations: outcome("Pending") })],
    clusterObjects: [
      workload(
        deployment,
        { replicas: 1 },
        { annotations: outcome("Pending"), spec: { nodeSelector: { disk: "ssd" } } },
      ),
    ],
  },
  {
    title: "the Pods of a Deployment are for other nodes",
    objects: [workload(deployment, { replicas: 2 }, { spec: { nodeSelector: { disk: "ssd" } } })],
  },
  {
    title: "a change of annotations does not roll out",
    objects: [workload(deployment, { replicas: 1 })],
    steps: [onDeployment({ metadata: { annotations: { team: "shop" } } })],
  },
  {
    title: "a Deployment is deleted",
    objects: [workload(deployment, { replicas: 2 })],
    steps: [{ type: deployment, name: "web" }],
  },
  {
    title: "a rollout is scaled in the middle",
    objects: [workload(deployment, { replicas: 4 })],
    steps: [
      onDeployment({ spec: { template: { metadata: { annotations: outcome("ImagePullBackOff") } } } }),
      onDeployment(size(8)),
      onDeployment(size(2)),
    ],
  },
];

const replicaSets: readonly WorkloadCase[] = [
  { title: "a ReplicaSet", objects: [workload(replicaSet, { replicas: 2 })] },
  {
    title: "a ReplicaSet shrinks",
    objects: [workload(replicaSet, { replicas: 4 })],
    steps: [{ type: replicaSet, name: "web", patch: size(1) }],
  },
  {
    title: "a ReplicaSet adopts a Pod",
    before: [{ ...pod, metadata: { name: "orphan", labels }, spec: template()["spec"] ?? {} }],
    objects: [workload(replicaSet, { replicas: 2 })],
  },
  {
    title: "a ReplicaSet replaces a Pod that failed",
    objects: [workload(replicaSet, { replicas: 1 }, { annotations: outcome("CrashLoopBackOff") })],
  },
  {
    title: "the containers of a ReplicaSet need too much memory",
    objects: [workload(replicaSet, { replicas: 2 }, { annotations: outcome("OOMKilled") })],
  },
  {
    title: "a ReplicaSet with minReadySeconds",
    objects: [workload(replicaSet, { replicas: 2, minReadySeconds: 1 })],
  },
];

const controllers: readonly WorkloadCase[] = [
  { title: "a ReplicationController", objects: [workload(replicationController, { replicas: 2 })] },
  {
    title: "a ReplicationController grows and shrinks",
    objects: [workload(replicationController, { replicas: 2 })],
    steps: [4, 1, 0].map((count) => ({ type: replicationController, name: "web", patch: size(count) })),
  },
  {
    title: "a ReplicationController adopts a Pod",
    before: [{ ...pod, metadata: { name: "orphan", labels }, spec: template()["spec"] ?? {} }],
    objects: [workload(replicationController, { replicas: 2 })],
  },
  {
    title: "a ReplicationController cannot create its Pods",
    objects: [workload(replicationController, { replicas: 2 }, { spec: { serviceAccountName: "missing" } })],
  },
  {
    title: "a ReplicationController with minReadySeconds is deleted",
    objects: [workload(replicationController, { replicas: 2, minReadySeconds: 1 })],
    steps: [{ type: replicationController, name: "web" }],
  },
];

const statefulSets: readonly WorkloadCase[] = [
  { title: "a StatefulSet", objects: [workload(statefulSet, { replicas: 3 })] },
  {
    title: "a StatefulSet in parallel",
    objects: [workload(statefulSet, { replicas: 3, podManagementPolicy: "Parallel" })],
  },
  {
    title: "a StatefulSet shrinks from its end",
    objects: [workload(statefulSet, { replicas: 3 })],
    steps: [onStatefulSet(size(1)), onStatefulSet(size(0))],
  },
  {
    title: "a StatefulSet rolls out a new image",
    objects: [workload(statefulSet, { replicas: 2 })],
    steps: [onStatefulSet(newImage())],
  },
  {
    title: "a partition keeps the first Pods",
    objects: [workload(statefulSet, { replicas: 3, updateStrategy: { rollingUpdate: { partition: 2 } } })],
    steps: [
      onStatefulSet(newImage()),
      onStatefulSet({ spec: { updateStrategy: { rollingUpdate: { partition: 0 } } } }),
    ],
  },
  {
    title: "a StatefulSet updates on deletion",
    objects: [workload(statefulSet, { replicas: 2, updateStrategy: { type: "OnDelete", rollingUpdate: null } })],
    steps: [onStatefulSet(newImage()), { type: pod, name: "web-1" }],
  },
  {
    title: "a StatefulSet stops at a Pod that is not ready",
    objects: [workload(statefulSet, { replicas: 3 }, { annotations: outcome("ImagePullBackOff") })],
  },
  {
    title: "a StatefulSet counts from five",
    objects: [workload(statefulSet, { replicas: 2, ordinals: { start: 5 } })],
  },
  {
    title: "a StatefulSet with minReadySeconds",
    objects: [workload(statefulSet, { replicas: 2, minReadySeconds: 1 })],
  },
];

const daemonSets: readonly WorkloadCase[] = [
  { title: "a DaemonSet", objects: [workload(daemonSet)] },
  { title: "a DaemonSet rolls out", objects: [workload(daemonSet)], steps: [onDaemonSet(newImage())] },
  {
    title: "a DaemonSet updates on deletion",
    objects: [workload(daemonSet, { updateStrategy: { type: "OnDelete" } })],
    steps: [onDaemonSet(newImage())],
  },
  {
    title: "a DaemonSet for other nodes",
    objects: [workload(daemonSet, {}, { spec: { nodeSelector: { disk: "ssd" } } })],
  },
  {
    title: "the image of a DaemonSet cannot be pulled",
    objects: [workload(daemonSet, {}, { annotations: outcome("ImagePullBackOff") })],
  },
];

export const replicatedCases: readonly WorkloadCase[] = [
  ...deployments,
  ...replicaSets,
  ...controllers,
  ...statefulSets,
  ...daemonSets,
];
