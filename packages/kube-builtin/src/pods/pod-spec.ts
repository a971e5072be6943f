// SPDX-License-Identifier: Apache-2.0

import type { Work } from "@purlin/base";
import { type Check, eachItem, inRange, listAt, maybeNamed, oneOf } from "@purlin/kube-apiserver/kinds";
import {
  type FieldError,
  firstErrors,
  firstErrorsByName,
  forbiddenValue,
  invalidValue,
  notFoundValue,
  requiredValue,
  tooLong,
  tooMany,
} from "@purlin/kube-objects/errors";
import { isJsonObject, type JsonObject, type JsonValue, utf8Length } from "@purlin/kube-objects/json";
import {
  dns1123LabelProblems,
  dns1123SubdomainProblems,
  labelKeyProblems,
  subdomainWithUnderscoreProblems,
  validateLabels,
} from "@purlin/kube-objects/metadata";
import { memberAt, objectAt, stringAt, textsAt } from "@purlin/kube-objects/object";
import { compareQuantities } from "@purlin/kube-objects/typed";
import { addressErrors } from "../checks/addresses.ts";
import { amountsAt, containerAmounts, isHugePages, podResourceErrors } from "../checks/resource-names.ts";
import { hasObject } from "../checks/rule-checks.ts";
import { claimNames, resources } from "./container-resources.ts";
import { checkingContainers, overheadErrors } from "./containers.ts";
import { affinity, resourceClaims, schedulingGates, tolerationErrors, topologySpread } from "./scheduling.ts";
import { eachContainer, hostProcesses, operatingSystem, ownUsers, podSecurity } from "./security.ts";
import { volumesOf } from "./volumes.ts";

const maxInt = 2 ** 31 - 1;
const dnsPolicies = ["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"];

/** Ports of a Pod on the host's network are the host's. A template may leave them out. */
function hostNetworkPorts(isPod: boolean): Check {
  return (spec, path) => {
    if (spec["hostNetwork"] !== true) return [];
    return eachItem(
      "containers",
      eachItem("ports", (port, at) => {
        const [own, host] = [memberAt(port, ["containerPort"]) ?? 0, memberAt(port, ["hostPort"]) ?? 0];
        const why = "must match `containerPort` when `hostNetwork` is true";
        return own === host || (!isPod && host === 0) ? [] : [invalidValue(`${at}.hostPort`, host, why)];
      }),
    )(spec, path);
  };
}

const labelled: Check = (spec, path) =>
  validateLabels(objectAt(spec, ["nodeSelector"]) as Record<string, string>, `${path}.nodeSelector`);

const maxServers = 3;
const maxSearches = 32;
const maxSearchBytes = 2048;

const dnsConfig: Check = (spec, path) => {
  const config = memberAt(spec, ["dnsConfig"]);
  const at = `${path}.dnsConfig`;
  const servers = textsAt(spec, ["dnsConfig", "nameservers"]);
  if (stringAt(spec, ["dnsPolicy"]) === "None") {
    if (!isJsonObject(config)) return [requiredValue(at, "must provide `dnsConfig` when `dnsPolicy` is None")];
    const missing = "must provide at least one DNS nameserver when `dnsPolicy` is None";
    if (servers.length === 0) return [requiredValue(`${at}.nameservers`, missing)];
  }
  if (!isJsonObject(config)) return [];
  const many = `must not have more than ${maxServers} nameservers`;
  return [
    ...(servers.length > maxServers ? [invalidValue(`${at}.nameservers`, servers, many)] : []),
    ...firstErrors(servers, (server, index) => addressErrors(server, `${at}.nameservers[${index}]`)),
    ...searches(textsAt(config, ["searches"]), `${at}.searches`),
    ...eachItem("options", (option, place) =>
      stringAt(option, ["name"]) === "" ? [requiredValue(place, "must not be empty")] : [],
    )(config, at),
  ];
};

function searches(list: readonly string[], path: string): FieldError[] {
  const characters = `must not have more than ${maxSearchBytes} characters (including spaces) in the search list`;
  const isLong = utf8Length(list.join(" ")) > maxSearchBytes;
  return [
    ...(list.length > maxSearches
      ? [invalidValue(path, [...list], `must not have more than ${maxSearches} search paths`)]
      : []),
    ...(isLong ? [invalidValue(path, [...list], characters)] : []),
    ...firstErrors(list, (search, index) => {
      const domain = search === "." ? "a" : search.replace(/\.$/, "");
      return subdomainWithUnderscoreProblems(domain).map((text) => invalidValue(`${path}[${index}]`, domain, text));
    }),
  ];
}

function listOf(value: JsonValue | undefined): string[] {
  return Array.isArray(value) ? value.map(String) : [];
}

const hostAlias: Check = (alias, path) => [
  ...addressErrors(stringAt(alias, ["ip"]), `${path}.ip`),
  ...firstErrors(listOf(alias["hostnames"]), (name, index) =>
    dns1123SubdomainProblems(name).map((problem) => invalidValue(`${path}.hostnames[${index}]`, name, problem)),
  ),
];

/** A text that follows a rule where it is set, even to the empty text. */
function whereSet(name: string, rule: (text: string) => readonly string[]): Check {
  return (object, path) => {
    const text = memberAt(object, [name]);
    return typeof text === "string" ? rule(text).map((problem) => invalidValue(`${path}.${name}`, text, problem)) : [];
  };
}

const maxHostname = 64;

const hostnameOverride: Check = (spec, path) => {
  const name = memberAt(spec, ["hostnameOverride"]);
  const at = `${path}.hostnameOverride`;
  if (typeof name !== "string") return [];
  return [
    ...(spec["setHostnameAsFQDN"] === true
      ? [forbiddenValue(at, "may not be specified when setHostnameAsFQDN is true")]
      : []),
    ...(spec["hostNetwork"] === true ? [forbiddenValue(at, "may not be specified when hostNetwork is true")] : []),
    ...(utf8Length(name) > maxHostname ? [tooLong(at, maxHostname)] : []),
    ...whereSet("hostnameOverride", dns1123SubdomainProblems)(spec, path),
  ];
};

const preemption: Check = (spec, path) => {
  if (memberAt(spec, ["preemptionPolicy"]) === "") return [requiredValue(`${path}.preemptionPolicy`)];
  return oneOf("preemptionPolicy", ["PreemptLowerPriority", "Never"])(spec, path);
};

/** The resources of the whole Pod. */
const podResources: Check = (spec, path) => {
  if (!hasObject(spec, "resources")) return [];
  const at = `${path}.resources`;
  if (stringAt(spec, ["os", "name"]) === "windows") return [forbiddenValue(at, "may not be set for a windows pod")];
  const claims = memberAt(spec, ["resources", "claims"]) ?? null;
  const notHere = "claims may not be set for Resources at pod-level";
  return [
    ...(claims === null ? [] : [forbiddenValue(`${at}.claims`, notHere)]),
    ...resources(podResourceErrors, claimNames(spec))({ resources: spec["resources"] ?? {} }, path),
    ...sharedResources(spec, at),
  ];
};

/** The whole Pod requests no less than its containers together, and no container may use more than the Pod. */
function sharedResources(spec: JsonObject, path: string): FieldError[] {
  const limits = amountsAt(spec, ["resources", "limits"]);
  return [
    ...lessThanContainers(spec, path, "requests"),
    ...lessThanContainers(spec, path, "limits"),
    ...firstErrors(listAt(spec, "containers"), (container, index) => {
      const own = amountsAt(container, ["resources", "limits"]);
      return firstErrorsByName(own, (name) => {
        if (!Object.hasOwn(limits, name)) return [];
        const [limit = "", most = ""] = [own[name], limits[name]];
        if (compareQuantities(limit, most) <= 0) return [];
        const at = `${path}.containers[${index}][${name}].limits`;
        return [invalidValue(at, limit, `must be less than or equal to pod limits of ${most}`)];
      });
    }),
  ];
}

/** Limits of containers may add up to more than that of the Pod, except for huge pages. */
function lessThanContainers(spec: JsonObject, path: string, member: "requests" | "limits"): FieldError[] {
  const [own, sums] = [amountsAt(spec, ["resources", member]), containerAmounts(spec, member)];
  return firstErrorsByName(sums, (name) => {
    const isCompared = Object.hasOwn(own, name) && (member === "requests" || isHugePages(name));
    const [given = "", sum = ""] = [own[name], sums[name]];
    if (!isCompared || compareQuantities(sum, given) <= 0) return [];
    const why = `must be greater than or equal to aggregate container ${member} of ${sum}`;
    return [invalidValue(`${path}.${member}[${name}]`, given, why)];
  });
}

const overhead: Check = (spec, path) =>
  hasObject(spec, "overhead") ? overheadErrors(objectAt(spec, ["overhead"]), `${path}.overhead`) : [];

/** Files of variables are in volumes that start empty. */
const variableFiles: Check = (spec, path) => {
  const volumes = new Map(
    (Array.isArray(spec["volumes"]) ? spec["volumes"] : [])
      .filter(isJsonObject)
      .map((volume) => [stringAt(volume, ["name"]), volume]),
  );
  return eachContainer(
    spec,
    path,
    eachItem("env", (variable, at) => {
      if (!isJsonObject(memberAt(variable, ["valueFrom", "fileKeyRef"]))) return [];
      const name = stringAt(variable, ["valueFrom", "fileKeyRef", "volumeName"]);
      const place = `${at}.valueFrom.fileKeyRef.volumeName`;
      const volume = volumes.get(name);
      if (volume === undefined) return [notFoundValue(place, name)];
      return hasObject(volume, "emptyDir")
        ? []
        : [invalidValue(place, name, "referenced volume must be of type emptyDir")];
    }),
  );
};

/** What the reference validates after the containers, in its order. */
function afterContainers(isPod: boolean): readonly Check[] {
  return [
    podResources,
    hostNetworkPorts(isPod),
    oneOf("restartPolicy", ["Always", "OnFailure", "Never"]),
    oneOf("dnsPolicy", dnsPolicies),
    labelled,
    podSecurity,
    affinity,
    dnsConfig,
    eachItem("readinessGates", (gate, path) => {
      const type = stringAt(gate, ["conditionType"]);
      return labelKeyProblems(type).map((problem) => invalidValue(`${path}.conditionType`, type, problem));
    }),
    schedulingGates,
    topologySpread,
    hostProcesses,
    ownUsers,
    hostnameOverride,
    maybeNamed("serviceAccountName", dns1123SubdomainProblems),
    maybeNamed("nodeName", dns1123SubdomainProblems),
    inRange("activeDeadlineSeconds", 1, maxInt),
    maybeNamed("hostname", dns1123LabelProblems),
    maybeNamed("subdomain", dns1123LabelProblems),
    eachItem("tolerations", tolerationErrors),
    eachItem("hostAliases", hostAlias),
    maybeNamed("priorityClassName", dns1123SubdomainProblems),
    whereSet("runtimeClassName", dns1123SubdomainProblems),
    preemption,
    overhead,
    operatingSystem,
    variableFiles,
  ];
}

const ofPod = afterContainers(true);
const ofTemplate = afterContainers(false);

const containerLists = ["containers", "initContainers", "ephemeralContainers"];
/** Most containers in one list. Kubernetes has no limit; checking more at once would hold the event loop. */
export const mostContainers = 4096;

/** The errors of a Pod's spec, in any kind; in the order of the reference, and in parts. `podName` is that of a Pod itself. */
export function* checkingPodSpec(spec: JsonObject, path: string, podName?: string): Work<FieldError[]> {
  const excess = containerLists.filter((list) => listAt(spec, list).length > mostContainers);
  if (excess.length > 0) {
    return excess.map((list) => tooMany(`${path}.${list}`, listAt(spec, list).length, mostContainers));
  }
  const volumes = volumesOf(spec, path, podName);
  const after = podName === undefined ? ofTemplate : ofPod;
  const ofClaims = resourceClaims(spec, path);
  yield;
  const ofContainers = yield* checkingContainers(spec, path, volumes.valid);
  const errors = [...volumes.errors, ...ofClaims, ...ofContainers];
  for (const check of after) {
    yield;
    errors.push(...check(spec, path));
  }
  return errors;
}
