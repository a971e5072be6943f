// SPDX-License-Identifier: Apache-2.0
import {
  defineKinds,
  type KindDefinition,
  type KindRow,
  type KindRules,
  type KindSource,
  mutatingBindingErrors,
  mutatingPolicyErrors,
  scaleSubresource,
  statusSubresource,
  validatingBindingErrors,
  validatingPolicyErrors,
  wholeMetaChecks,
  withEmptyLists,
} from "@purlin/kube-apiserver/kinds";
import type { JsonObject } from "@purlin/kube-objects/json";
import { labelName, pathSegmentName } from "@purlin/kube-objects/metadata";
import { formatApiVersion } from "@purlin/kube-objects/object";
import { autoscalerKinds, disruptionKinds } from "./autoscaling/autoscaler-kinds.ts";
import { leaseRules } from "./cluster/class-rules.ts";
import { clusterKinds, groupKinds } from "./cluster/cluster-kinds.ts";
import { builtinPrinter } from "./columns/builtin-columns.ts";
import { configMapRules, secretRules } from "./config/config-data.ts";
import { builtinDefaults } from "./defaults/builtin-defaults.ts";
import { withoutDisabledFields } from "./defaults/pod-defaults.ts";
import { coreEventRules, namedEventRules } from "./events/event-rules.ts";
import { networkingKinds } from "./networking/networking-kinds.ts";
import { podAdmission, priorityClassAdmission } from "./pods/pod-admission.ts";
import { podRules } from "./pods/pod-rules.ts";
import { resizeAdmission } from "./pods/resize-admission.ts";
import { podSecurity } from "./pods/security-admission.ts";
import { ServicePlaces } from "./services/allocation.ts";
import { endpointSliceRules, endpointsRules } from "./services/endpoint-rules.ts";
import { serviceRules } from "./services/service-rules.ts";
import { storageKinds, volumeKinds } from "./storage/storage-kinds.ts";
import { staticNameWarnings, webhookRules } from "./webhooks/webhook-rules.ts";
import { cronJobRules, jobRules } from "./workloads/job-rules.ts";
import {
  daemonSetRules,
  deploymentRules,
  replicaSetRules,
  revisionRules,
  statefulSetRules,
  workloadScale,
} from "./workloads/workload-rules.ts";

/** The kinds of Kubernetes that an API server does not need itself: Pods, workloads, Services, ConfigMaps, Secrets, Events and others. */
export const builtinKinds: KindSource = (deps) =>
  [
    ...coreKinds(deps),
    ...appsKinds,
    ...defineKinds({ group: "events.k8s.io", version: "v1", priority: 17_750 }, [
      { ...event, storedIn: "", rules: namedEventRules },
    ]),
    ...autoscalerKinds,
    ...batchKinds,
    ...networkingKinds,
    ...disruptionKinds,
    ...storageKinds(deps),
    ...webhookKinds,
    ...defineKinds({ group: "coordination.k8s.io", version: "v1", priority: 16_500 }, [lease]),
    ...defineKinds({ group: "discovery.k8s.io", version: "v1", priority: 16_200 }, [endpointSlice]),
    ...groupKinds(deps),
  ].map(withDefaultsAndColumns);

const hourSeconds = 3600;
const workload: Pick<KindRow, "categories"> = { categories: ["all"] };

const event: KindRow = {
  resource: "events",
  kind: "Event",
  short: ["ev"],
  write: { createOnUpdate: true, ttlSeconds: hourSeconds },
};

const lease: KindRow = {
  resource: "leases",
  kind: "Lease",
  write: { createOnUpdate: true, unconditionalUpdate: false },
  rules: leaseRules,
};

const endpointSlice: KindRow = {
  resource: "endpointslices",
  kind: "EndpointSlice",
  write: { generation: "outside-metadata" },
  rules: withEmptyLists(["endpoints", "ports"], endpointSliceRules),
};

/** The Service by which Pods of a cluster reach the API server. Nothing routes to it here. */
const kubernetesService: JsonObject = {
  apiVersion: "v1",
  kind: "Service",
  metadata: { name: "kubernetes", namespace: "default", labels: { component: "apiserver", provider: "kubernetes" } },
  spec: {
    clusterIP: "10.0.0.1",
    ipFamilyPolicy: "SingleStack",
    ports: [{ name: "https", port: 443, targetPort: 6443 }],
  },
};

function coreKinds({ store, now }: Parameters<KindSource>[0]): KindDefinition[] {
  return defineKinds({ group: "", version: "v1", priority: 18_000 }, [
    {
      resource: "configmaps",
      kind: "ConfigMap",
      short: ["cm"],
      rules: { ...configMapRules, metaChecks: wholeMetaChecks },
    },
    {
      resource: "endpoints",
      kind: "Endpoints",
      short: ["ep"],
      write: { createOnUpdate: true },
      rules: {
        ...endpointsRules,
        metaChecks: wholeMetaChecks,
        requestWarnings: ["v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"],
      },
    },
    // In the core group an Event may have any name that fits into a path; in events.k8s.io it must be a DNS subdomain.
    {
      ...event,
      write: { ...event.write, name: pathSegmentName },
      rules: {
        ...coreEventRules,
        acceptsAnyFinalizer: true,
        metaChecks: () => ({ ofChange: false, ofWhole: false }),
      },
    },
    {
      resource: "pods",
      kind: "Pod",
      short: ["po"],
      ...workload,
      subresources: [
        { name: "binding", verbs: ["create"], kind: { group: "", version: "", kind: "Binding" } },
        { name: "ephemeralcontainers", verbs: ["get", "patch", "update"] },
        { name: "eviction", verbs: ["create"], kind: { group: "policy", version: "v1", kind: "Eviction" } },
        { name: "resize", verbs: ["get", "patch", "update"] },
        statusSubresource,
      ],
      unserved: {
        log: "get the logs of",
        exec: "execute a command in",
        attach: "attach to",
        portforward: "forward ports to",
        proxy: "proxy requests to",
      },
      write: { generation: "spec", returnsDeleted: true },
      rules: {
        ...podRules(now),
        ...podFields,
        keepsEmpty: [...(podFields.keepsEmpty ?? []), ["spec", "overhead"]],
        metaChecks: wholeMetaChecks,
      },
      admission: [...podAdmission(store), ...resizeAdmission(store), priorityClassAdmission(store), podSecurity(store)],
    },
    { resource: "secrets", kind: "Secret", rules: { ...secretRules, metaChecks: wholeMetaChecks } },
    {
      resource: "services",
      kind: "Service",
      short: ["svc"],
      ...workload,
      subresources: [statusSubresource],
      unserved: { proxy: "proxy requests to" },
      write: { name: labelName, createOnUpdate: true, returnsDeleted: true },
      rules: serviceRules(new ServicePlaces(store)),
      initialObjects: [kubernetesService],
    },
    ...clusterKinds(store),
    ...volumeKinds({ store, now }),
  ]);
}

/** What workloads do with the templates of their Pods. */
const podFields = withoutDisabledFields("spec");
const ofTemplate = withoutDisabledFields("spec", "template", "spec");

const scaled: Pick<KindRules, "scale" | "emptyMembers"> = {
  scale: workloadScale,
  emptyMembers: { spec: { replicas: 0 } },
};

const appsKinds = defineKinds({ group: "apps", version: "v1", priority: 17_800 }, [
  { resource: "controllerrevisions", kind: "ControllerRevision", rules: revisionRules },
  {
    resource: "daemonsets",
    kind: "DaemonSet",
    short: ["ds"],
    ...workload,
    subresources: [statusSubresource],
    write: { generation: "spec" },
    rules: { ...daemonSetRules, ...ofTemplate },
  },
  {
    resource: "deployments",
    kind: "Deployment",
    short: ["deploy"],
    ...workload,
    subresources: [scaleSubresource, statusSubresource],
    write: { generation: "spec-and-annotations" },
    rules: { ...deploymentRules, ...ofTemplate, ...scaled, resets: { status: [["spec"], ["metadata", "labels"]] } },
  },
  {
    resource: "replicasets",
    kind: "ReplicaSet",
    short: ["rs"],
    ...workload,
    subresources: [scaleSubresource, statusSubresource],
    write: { generation: "spec" },
    rules: { ...replicaSetRules, ...ofTemplate, ...scaled },
  },
  {
    resource: "statefulsets",
    kind: "StatefulSet",
    short: ["sts"],
    ...workload,
    subresources: [scaleSubresource, statusSubresource],
    write: { name: labelName, generation: "spec" },
    rules: { ...statefulSetRules, ...ofTemplate, ...scaled },
  },
]);

const batchKinds = defineKinds({ group: "batch", version: "v1", priority: 17_400 }, [
  {
    resource: "cronjobs",
    kind: "CronJob",
    short: ["cj"],
    ...workload,
    subresources: [statusSubresource],
    write: { generation: "spec" },
    rules: {
      ...cronJobRules,
      ...withoutDisabledFields("spec", "jobTemplate", "spec", "template", "spec"),
      metaChecks: (endpoint) => ({ ofChange: endpoint !== "status", ofWhole: false }),
    },
  },
  {
    resource: "jobs",
    kind: "Job",
    ...workload,
    subresources: [statusSubresource],
    write: { generation: "spec", orphansByDefault: true },
    rules: { ...jobRules, ...ofTemplate, metaChecks: wholeMetaChecks },
  },
]);

const admissionRules: KindRules = { acceptsAnyFinalizer: true, warnings: staticNameWarnings };

const admission: Pick<KindRow, "cluster" | "categories" | "write" | "rules"> = {
  cluster: true,
  categories: ["api-extensions"],
  write: { unconditionalUpdate: false, generation: "spec" },
  rules: admissionRules,
};

const webhookConfiguration = {
  ...admission,
  write: { ...admission.write, generation: "outside-metadata" as const },
  rules: { ...webhookRules, ...admissionRules },
};

const webhookKinds = defineKinds({ group: "admissionregistration.k8s.io", version: "v1", priority: 16_700 }, [
  {
    resource: "mutatingadmissionpolicies",
    kind: "MutatingAdmissionPolicy",
    storageVersion: "v1beta1",
    ...admission,
    rules: { ...admissionRules, validatingRest: mutatingPolicyErrors },
  },
  {
    resource: "mutatingadmissionpolicybindings",
    kind: "MutatingAdmissionPolicyBinding",
    storageVersion: "v1beta1",
    ...admission,
    rules: { ...admissionRules, validate: mutatingBindingErrors },
  },
  {
    resource: "validatingadmissionpolicies",
    kind: "ValidatingAdmissionPolicy",
    subresources: [statusSubresource],
    ...admission,
    rules: { ...admissionRules, validatingRest: validatingPolicyErrors },
  },
  {
    resource: "validatingadmissionpolicybindings",
    kind: "ValidatingAdmissionPolicyBinding",
    ...admission,
    rules: { ...admissionRules, validate: validatingBindingErrors },
  },
  { resource: "mutatingwebhookconfigurations", kind: "MutatingWebhookConfiguration", ...webhookConfiguration },
  { resource: "validatingwebhookconfigurations", kind: "ValidatingWebhookConfiguration", ...webhookConfiguration },
]);

function withDefaultsAndColumns(kind: KindDefinition): KindDefinition {
  const defaults = builtinDefaults(formatApiVersion(kind.type), kind.type.kind);
  const printer = builtinPrinter(kind.type.kind);
  return { ...kind, rules: { ...(printer && { printer }), ...kind.rules, ...(defaults && { defaults }) } };
}
