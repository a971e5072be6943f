// SPDX-License-Identifier: Apache-2.0

import { all, type Check, eachItem, inRange, listAt, maybeNamed, oneOf, within } from "@purlin/kube-apiserver/kinds";
import { type FieldError, invalidValue, requiredValue, unsupportedValue } from "@purlin/kube-objects/errors";
import { isJsonObject, type JsonObject, type JsonValue } from "@purlin/kube-objects/json";
import {
  dns1123LabelProblems,
  dns1123SubdomainProblems,
  labelKeyProblems,
  labelValueProblems,
  validateLabels,
} from "@purlin/kube-objects/metadata";
import { memberAt, objectAt, stringAt } from "@purlin/kube-objects/object";
import { addressErrors } from "../checks/address-text.ts";
import { containers } from "./containers.ts";
import { volumes } from "./volumes.ts";

const maxInt = 2 ** 31 - 1;
const dnsPolicies = ["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"];

/** Ports of a Pod on the host's network are the host's. */
const hostNetworkPorts: Check = (spec, path) => {
  if (spec["hostNetwork"] !== true) return [];
  return eachItem(
    "containers",
    eachItem("ports", (port, at) => {
      const [own, host] = [memberAt(port, ["containerPort"]), memberAt(port, ["hostPort"])];
      const why = "must match `containerPort` when `hostNetwork` is true";
      return own === host ? [] : [invalidValue(`${at}.hostPort`, host ?? 0, why)];
    }),
  )(spec, path);
};

const labelled: Check = (spec, path) =>
  validateLabels(objectAt(spec, ["nodeSelector"]) as Record<string, string>, `${path}.nodeSelector`);

const security: Check = (spec, path) => {
  const shared = "ShareProcessNamespace and HostPID cannot both be enabled";
  const isBoth = spec["shareProcessNamespace"] === true && spec["hostPID"] === true;
  return [
    ...within(
      "securityContext",
      all(inRange("fsGroup", 0, maxInt), inRange("runAsUser", 0, maxInt), inRange("runAsGroup", 0, maxInt)),
    )(spec, path),
    ...(isBoth ? [invalidValue(`${path}.securityContext.shareProcessNamespace`, true, shared)] : []),
  ];
};

const dnsConfig: Check = (spec, path) => {
  const config = memberAt(spec, ["dnsConfig"]);
  const at = `${path}.dnsConfig`;
  const servers = listOf(isJsonObject(config) ? config["nameservers"] : undefined);
  const invalid = servers.flatMap((server, index) => addressErrors(server, `${at}.nameservers[${index}]`));
  if (stringAt(spec, ["dnsPolicy"]) !== "None" || servers.length > 0) return invalid;
  return isJsonObject(config)
    ? [requiredValue(`${at}.nameservers`, "must provide at least one DNS nameserver when `dnsPolicy` is None")]
    : [requiredValue(at, "must provide `dnsConfig` when `dnsPolicy` is None")];
};

function listOf(value: JsonValue | undefined): string[] {
  return Array.isArray(value) ? value.map(String) : [];
}

const hostAlias: Check = (alias, path) => [
  ...addressErrors(stringAt(alias, ["ip"]), `${path}.ip`),
  ...listOf(alias["hostnames"]).flatMap((name, index) =>
    dns1123SubdomainProblems(name).map((problem) => invalidValue(`${path}.hostnames[${index}]`, name, problem)),
  ),
];

const spread: Check = (constraint, path) => {
  const skew = memberAt(constraint, ["maxSkew"]);
  const actions = ["DoNotSchedule", "ScheduleAnyway"];
  const action = stringAt(constraint, ["whenUnsatisfiable"]);
  return [
    ...(typeof skew === "number" && skew > 0
      ? []
      : [invalidValue(`${path}.maxSkew`, skew ?? 0, "must be greater than zero")]),
    ...(stringAt(constraint, ["topologyKey"]) === "" ? [requiredValue(`${path}.topologyKey`, "can not be empty")] : []),
    ...(actions.includes(action) ? [] : [unsupportedValue(`${path}.whenUnsatisfiable`, action, actions)]),
  ];
};

/** The errors of a toleration. */
export function tolerationErrors(toleration: JsonObject, path: string): FieldError[] {
  const [key, operator, value] = [
    stringAt(toleration, ["key"]),
    stringAt(toleration, ["operator"]),
    stringAt(toleration, ["value"]),
  ];
  const everything = 'operator must be Exists when `key` is empty, which means "match all values and all keys"';
  const hasSeconds = typeof memberAt(toleration, ["tolerationSeconds"]) === "number";
  const effect = stringAt(toleration, ["effect"]);
  const executes = "effect must be 'NoExecute' when `tolerationSeconds` is set";
  return [
    ...maybeNamed("key", labelKeyProblems)(toleration, path),
    ...(key === "" && operator !== "Exists" ? [invalidValue(`${path}.operator`, operator, everything)] : []),
    ...(hasSeconds && effect !== "NoExecute" ? [invalidValue(`${path}.effect`, effect, executes)] : []),
    ...operatorErrors(operator, value, `${path}.operator`),
    ...oneOf("effect", ["NoSchedule", "PreferNoSchedule", "NoExecute"])(toleration, path),
  ];
}

function operatorErrors(operator: string, value: string, path: string): FieldError[] {
  switch (operator) {
    case "":
    case "Equal": {
      const problems = labelValueProblems(value);
      return problems.length === 0 ? [] : [invalidValue(path, value, problems.join(";"))];
    }
    case "Exists":
      return value === "" ? [] : [invalidValue(path, value, "value must be empty when `operator` is 'Exists'")];
    default: {
      const isKnown = operator === "Lt" || operator === "Gt";
      return [unsupportedValue(path, operator, ["Equal", "Exists", ...(isKnown ? ["Lt", "Gt"] : [])])];
    }
  }
}

const os: Check = (spec, path) => {
  const name = stringAt(spec, ["os", "name"]);
  const isKnown = !isJsonObject(memberAt(spec, ["os"])) || ["linux", "windows"].includes(name);
  return isKnown ? [] : [unsupportedValue(`${path}.os`, name, ["linux", "windows"])];
};

const selectorTerms: Check = (spec, path) => {
  const at = ["affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution"];
  const isAsked = isJsonObject(memberAt(spec, at));
  const why = "must have at least one node selector term";
  return isAsked && listAt(spec, ...at, "nodeSelectorTerms").length === 0
    ? [requiredValue(`${path}.${at.join(".")}.nodeSelectorTerms`, why)]
    : [];
};

/** What is wrong with a Pod's spec, wherever it stands; in the order in which the reference says it. */
export const podSpec: Check = all(
  volumes,
  containers,
  hostNetworkPorts,
  oneOf("restartPolicy", ["Always", "OnFailure", "Never"]),
  oneOf("dnsPolicy", dnsPolicies),
  labelled,
  security,
  selectorTerms,
  dnsConfig,
  eachItem("readinessGates", maybeNamed("conditionType", labelKeyProblems)),
  eachItem("topologySpreadConstraints", spread),
  maybeNamed("serviceAccountName", dns1123SubdomainProblems),
  maybeNamed("nodeName", dns1123SubdomainProblems),
  inRange("activeDeadlineSeconds", 1, maxInt),
  maybeNamed("hostname", dns1123LabelProblems),
  maybeNamed("subdomain", dns1123LabelProblems),
  eachItem("tolerations", tolerationErrors),
  eachItem("hostAliases", hostAlias),
  maybeNamed("priorityClassName", dns1123SubdomainProblems),
  oneOf("preemptionPolicy", ["PreemptLowerPriority", "Never"]),
  os,
);
