// SPDX-License-Identifier: Apache-2.0
// Jobs, CronJobs, Services, autoscalers and disruption budgets.
import type { JsonObject } from "@purlin/kube-objects/json";
import { labels, outcome, type Step, template, type WorkloadCase, workload } from "./case.ts";
import { types } from "./types.ts";

const { deployment, job, cronJob, service, autoscaler, budget, replicationController, statefulSet, pod } = types;

function jobOf(spec: JsonObject = {}, annotations: JsonObject = {}, restartPolicy = "Never"): JsonObject {
  const podTemplate = template({ annotations, spec: { restartPolicy } });
  return { ...job, metadata: { name: "work" }, spec: { template: podTemplate, ...spec } };
}
const onJob = (patch: JsonObject): Step => ({ type: job, name: "work", patch });
const longRun = { "simulation.purlin.dev/outcome": "exit 0", "simulation.purlin.dev/outcome-after": "1h" };

const jobs: readonly WorkloadCase[] = [
  { title: "a Job", objects: [jobOf()] },
  { title: "a Job of three completions, two at a time", objects: [jobOf({ completions: 3, parallelism: 2 })] },
  { title: "an indexed Job", objects: [jobOf({ completions: 3, parallelism: 3, completionMode: "Indexed" })] },
  { title: "a Job without retries fails", objects: [jobOf({ backoffLimit: 0 }, outcome("exit 3"))] },
  { title: "a suspended Job", objects: [jobOf({ suspend: true })], steps: [onJob({ spec: { suspend: false } })] },
  {
    title: "a running Job is suspended",
    objects: [jobOf({ parallelism: 2 }, longRun)],
    steps: [onJob({ spec: { suspend: true } })],
  },
  { title: "a Job misses its deadline", objects: [jobOf({ activeDeadlineSeconds: 15 }, longRun)] },
  { title: "a Job that runs", objects: [jobOf({ parallelism: 2, completions: 2 }, longRun)] },
  {
    title: "fewer Pods of a Job at a time",
    objects: [jobOf({ parallelism: 3, completions: 3 }, longRun)],
    steps: [onJob({ spec: { parallelism: 1 } })],
  },
  { title: "a Job is deleted after it ended", objects: [jobOf({ ttlSecondsAfterFinished: 0 })] },
  {
    title: "a Job whose Pods are restarted in place",
    // Its containers run for a while, so that the Pod is removed while they do.
    objects: [
      jobOf({ backoffLimit: 0 }, { ...outcome("exit 1"), "simulation.purlin.dev/outcome-after": "3s" }, "OnFailure"),
    ],
  },
];

const cronJobOf = (spec: JsonObject): JsonObject => ({
  ...cronJob,
  metadata: { name: "nightly" },
  spec: { schedule: "0 3 1 1 *", jobTemplate: { spec: jobOf()["spec"] ?? {} }, ...spec },
});

const cronJobs: readonly WorkloadCase[] = [
  { title: "a CronJob that is not due", objects: [cronJobOf({})] },
  { title: "a suspended CronJob", objects: [cronJobOf({ suspend: true, schedule: "* * * * *" })] },
];

const serviceOf = (spec: JsonObject, name = "web"): JsonObject => ({
  ...service,
  metadata: { name, labels: { team: "shop" } },
  spec: { selector: labels, ports: [{ name: "http", port: 80, targetPort: "http" }], ...spec },
});

const services: readonly WorkloadCase[] = [
  { title: "a Service of two Pods", objects: [serviceOf({}), workload(deployment, { replicas: 2 })] },
  { title: "a Service of no Pods", objects: [serviceOf({})] },
  {
    title: "a Service of Pods that are not ready",
    objects: [
      serviceOf({}),
      workload(deployment, { replicas: 2 }, { annotations: { "simulation.purlin.dev/ready-after": "1h" } }),
    ],
  },
  {
    title: "a headless Service of a StatefulSet",
    objects: [serviceOf({ clusterIP: "None" }), workload(statefulSet, { replicas: 2 })],
  },
  {
    title: "a Service without a selector",
    objects: [{ ...serviceOf({}), spec: { ports: [{ port: 80 }] } }],
  },
  {
    title: "a Service is deleted",
    objects: [serviceOf({}), workload(deployment)],
    steps: [{ type: service, name: "web" }],
  },
];

const budgetOf = (spec: JsonObject): JsonObject => ({
  ...budget,
  metadata: { name: "web" },
  spec: { selector: { matchLabels: labels }, ...spec },
});

const budgets: readonly WorkloadCase[] = [
  {
    title: "a budget of available Pods",
    objects: [budgetOf({ minAvailable: 1 }), workload(deployment, { replicas: 2 })],
  },
  {
    title: "a budget in percent",
    objects: [budgetOf({ minAvailable: "50%" }), workload(deployment, { replicas: 3 })],
  },
  {
    title: "a budget of unavailable Pods",
    objects: [budgetOf({ maxUnavailable: 1 }), workload(statefulSet, { replicas: 3 })],
  },
  {
    title: "a budget of a ReplicationController",
    objects: [budgetOf({ maxUnavailable: 1 }), workload(replicationController, { replicas: 3 })],
  },
  { title: "a budget without Pods", objects: [budgetOf({ minAvailable: 1 })] },
  {
    title: "a budget of Pods without a controller",
    objects: [
      { ...pod, metadata: { name: "alone", labels }, spec: template()["spec"] ?? {} },
      budgetOf({ maxUnavailable: 1 }),
    ],
  },
];

const cpu: JsonObject = { name: "cpu", target: { type: "Utilization", averageUtilization: 50 } };
const autoscalerOf = (spec: JsonObject): JsonObject => ({
  ...autoscaler,
  metadata: { name: "web" },
  spec: {
    scaleTargetRef: { ...deployment, name: "web" },
    minReplicas: 2,
    maxReplicas: 4,
    metrics: [{ type: "Resource", resource: cpu }],
    ...spec,
  },
});

// Available from the start: when the autoscaler changes its size in the rollout decides the order of conditions otherwise.
const scaled = (replicas: number): JsonObject =>
  workload(deployment, { replicas, strategy: { rollingUpdate: { maxUnavailable: "100%" } } });

const autoscalers: readonly WorkloadCase[] = [
  { title: "an autoscaler without metrics", objects: [workload(deployment, { replicas: 3 }), autoscalerOf({})] },
  {
    title: "an autoscaler scales up to its minimum",
    objects: [scaled(2), autoscalerOf({})],
    steps: [{ type: autoscaler, name: "web", patch: { spec: { minReplicas: 3 } } }],
  },
  {
    title: "an autoscaler scales down to its maximum",
    objects: [scaled(4), autoscalerOf({})],
    steps: [{ type: autoscaler, name: "web", patch: { spec: { maxReplicas: 2 } } }],
  },
  {
    title: "an autoscaler of a Deployment of size zero",
    objects: [workload(deployment, { replicas: 0 }), autoscalerOf({})],
  },
  { title: "an autoscaler without a target", objects: [autoscalerOf({})] },
  {
    title: "an autoscaler by memory per Pod",
    objects: [
      workload(deployment, { replicas: 2 }),
      autoscalerOf({
        metrics: [
          { type: "Resource", resource: { name: "memory", target: { type: "AverageValue", averageValue: "1Gi" } } },
        ],
      }),
    ],
  },
  {
    title: "an autoscaler by metrics of Pods",
    objects: [
      workload(deployment, { replicas: 2 }),
      autoscalerOf({
        metrics: [
          {
            type: "Pods",
            pods: { metric: { name: "requests" }, target: { type: "AverageValue", averageValue: "10" } },
          },
        ],
      }),
    ],
  },
  {
    title: "an autoscaler by external metrics",
    objects: [
      workload(deployment, { replicas: 2 }),
      autoscalerOf({
        metrics: [
          { type: "External", external: { metric: { name: "queue" }, target: { type: "Value", value: "10" } } },
        ],
      }),
    ],
  },
];

export const otherCases: readonly WorkloadCase[] = [...jobs, ...cronJobs, ...services, ...budgets, ...autoscalers];
