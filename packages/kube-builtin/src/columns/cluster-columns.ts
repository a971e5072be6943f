// SPDX-License-Identifier: Apache-2.0
import {
  ageColumn,
  ageOfObject,
  at,
  column,
  integerColumn,
  items,
  labelText,
  nameColumn,
  nameOfObject,
  number,
  type TablePrinter,
  text,
  wideColumn,
} from "@purlin/kube-apiserver/kinds";
import { isJsonObject, type JsonObject, type JsonValue, sortedKeys } from "@purlin/kube-objects/json";
import { humanDuration } from "@purlin/kube-objects/object";

const texts = (...titles: readonly string[]) => titles.map((title) => column(title));

function nodeStatus(object: JsonObject): string {
  const ready = items(object, "status", "conditions").find((one) => text(one, "type") === "Ready");
  const status = ready === undefined ? "Unknown" : text(ready, "status") === "True" ? "Ready" : "NotReady";
  return at(object, "spec", "unschedulable") === true ? `${status},SchedulingDisabled` : status;
}

const rolePrefix = "node-role.kubernetes.io/";

function nodeRoles(object: JsonObject): string {
  const labels = at(object, "metadata", "labels");
  const roles = isJsonObject(labels)
    ? Object.entries(labels).flatMap(([key, value]) => {
        if (key.startsWith(rolePrefix)) return key === rolePrefix ? [] : [key.slice(rolePrefix.length)];
        return key === "kubernetes.io/role" && typeof value === "string" && value !== "" ? [value] : [];
      })
    : [];
  return [...new Set(roles)].sort().join(",") || "<none>";
}

function nodeCells(object: JsonObject, now: number): JsonValue[] {
  const info = at(object, "status", "nodeInfo");
  const address = (type: string): string =>
    text(
      items(object, "status", "addresses").find((one) => text(one, "type") === type),
      "address",
    ) || "<none>";
  const architecture = text(info, "architecture");
  const kernel = text(info, "kernelVersion") || "<unknown>";
  return [
    nameOfObject(object),
    nodeStatus(object),
    nodeRoles(object),
    ageOfObject(object, now),
    text(info, "kubeletVersion"),
    address("InternalIP"),
    address("ExternalIP"),
    text(info, "osImage") || "<unknown>",
    architecture === "" ? kernel : `${kernel} (${architecture})`,
    text(info, "containerRuntimeVersion") || "<unknown>",
  ];
}

function quotaCells(object: JsonObject, now: number): JsonValue[] {
  const hard = at(object, "status", "hard");
  const names = isJsonObject(hard) ? sortedKeys(hard) : [];
  const entry = (name: string): string =>
    `${name}: ${text(object, "status", "used", name) || "0"}/${text(hard, name) || "0"}`;
  const isLimit = (name: string): boolean => name.startsWith("limits.");
  return [
    nameOfObject(object),
    names
      .filter((name) => !isLimit(name))
      .map(entry)
      .join(", "),
    names.filter(isLimit).map(entry).join(", "),
    ageOfObject(object, now),
  ];
}

function containerCells(podSpec: JsonValue | undefined): [string, string] {
  const list = items(podSpec, "containers");
  return [list.map((one) => text(one, "name")).join(","), list.map((one) => text(one, "image")).join(",")];
}

function controllerText(object: JsonObject): string {
  const owner = items(object, "metadata", "ownerReferences").find((one) => at(one, "controller") === true);
  if (owner === undefined) return "<none>";
  const [group = ""] = text(owner, "apiVersion").includes("/") ? text(owner, "apiVersion").split("/") : [];
  const kind = text(owner, "kind").toLowerCase();
  return `${kind}${group === "" ? "" : `.${group}`}/${text(owner, "name")}`;
}

function requestStatus(object: JsonObject): string {
  const types = items(object, "status", "conditions").map((one) => text(one, "type"));
  const decision = types.includes("Denied") ? "Denied" : types.includes("Approved") ? "Approved" : "Pending";
  const failed = types.includes("Failed") ? ",Failed" : "";
  return decision + failed + (text(object, "status", "certificate") === "" ? "" : ",Issued");
}

function requestCells(object: JsonObject, now: number): JsonValue[] {
  const seconds = at(object, "spec", "expirationSeconds");
  return [
    nameOfObject(object),
    ageOfObject(object, now),
    text(object, "spec", "signerName") || "<none>",
    text(object, "spec", "username"),
    typeof seconds === "number" ? humanDuration(seconds * 1000) : "<none>",
    requestStatus(object),
  ];
}

const none = (value: JsonValue | undefined): JsonValue => value ?? "<none>";

function levelCells(object: JsonObject, now: number): JsonValue[] {
  const limited = at(object, "spec", "limited");
  const queuing = at(limited, "limitResponse", "queuing");
  return [
    nameOfObject(object),
    text(object, "spec", "type"),
    none(at(limited, "nominalConcurrencyShares")),
    none(at(queuing, "queues")),
    none(at(queuing, "handSize")),
    none(at(queuing, "queueLengthLimit")),
    ageOfObject(object, now),
  ];
}

function flowCells(object: JsonObject, now: number): JsonValue[] {
  const dangling = items(object, "status", "conditions").find((one) => text(one, "type") === "Dangling");
  return [
    nameOfObject(object),
    text(object, "spec", "priorityLevelConfiguration", "name"),
    number(object, "spec", "matchingPrecedence"),
    text(object, "spec", "distinguisherMethod", "type") || "<none>",
    ageOfObject(object, now),
    dangling === undefined ? "?" : text(dangling, "status"),
  ];
}

/** What has happened to a claim of a device. */
function claimState(object: JsonObject): string {
  const isDeleted = at(object, "metadata", "deletionTimestamp") !== undefined;
  const isAllocated = at(object, "status", "allocation") !== undefined;
  const isReserved = isAllocated && items(object, "status", "reservedFor").length > 0;
  return [
    ...(isDeleted ? ["deleted"] : []),
    ...(isAllocated ? ["allocated"] : isDeleted ? [] : ["pending"]),
    ...(isReserved ? ["reserved"] : []),
  ].join(",");
}

const namedPrinter: TablePrinter = {
  columns: [nameColumn, ageColumn],
  cells: (object, now) => [nameOfObject(object), ageOfObject(object, now)],
};

/** The printers of nodes, quotas and other kinds of the cluster itself. */
export const clusterPrinters: Readonly<Record<string, TablePrinter>> = {
  Node: {
    columns: [
      nameColumn,
      ...texts("Status", "Roles"),
      ageColumn,
      column("Version"),
      ...["Internal-IP", "External-IP", "OS-Image", "Kernel-Version", "Container-Runtime"].map(wideColumn),
    ],
    cells: nodeCells,
  },
  ResourceQuota: { columns: [nameColumn, ...texts("Request", "Limit"), ageColumn], cells: quotaCells },
  PodTemplate: {
    columns: [nameColumn, ...texts("Containers", "Images", "Pod Labels")],
    cells: (object) => [
      nameOfObject(object),
      ...containerCells(at(object, "template", "spec")),
      labelText(at(object, "template", "metadata", "labels")),
    ],
  },
  ReplicationController: {
    columns: [
      nameColumn,
      ...["Desired", "Current", "Ready"].map(integerColumn),
      ageColumn,
      ...["Containers", "Images", "Selector"].map(wideColumn),
    ],
    cells: (object, now) => [
      nameOfObject(object),
      number(object, "spec", "replicas"),
      number(object, "status", "replicas"),
      number(object, "status", "readyReplicas"),
      ageOfObject(object, now),
      ...containerCells(at(object, "spec", "template", "spec")),
      labelText(at(object, "spec", "selector")),
    ],
  },
  ControllerRevision: {
    columns: [nameColumn, ...texts("Controller", "Revision"), ageColumn],
    cells: (object, now) => [
      nameOfObject(object),
      controllerText(object),
      at(object, "revision") ?? 0,
      ageOfObject(object, now),
    ],
  },
  ComponentStatus: {
    columns: [nameColumn, ...texts("Status", "Message", "Error")],
    cells: (object) => {
      const healthy = items(object, "conditions").find((one) => text(one, "type") === "Healthy");
      const status = healthy === undefined ? "Unknown" : text(healthy, "status") === "True" ? "Healthy" : "Unhealthy";
      return [nameOfObject(object), status, text(healthy, "message"), text(healthy, "error")];
    },
  },
  CertificateSigningRequest: {
    columns: [nameColumn, ageColumn, ...texts("SignerName", "Requestor", "RequestedDuration", "Condition")],
    cells: requestCells,
  },
  PriorityClass: {
    columns: [
      nameColumn,
      integerColumn("Value"),
      column("Global-Default", { type: "boolean" }),
      ageColumn,
      column("PreemptionPolicy"),
    ],
    cells: (object, now) => [
      nameOfObject(object),
      number(object, "value"),
      at(object, "globalDefault") === true,
      ageOfObject(object, now),
      text(object, "preemptionPolicy"),
    ],
  },
  RuntimeClass: {
    columns: [nameColumn, column("Handler"), ageColumn],
    cells: (object, now) => [nameOfObject(object), text(object, "handler"), ageOfObject(object, now)],
  },
  FlowSchema: {
    columns: [
      nameColumn,
      ...texts("PriorityLevel", "MatchingPrecedence", "DistinguisherMethod"),
      ageColumn,
      column("MissingPL"),
    ],
    cells: flowCells,
  },
  PriorityLevelConfiguration: {
    columns: [
      nameColumn,
      ...texts("Type", "NominalConcurrencyShares", "Queues", "HandSize", "QueueLengthLimit"),
      ageColumn,
    ],
    cells: levelCells,
  },
  DeviceClass: namedPrinter,
  ResourceClaimTemplate: namedPrinter,
  ResourceClaim: {
    columns: [nameColumn, column("State"), ageColumn],
    cells: (object, now) => [nameOfObject(object), claimState(object), ageOfObject(object, now)],
  },
  ResourceSlice: {
    columns: [nameColumn, ...texts("Node", "Driver", "Pool"), ageColumn],
    cells: (object, now) => [
      nameOfObject(object),
      text(object, "spec", "nodeName"),
      text(object, "spec", "driver"),
      text(object, "spec", "pool", "name"),
      ageOfObject(object, now),
    ],
  },
};
