// SPDX-License-Identifier: Apache-2.0

import {
  ageColumn,
  ageOfObject,
  at,
  column,
  count,
  integerColumn,
  items,
  labelText,
  nameColumn,
  nameOfObject,
  number,
  selectorText,
  type TableColumn,
  type TablePrinter,
  text,
  wideColumn,
} from "@purlin/kube-apiserver/kinds";
import type { JsonObject, JsonValue } from "@purlin/kube-objects/json";
import { ageOf, humanDuration } from "@purlin/kube-objects/object";
import { eventCells } from "../events/event-rules.ts";
import { podCells, podConditions } from "../pods/pod-cells.ts";
import { serviceCells } from "../services/service-rules.ts";
import { templateGeneration } from "../workloads/workload-rules.ts";
import { clusterPrinters } from "./cluster-columns.ts";
import { policyPrinters } from "./policy-columns.ts";
import { storagePrinters } from "./storage-columns.ts";

const workload = ["Containers", "Images", "Selector"].map(wideColumn);

function containers(podSpec: JsonValue | undefined): [string, string] {
  const list = items(podSpec, "containers");
  return [list.map((one) => text(one, "name")).join(","), list.map((one) => text(one, "image")).join(",")];
}

const templateOf = (object: JsonObject): JsonValue | undefined => at(object, "spec", "template", "spec");
const desired = (object: JsonObject): number => {
  const replicas = at(object, "spec", "replicas");
  return typeof replicas === "number" ? replicas : 0;
};

/** At most three of a list, then how many more there are. */
function firstThree(values: readonly string[]): string {
  if (values.length === 0) return "<unset>";
  const rest = values.length - 3;
  return values.slice(0, 3).join(",") + (rest > 0 ? ` + ${rest} more...` : "");
}

function endpointsText(object: JsonObject): string {
  const all = items(object, "subsets").flatMap((subset) => {
    const addresses = items(subset, "addresses").map((address) => text(address, "ip"));
    const ports = items(subset, "ports").map((port) => number(port, "port"));
    if (ports.length === 0) return addresses;
    return ports.flatMap((port) => addresses.map((ip) => (ip.includes(":") ? `[${ip}]:${port}` : `${ip}:${port}`)));
  });
  if (all.length === 0) return "<none>";
  return all.slice(0, 3).join(",") + (all.length > 3 ? ` + ${all.length - 3} more...` : "");
}

function jobStatus(object: JsonObject): string {
  const conditions = items(object, "status", "conditions").filter((one) => text(one, "status") === "True");
  const has = (type: string): boolean => conditions.some((one) => text(one, "type") === type);
  if (has("Complete")) return "Complete";
  if (has("Failed")) return "Failed";
  if (text(object, "metadata", "deletionTimestamp") !== "") return "Terminating";
  if (has("Suspended")) return "Suspended";
  if (has("FailureTarget")) return "FailureTarget";
  return has("SuccessCriteriaMet") ? "SuccessCriteriaMet" : "Running";
}

function jobCells(object: JsonObject, now: number): JsonValue[] {
  const succeeded = number(object, "status", "succeeded");
  const completions = at(object, "spec", "completions");
  const parallelism = number(object, "spec", "parallelism");
  const goal = typeof completions === "number" ? String(completions) : parallelism > 1 ? `1 of ${parallelism}` : "1";
  const start = text(object, "status", "startTime");
  const end = text(object, "status", "completionTime");
  const until = end === "" ? now : Date.parse(end);
  const duration = start === "" ? "" : humanDuration(until - Date.parse(start));
  const [names, images] = containers(templateOf(object));
  const selector = selectorText(at(object, "spec", "selector"));
  return [
    nameOfObject(object),
    jobStatus(object),
    `${succeeded}/${goal}`,
    duration,
    ageOfObject(object, now),
    names,
    images,
    selector,
  ];
}

function cronJobCells(object: JsonObject, now: number): JsonValue[] {
  const template = at(object, "spec", "jobTemplate", "spec");
  const last = text(object, "status", "lastScheduleTime");
  const [names, images] = containers(at(template, "template", "spec"));
  return [
    nameOfObject(object),
    text(object, "spec", "schedule"),
    text(object, "spec", "timeZone") || "<none>",
    at(object, "spec", "suspend") === true ? "True" : "False",
    count(object, "status", "active"),
    last === "" ? "<none>" : ageOf(last, now),
    ageOfObject(object, now),
    names,
    images,
    selectorText(at(template, "selector")),
  ];
}

type Cells = TablePrinter["cells"];

function printer(columns: readonly TableColumn[], cells: Cells): TablePrinter {
  return { columns, cells };
}

const printers: Readonly<Record<string, TablePrinter>> = {
  ...clusterPrinters,
  ...policyPrinters,
  ...storagePrinters,
  ConfigMap: printer([nameColumn, column("Data"), ageColumn], (object, now) => [
    nameOfObject(object),
    count(object, "data") + count(object, "binaryData"),
    ageOfObject(object, now),
  ]),
  Secret: printer([nameColumn, column("Type"), column("Data"), ageColumn], (object, now) => [
    nameOfObject(object),
    text(object, "type"),
    count(object, "data"),
    ageOfObject(object, now),
  ]),
  Endpoints: printer([nameColumn, column("Endpoints"), ageColumn], (object, now) => [
    nameOfObject(object),
    endpointsText(object),
    ageOfObject(object, now),
  ]),
  Service: printer(
    [
      nameColumn,
      column("Type"),
      column("Cluster-IP"),
      column("External-IP"),
      column("Port(s)"),
      ageColumn,
      wideColumn("Selector"),
    ],
    (object, now) => serviceCells(object, ageOfObject(object, now)),
  ),
  Pod: {
    conditions: podConditions,
    ...printer(
      [
        nameColumn,
        column("Ready"),
        column("Status"),
        column("Restarts"),
        ageColumn,
        ...["IP", "Node", "Nominated Node", "Readiness Gates"].map(wideColumn),
      ],
      podCells,
    ),
  },
  Deployment: printer(
    [nameColumn, column("Ready"), column("Up-to-date"), column("Available"), ageColumn, ...workload],
    (object, now) => [
      nameOfObject(object),
      `${number(object, "status", "readyReplicas")}/${desired(object)}`,
      number(object, "status", "updatedReplicas"),
      number(object, "status", "availableReplicas"),
      ageOfObject(object, now),
      ...containers(templateOf(object)),
      // Of this kind alone none is nothing.
      selectorText(at(object, "spec", "selector")).replace("<none>", ""),
    ],
  ),
  StatefulSet: printer([nameColumn, column("Ready"), ageColumn, ...workload.slice(0, 2)], (object, now) => [
    nameOfObject(object),
    `${number(object, "status", "readyReplicas")}/${desired(object)}`,
    ageOfObject(object, now),
    ...containers(templateOf(object)),
  ]),
  DaemonSet: {
    hiddenAnnotations: [templateGeneration],
    ...printer(
      [
        nameColumn,
        ...["Desired", "Current", "Ready", "Up-to-date", "Available"].map(integerColumn),
        column("Node Selector"),
        ageColumn,
        ...workload,
      ],
      (object, now) => [
        nameOfObject(object),
        ...[
          "desiredNumberScheduled",
          "currentNumberScheduled",
          "numberReady",
          "updatedNumberScheduled",
          "numberAvailable",
        ].map((field) => number(object, "status", field)),
        labelText(at(templateOf(object), "nodeSelector")),
        ageOfObject(object, now),
        ...containers(templateOf(object)),
        selectorText(at(object, "spec", "selector")),
      ],
    ),
  },
  ReplicaSet: printer(
    [nameColumn, ...["Desired", "Current", "Ready"].map(integerColumn), ageColumn, ...workload],
    (object, now) => [
      nameOfObject(object),
      desired(object),
      number(object, "status", "replicas"),
      number(object, "status", "readyReplicas"),
      ageOfObject(object, now),
      ...containers(templateOf(object)),
      selectorText(at(object, "spec", "selector")),
    ],
  ),
  Job: printer(
    [nameColumn, ...["Status", "Completions", "Duration"].map((title) => column(title)), ageColumn, ...workload],
    jobCells,
  ),
  CronJob: printer(
    [
      nameColumn,
      column("Schedule"),
      column("Timezone"),
      column("Suspend", { type: "boolean" }),
      integerColumn("Active"),
      column("Last Schedule"),
      ageColumn,
      ...workload,
    ],
    cronJobCells,
  ),
  Event: printer(
    [
      ...["Last Seen", "Type", "Reason", "Object"].map((title) => column(title)),
      wideColumn("Subobject"),
      wideColumn("Source"),
      column("Message"),
      wideColumn("First Seen"),
      wideColumn("Count"),
      column("Name", { format: "name", priority: 1 }),
    ],
    eventCells,
  ),
  Lease: printer([nameColumn, column("Holder"), ageColumn], (object, now) => [
    nameOfObject(object),
    text(object, "spec", "holderIdentity"),
    ageOfObject(object, now),
  ]),
  ValidatingWebhookConfiguration: printer([nameColumn, integerColumn("Webhooks"), ageColumn], (object, now) => [
    nameOfObject(object),
    count(object, "webhooks"),
    ageOfObject(object, now),
  ]),
  MutatingWebhookConfiguration: printer([nameColumn, integerColumn("Webhooks"), ageColumn], (object, now) => [
    nameOfObject(object),
    count(object, "webhooks"),
    ageOfObject(object, now),
  ]),
  EndpointSlice: printer(
    [nameColumn, column("AddressType"), column("Ports"), column("Endpoints"), ageColumn],
    (object, now) => [
      nameOfObject(object),
      text(object, "addressType"),
      firstThree(
        items(object, "ports").map((port) => (at(port, "port") === undefined ? "*" : String(number(port, "port")))),
      ),
      firstThree(items(object, "endpoints").flatMap((endpoint) => (at(endpoint, "addresses") ?? []) as string[])),
      ageOfObject(object, now),
    ],
  ),
};

/** The printer of a built-in kind. */
export function builtinPrinter(kind: string): TablePrinter | undefined {
  return Object.hasOwn(printers, kind) ? printers[kind] : undefined;
}
