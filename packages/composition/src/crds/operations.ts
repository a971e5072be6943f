// SPDX-License-Identifier: Apache-2.0

import {
  ageColumn,
  type CrdVersion,
  checked,
  choice,
  column,
  conditionColumn,
  conditions,
  createCrd,
  defaulted,
  type Fields,
  type FieldTexts,
  free,
  integer,
  integer32,
  type KindDocs,
  listOf,
  mapOf,
  nameRef,
  object,
  text,
  time,
  under,
} from "@purlin/kube-controller";
import type { KubeObject } from "@purlin/kube-objects/object";
import type { Schema } from "@purlin/kube-objects/schema";
import { crossplaneCategory, operationStep, opsGroup } from "./crd-shapes.ts";
import { stepTexts } from "./kind-docs.ts";

const operationSpecTexts: FieldTexts = {
  mode: "How the operation works. Pipeline, which runs functions one after the other, is the only mode.",
  pipeline: "Steps that run in this order, each with what the steps before it returned.",
  ...under("pipeline", stepTexts),
  retryLimit: "How often a failed run is tried again before the operation fails.",
};

const operationDocs: KindDocs = {
  about: "An Operation runs a pipeline of functions once.",
  fields: {
    ...under("spec", operationSpecTexts),
    "status.appliedResourceRefs": "Resources that the operation applied.",
    "status.appliedResourceRefs.apiVersion": "apiVersion of the resource.",
    "status.appliedResourceRefs.kind": "Kind of the resource.",
    "status.appliedResourceRefs.name": "Name of the resource.",
    "status.appliedResourceRefs.namespace": "Namespace of the resource; empty for cluster-scoped ones.",
    "status.failures": "Number of runs that failed.",
    "status.pipeline": "Output of the steps that ran.",
    "status.pipeline.step": "Name of the step.",
    "status.pipeline.output": "What the step returned as output.",
  },
};

const scheduleTexts: FieldTexts = {
  "spec.concurrencyPolicy":
    "What happens when an Operation is due while another runs: Allow both, Forbid the new one, or Replace the running one.",
  "spec.failedHistoryLimit": "Number of failed Operations to keep.",
  "spec.successfulHistoryLimit": "Number of successful Operations to keep.",
  "spec.operationTemplate": "The Operations to create.",
  "spec.operationTemplate.metadata": "Labels and annotations of the Operations.",
  "spec.operationTemplate.metadata.annotations": "Annotations of the Operations.",
  "spec.operationTemplate.metadata.labels": "Labels of the Operations.",
  "spec.operationTemplate.spec": "Spec of the Operations.",
  ...under("spec.operationTemplate.spec", operationSpecTexts),
  "status.lastScheduleTime": "When an Operation was last created.",
  "status.lastSuccessfulTime": "When an Operation last succeeded.",
  "status.runningOperationRefs": "Operations that run now, 100 at most.",
  "status.runningOperationRefs.name": "Name of the Operation.",
};

const cronOperationDocs: KindDocs = {
  about: "A CronOperation creates Operations on a schedule.",
  fields: {
    ...scheduleTexts,
    "spec.schedule": "Times in the format of cron, such as 0 4 * * * for every day at four.",
    "spec.startingDeadlineSeconds": "How late an Operation may be created after its time before it is left out.",
  },
};

const watchOperationDocs: KindDocs = {
  about: "A WatchOperation creates an Operation whenever a resource changes.",
  fields: {
    ...scheduleTexts,
    "spec.watch": "The resources to watch.",
    "spec.watch.apiVersion": "apiVersion of the resources. Cannot be changed.",
    "spec.watch.kind": "Kind of the resources. Cannot be changed.",
    "spec.watch.matchLabels": "Labels of the resources; all of them if left out.",
    "spec.watch.namespace": "Namespace of the resources; all namespaces if left out.",
    "status.lastHandledResourceVersion":
      "Newest resourceVersion that was handled: older changes create no Operation after a restart.",
    "status.watchingResources": "Number of resources that are watched.",
  },
};

const operationSpec: Schema = object({
  "mode*": defaulted(choice("Pipeline"), "Pipeline"),
  "pipeline*": listOf(operationStep, { mapBy: "step" }, { minItems: 1, maxItems: 99 }),
  retryLimit: integer,
});

const operationStatus: Schema = object({
  appliedResourceRefs: listOf(object({ "apiVersion*": text, "kind*": text, "name*": text, namespace: text })),
  conditions,
  failures: integer,
  pipeline: listOf(object({ output: free, "step*": text })),
});

/** What CronOperation and WatchOperation say about the Operations they make. */
const templateFields: Fields = {
  concurrencyPolicy: defaulted(choice("Allow", "Forbid", "Replace"), "Allow"),
  failedHistoryLimit: defaulted(integer32, 1),
  "operationTemplate*": object({ metadata: object({ labels: mapOf(), annotations: mapOf() }), "spec*": operationSpec }),
  successfulHistoryLimit: defaulted(integer32, 3),
};

const scheduleStatus: Fields = {
  conditions,
  lastScheduleTime: time,
  lastSuccessfulTime: time,
  runningOperationRefs: listOf(nameRef),
};

const scheduleColumns = [
  column("LAST SCHEDULE", ".status.lastScheduleTime", "date"),
  column("LAST SUCCESS", ".status.lastSuccessfulTime", "date"),
  ageColumn,
] as const;

interface OperationKind {
  readonly kind: string;
  readonly plural: string;
  readonly shortName: string;
  readonly columns: CrdVersion["columns"];
  readonly spec: Schema;
  readonly status: Schema;
  readonly docs: KindDocs;
}

function crdOf({ kind, plural, shortName, columns, spec, status, docs }: OperationKind): KubeObject {
  return createCrd({
    group: opsGroup,
    kind,
    plural,
    docs,
    shortNames: [shortName],
    categories: [crossplaneCategory],
    versions: [{ name: "v1alpha1", fields: { spec, status }, columns, hasStatus: true }],
  });
}

/** The CRD of Operation. */
export function operationCrd(): KubeObject {
  return crdOf({
    kind: "Operation",
    docs: operationDocs,
    plural: "operations",
    shortName: "ops",
    columns: [conditionColumn("SYNCED", "Synced"), conditionColumn("SUCCEEDED", "Succeeded"), ageColumn],
    spec: operationSpec,
    status: operationStatus,
  });
}

/** The CRD of CronOperation. */
export function cronOperationCrd(): KubeObject {
  return crdOf({
    kind: "CronOperation",
    docs: cronOperationDocs,
    plural: "cronoperations",
    shortName: "cronops",
    columns: [
      column("SCHEDULE", ".spec.schedule"),
      conditionColumn("SYNCED", "Synced"),
      conditionColumn("SCHEDULING", "Scheduling"),
      ...scheduleColumns,
    ],
    spec: object({ ...templateFields, "schedule*": text, startingDeadlineSeconds: integer }),
    status: object(scheduleStatus),
  });
}

/** The CRD of WatchOperation. */
export function watchOperationCrd(): KubeObject {
  const watch = object({
    "apiVersion*": checked(text, { "self == oldSelf": "apiVersion is immutable" }),
    "kind*": checked(text, { "self == oldSelf": "kind is immutable" }),
    matchLabels: mapOf(),
    namespace: text,
  });
  return crdOf({
    kind: "WatchOperation",
    docs: watchOperationDocs,
    plural: "watchoperations",
    shortName: "watchops",
    columns: [
      column("KIND", ".spec.watch.kind"),
      column("COUNT", ".status.watchingResources", "integer"),
      conditionColumn("SYNCED", "Synced"),
      conditionColumn("WATCHING", "Watching"),
      ...scheduleColumns,
    ],
    spec: object({ ...templateFields, "watch*": watch }),
    status: object({ ...scheduleStatus, lastHandledResourceVersion: text, watchingResources: integer }),
  });
}
