// SPDX-License-Identifier: Apache-2.0
import {
  ageColumn,
  ageOfObject,
  at,
  column,
  count,
  integerColumn,
  items,
  nameColumn,
  nameOfObject,
  number,
  selectorText,
  type TablePrinter,
  text,
} from "@purlin/kube-apiserver/kinds";
import { isJsonArray, type JsonObject, type JsonValue } from "@purlin/kube-objects/json";

const unknown = "<unknown>";
const shownMetrics = 2;

/** The metrics of a HorizontalPodAutoscaler as `current/target`: the first two, and how many more there are. */
function targetsText(specs: readonly JsonObject[], statuses: readonly JsonObject[]): string {
  if (specs.length === 0) return "<none>";
  const all = specs.map((spec, index) => metricText(spec, statuses[index]));
  const rest = all.length - shownMetrics;
  return all.slice(0, shownMetrics).join(", ") + (rest > 0 ? ` + ${rest} more...` : "");
}

function metricText(spec: JsonObject, status: JsonObject | undefined): string {
  switch (text(spec, "type")) {
    case "External":
      return valueText(at(spec, "external", "target"), at(status, "external", "current"));
    case "Object":
      return valueText(at(spec, "object", "target"), at(status, "object", "current"));
    case "Pods": {
      const current = at(status, "pods", "current");
      return `${quantity(at(current, "averageValue"))}/${text(spec, "pods", "target", "averageValue") || "0"}`;
    }
    case "Resource":
      return resourceText(at(spec, "resource"), at(status, "resource", "current"));
    case "ContainerResource":
      return resourceText(at(spec, "containerResource"), at(status, "containerResource", "current"));
    default:
      return "<unknown type>";
  }
}

const quantity = (value: JsonValue | undefined): string => (typeof value === "string" ? value : unknown);

function valueText(target: JsonValue | undefined, current: JsonValue | undefined): string {
  const average = at(target, "averageValue");
  if (average !== undefined) return `${quantity(at(current, "averageValue"))}/${String(average)} (avg)`;
  return `${quantity(at(current, "value"))}/${text(target, "value") || "0"}`;
}

function resourceText(metric: JsonValue | undefined, current: JsonValue | undefined): string {
  const name = text(metric, "name");
  const average = at(metric, "target", "averageValue");
  if (average !== undefined) return `${name}: ${quantity(at(current, "averageValue"))}/${String(average)}`;
  const percent = (value: JsonValue | undefined, absent: string): string =>
    typeof value === "number" ? `${value}%` : absent;
  const target = percent(at(metric, "target", "averageUtilization"), "<auto>");
  return `${name}: ${percent(at(current, "averageUtilization"), unknown)}/${target}`;
}

const texts = (...titles: readonly string[]) => titles.map((title) => column(title));

function hostsText(object: JsonObject): string {
  const rules = items(object, "spec", "rules");
  const hosts: string[] = [];
  let isCut = false;
  for (const rule of rules) {
    if (hosts.length === 3) isCut = true;
    const host = text(rule, "host");
    if (!isCut && host !== "") hosts.push(host);
  }
  if (hosts.length === 0) return "*";
  return hosts.join(",") + (isCut ? ` + ${rules.length - 3} more...` : "");
}

function addressText(object: JsonObject): string {
  const all = items(object, "status", "loadBalancer", "ingress")
    .map((one) => text(one, "ip") || text(one, "hostname"))
    .filter((address) => address !== "");
  return [...new Set(all)].sort().join(",");
}

function classParameters(object: JsonObject): string {
  const parameters = at(object, "spec", "parameters");
  if (parameters === undefined) return "<none>";
  const group = at(parameters, "apiGroup");
  return `${text(parameters, "kind")}${group === undefined ? "" : `.${group}`}/${text(parameters, "name")}`;
}

function parentText(object: JsonObject): string {
  const parent = at(object, "spec", "parentRef");
  if (parent === undefined) return "<none>";
  const group = text(parent, "group");
  const resource = `${text(parent, "resource")}${group === "" ? "" : `.${group}`}`.toLowerCase();
  const namespace = text(parent, "namespace");
  return [resource, ...(namespace === "" ? [] : [namespace]), text(parent, "name")].join("/");
}

const notAvailable = (value: JsonValue | undefined): string => (value === undefined ? "N/A" : String(value));

function autoscalerCells(object: JsonObject, now: number): JsonValue[] {
  const least = at(object, "spec", "minReplicas");
  return [
    nameOfObject(object),
    `${text(object, "spec", "scaleTargetRef", "kind")}/${text(object, "spec", "scaleTargetRef", "name")}`,
    targetsText(items(object, "spec", "metrics"), items(object, "status", "currentMetrics")),
    least === undefined ? "<unset>" : String(least),
    number(object, "spec", "maxReplicas"),
    number(object, "status", "currentReplicas"),
    ageOfObject(object, now),
  ];
}

/** The printer of an admission policy, which counts the items of one member of the spec. */
function policyPrinter(title: string, member: string): TablePrinter {
  return {
    columns: [nameColumn, integerColumn(title), column("ParamKind"), ageColumn],
    cells: (object, now) => {
      const kind = at(object, "spec", "paramKind");
      const shown = kind === undefined ? "<unset>" : `${text(kind, "apiVersion")}/${text(kind, "kind")}`;
      return [nameOfObject(object), count(object, "spec", member), shown, ageOfObject(object, now)];
    },
  };
}

function paramText(reference: JsonValue | undefined): string {
  const name = text(reference, "name");
  if (name !== "") return `${text(reference, "namespace") || "*"}/${name}`;
  const selector = at(reference, "selector");
  return selector === undefined ? "<unset>" : selectorText(selector);
}

const bindingPrinter: TablePrinter = {
  columns: [nameColumn, ...texts("PolicyName", "ParamRef"), ageColumn],
  cells: (object, now) => [
    nameOfObject(object),
    text(object, "spec", "policyName"),
    paramText(at(object, "spec", "paramRef")),
    ageOfObject(object, now),
  ],
};

/** The printers of kinds that say how others are reached, scaled, disrupted or admitted. */
export const policyPrinters: Readonly<Record<string, TablePrinter>> = {
  Ingress: {
    columns: [nameColumn, ...texts("Class", "Hosts", "Address", "Ports"), ageColumn],
    cells: (object, now) => [
      nameOfObject(object),
      String(at(object, "spec", "ingressClassName") ?? "<none>"),
      hostsText(object),
      addressText(object),
      items(object, "spec", "tls").length > 0 ? "80, 443" : "80",
      ageOfObject(object, now),
    ],
  },
  IngressClass: {
    columns: [nameColumn, ...texts("Controller", "Parameters"), ageColumn],
    cells: (object, now) => {
      const isDefault = at(object, "metadata", "annotations", "ingressclass.kubernetes.io/is-default-class") === "true";
      return [
        nameOfObject(object) + (isDefault ? " (default)" : ""),
        text(object, "spec", "controller"),
        classParameters(object),
        ageOfObject(object, now),
      ];
    },
  },
  NetworkPolicy: {
    columns: [nameColumn, column("Pod-Selector"), ageColumn],
    cells: (object, now) => [
      nameOfObject(object),
      selectorText(at(object, "spec", "podSelector")),
      ageOfObject(object, now),
    ],
  },
  // Rows of this kind alone have one cell more than there are columns.
  IPAddress: {
    columns: [nameColumn, column("ParentRef")],
    cells: (object, now) => [nameOfObject(object), parentText(object), ageOfObject(object, now)],
  },
  ServiceCIDR: {
    columns: [nameColumn, column("CIDRs"), ageColumn],
    cells: (object, now) => {
      const ranges = at(object, "spec", "cidrs");
      return [nameOfObject(object), isJsonArray(ranges) ? ranges.join(",") : "", ageOfObject(object, now)];
    },
  },
  PodDisruptionBudget: {
    columns: [
      nameColumn,
      ...texts("Min Available", "Max Unavailable"),
      integerColumn("Allowed Disruptions"),
      ageColumn,
    ],
    cells: (object, now) => [
      nameOfObject(object),
      notAvailable(at(object, "spec", "minAvailable")),
      notAvailable(at(object, "spec", "maxUnavailable")),
      number(object, "status", "disruptionsAllowed"),
      ageOfObject(object, now),
    ],
  },
  HorizontalPodAutoscaler: {
    columns: [nameColumn, ...texts("Reference", "Targets", "MinPods", "MaxPods", "Replicas"), ageColumn],
    cells: autoscalerCells,
  },
  ValidatingAdmissionPolicy: policyPrinter("Validations", "validations"),
  MutatingAdmissionPolicy: policyPrinter("Mutations", "mutations"),
  ValidatingAdmissionPolicyBinding: bindingPrinter,
  MutatingAdmissionPolicyBinding: bindingPrinter,
};
