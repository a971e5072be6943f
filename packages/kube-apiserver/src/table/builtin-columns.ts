// SPDX-License-Identifier: Apache-2.0

import type { JsonObject, JsonValue } from "@purlin/kube-objects/json";
import { ageOf, humanDuration } from "@purlin/kube-objects/object";
import { TEMPLATE_GENERATION } from "../builtin/daemon-set-rules.ts";
import { at, count, items, labelText, number, selectorText, text } from "./cell-values.ts";
import { eventCells } from "./event-cells.ts";
import { podCells, podConditions } from "./pod-cells.ts";
import { serviceCells } from "./service-cells.ts";
import { column, type TableColumn, type TablePrinter } from "./table.ts";

const name = column("Name", { format: "name" });
const age = column("Age");
const wide = (title: string): TableColumn => column(title, { priority: 1 });
const integer = (title: string): TableColumn => column(title, { type: "integer" });
const workload = [wide("Containers"), wide("Images"), wide("Selector")];

const nameOf = (object: JsonObject): string => text(object, "metadata", "name");
const age1 = (object: JsonObject, now: number): string => ageOf(at(object, "metadata", "creationTimestamp"), now);

function containers(podSpec: JsonValue | undefined): [string, string] {
  const list = items(podSpec, "containers");
  return [list.map((one) => text(one, "name")).join(","), list.map((one) => text(one, "image")).join(",")];
}

const templateOf = (object: JsonObject): JsonValue | undefined => at(object, "spec", "template", "spec");
const desired = (object: JsonObject): number => {
  const replicas = at(object, "spec", "replicas");
  return typeof replicas === "number" ? replicas : 0;
};

function bindingCells(object: JsonObject, now: number): JsonValue[] {
  const subjects = items(object, "subjects");
  const of = (kind: string): JsonObject[] => subjects.filter((one) => text(one, "kind") === kind);
  const accounts = of("ServiceAccount").map((one) => `${text(one, "namespace")}/${text(one, "name")}`);
  return [
    nameOf(object),
    `${text(object, "roleRef", "kind")}/${text(object, "roleRef", "name")}`,
    age1(object, now),
    of("User")
      .map((one) => text(one, "name"))
      .join(", "),
    of("Group")
      .map((one) => text(one, "name"))
      .join(", "),
    accounts.join(", "),
  ];
}

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
    nameOf(object),
    jobStatus(object),
    `${succeeded}/${goal}`,
    duration,
    age1(object, now),
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
    nameOf(object),
    text(object, "spec", "schedule"),
    text(object, "spec", "timeZone") || "<none>",
    at(object, "spec", "suspend") === true ? "True" : "False",
    count(object, "status", "active"),
    last === "" ? "<none>" : ageOf(last, now),
    age1(object, now),
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
  ConfigMap: printer([name, column("Data"), age], (object, now) => [
    nameOf(object),
    count(object, "data") + count(object, "binaryData"),
    age1(object, now),
  ]),
  Secret: printer([name, column("Type"), column("Data"), age], (object, now) => [
    nameOf(object),
    text(object, "type"),
    count(object, "data"),
    age1(object, now),
  ]),
  Namespace: printer([name, column("Status"), age], (object, now) => [
    nameOf(object),
    text(object, "status", "phase"),
    age1(object, now),
  ]),
  ServiceAccount: printer([name, age], (object, now) => [nameOf(object), age1(object, now)]),
  Endpoints: printer([name, column("Endpoints"), age], (object, now) => [
    nameOf(object),
    endpointsText(object),
    age1(object, now),
  ]),
  Service: printer(
    [name, column("Type"), column("Cluster-IP"), column("External-IP"), column("Port(s)"), age, wide("Selector")],
    (object, now) => serviceCells(object, age1(object, now)),
  ),
  Pod: printer(
    [
      name,
      column("Ready"),
      column("Status"),
      column("Restarts"),
      age,
      ...["IP", "Node", "Nominated Node", "Readiness Gates"].map(wide),
    ],
    (object, now) => podCells(object, now),
  ),
  Deployment: printer(
    [name, column("Ready"), column("Up-to-date"), column("Available"), age, ...workload],
    (object, now) => [
      nameOf(object),
      `${number(object, "status", "readyReplicas")}/${desired(object)}`,
      number(object, "status", "updatedReplicas"),
      number(object, "status", "availableReplicas"),
      age1(object, now),
      ...containers(templateOf(object)),
      // Of this kind alone none is nothing.
      selectorText(at(object, "spec", "selector")).replace("<none>", ""),
    ],
  ),
  StatefulSet: printer([name, column("Ready"), age, ...workload.slice(0, 2)], (object, now) => [
    nameOf(object),
    `${number(object, "status", "readyReplicas")}/${desired(object)}`,
    age1(object, now),
    ...containers(templateOf(object)),
  ]),
  DaemonSet: printer(
    [
      name,
      ...["Desired", "Current", "Ready", "Up-to-date", "Available"].map(integer),
      column("Node Selector"),
      age,
      ...workload,
    ],
    (object, now) => [
      nameOf(object),
      ...[
        "desiredNumberScheduled",
        "currentNumberScheduled",
        "numberReady",
        "updatedNumberScheduled",
        "numberAvailable",
      ].map((field) => number(object, "status", field)),
      labelText(at(templateOf(object), "nodeSelector")),
      age1(object, now),
      ...containers(templateOf(object)),
      selectorText(at(object, "spec", "selector")),
    ],
  ),
  ReplicaSet: printer([name, ...["Desired", "Current", "Ready"].map(integer), age, ...workload], (object, now) => [
    nameOf(object),
    desired(object),
    number(object, "status", "replicas"),
    number(object, "status", "readyReplicas"),
    age1(object, now),
    ...containers(templateOf(object)),
    selectorText(at(object, "spec", "selector")),
  ]),
  Job: printer(
    [name, ...["Status", "Completions", "Duration"].map((title) => column(title)), age, ...workload],
    jobCells,
  ),
  CronJob: printer(
    [
      name,
      column("Schedule"),
      column("Timezone"),
      column("Suspend", { type: "boolean" }),
      integer("Active"),
      column("Last Schedule"),
      age,
      ...workload,
    ],
    cronJobCells,
  ),
  Event: printer(
    [
      ...["Last Seen", "Type", "Reason", "Object"].map((title) => column(title)),
      wide("Subobject"),
      wide("Source"),
      column("Message"),
      wide("First Seen"),
      wide("Count"),
      column("Name", { format: "name", priority: 1 }),
    ],
    eventCells,
  ),
  Scale: printer([column("Name"), integer("Desired"), integer("Available"), age], (object, now) => [
    nameOf(object),
    desired(object),
    number(object, "status", "replicas"),
    age1(object, now),
  ]),
  APIService: printer([name, column("Service"), column("Available"), age], (object, now) => [
    nameOf(object),
    // No other server is asked on this one's behalf.
    "Local",
    text(items(object, "status", "conditions").find((one) => text(one, "type") === "Available") ?? {}, "status"),
    age1(object, now),
  ]),
  Lease: printer([name, column("Holder"), age], (object, now) => [
    nameOf(object),
    text(object, "spec", "holderIdentity"),
    age1(object, now),
  ]),
  RoleBinding: printer([name, column("Role"), age, ...["Users", "Groups", "ServiceAccounts"].map(wide)], bindingCells),
  ClusterRoleBinding: printer(
    [name, column("Role"), age, ...["Users", "Groups", "ServiceAccounts"].map(wide)],
    bindingCells,
  ),
  ValidatingWebhookConfiguration: printer([name, integer("Webhooks"), age], (object, now) => [
    nameOf(object),
    count(object, "webhooks"),
    age1(object, now),
  ]),
  MutatingWebhookConfiguration: printer([name, integer("Webhooks"), age], (object, now) => [
    nameOf(object),
    count(object, "webhooks"),
    age1(object, now),
  ]),
  EndpointSlice: printer([name, column("AddressType"), column("Ports"), column("Endpoints"), age], (object, now) => [
    nameOf(object),
    text(object, "addressType"),
    firstThree(
      items(object, "ports").map((port) => (at(port, "port") === undefined ? "*" : String(number(port, "port")))),
    ),
    firstThree(items(object, "endpoints").flatMap((endpoint) => (at(endpoint, "addresses") ?? []) as string[])),
    age1(object, now),
  ]),
};

/** Everything without columns of its own: the name and when it was made. */
const otherKinds: TablePrinter = printer([name, column("Created At", { type: "date" })], (object) => [
  nameOf(object),
  text(object, "metadata", "creationTimestamp"),
]);

/** The printer of a built-in kind. */
export function builtinPrinter(kind: string): TablePrinter {
  const printer = Object.hasOwn(printers, kind) ? (printers[kind] ?? otherKinds) : otherKinds;
  if (kind === "Pod") return { ...printer, conditions: podConditions };
  return kind === "DaemonSet" ? { ...printer, hiddenAnnotations: [TEMPLATE_GENERATION] } : printer;
}
