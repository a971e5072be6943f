// SPDX-License-Identifier: Apache-2.0
import { type FieldTexts, type KindDocs, under } from "@purlin/kube-controller";
import { stepTexts } from "./step-docs.ts";

const operationSpecTexts: FieldTexts = {
  mode: "How the operation works. Pipeline, which runs functions one after the other, is the only mode.",
  pipeline: "Steps that run in this order, each with what the steps before it returned.",
  ...under("pipeline", stepTexts),
  retryLimit: "How often a failed run is tried again before the operation fails.",
};

export const operationDocs: KindDocs = {
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
  "spec.operationTemplate.spec": "Spec of the Operations.",
  ...under("spec.operationTemplate.spec", operationSpecTexts),
  "status.lastScheduleTime": "When an Operation was last created.",
  "status.lastSuccessfulTime": "When an Operation last succeeded.",
  "status.runningOperationRefs": "Operations that run now.",
  "status.runningOperationRefs.name": "Name of the Operation.",
};

export const cronOperationDocs: KindDocs = {
  about: "A CronOperation creates Operations on a schedule.",
  fields: {
    ...scheduleTexts,
    "spec.schedule": "Times in the format of cron, such as 0 4 * * * for every day at four.",
    "spec.startingDeadlineSeconds": "How late an Operation may be created after its time before it is left out.",
  },
};

export const watchOperationDocs: KindDocs = {
  about: "A WatchOperation creates an Operation whenever a resource changes.",
  fields: {
    ...scheduleTexts,
    "spec.watch": "The resources to watch.",
    "spec.watch.apiVersion": "apiVersion of the resources. Cannot be changed.",
    "spec.watch.kind": "Kind of the resources. Cannot be changed.",
    "spec.watch.matchLabels": "Labels of the resources; all of them if left out.",
    "spec.watch.namespace": "Namespace of the resources; all namespaces if left out.",
    "status.watchingResources": "Number of resources that are watched.",
  },
};
