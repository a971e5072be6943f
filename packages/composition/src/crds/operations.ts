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
  free,
  integer,
  integer32,
  type KindDocs,
  listOf,
  mapOf,
  nameRef,
  object,
  type Schema,
  text,
  time,
} from "@purlin/kube-controller";
import type { KubeObject } from "@purlin/kube-objects/object";
import { cronOperationDocs, operationDocs, watchOperationDocs } from "./docs/operation-docs.ts";
import { crossplaneCategory, opsGroup } from "./groups.ts";
import { operationStep } from "./step.ts";

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
  "operationTemplate*": object({ metadata: { type: "object" }, "spec*": operationSpec }),
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
    status: object({ ...scheduleStatus, watchingResources: integer }),
  });
}
