// SPDX-License-Identifier: Apache-2.0
import {
  at,
  type Check,
  type Endpoint,
  eachItem,
  items,
  type KindRules,
  labelText,
  listAt,
  metaOf,
  number,
  text,
  textFields,
  within,
} from "@purlin/kube-apiserver/kinds";
import {
  type FieldError,
  forbiddenValue,
  invalidValue,
  requiredValue,
  unsupportedValue,
} from "@purlin/kube-objects/errors";
import { type JsonObject, type JsonValue, jsonEqual } from "@purlin/kube-objects/json";

import { memberAt, objectAt, stringAt, textsAt } from "@purlin/kube-objects/object";
import {
  addressWarnings,
  balancerWarnings,
  firstWarnings,
  loadBalancer,
  type Placed,
  rangeWarnings,
} from "../checks/addresses.ts";
import {
  allocated,
  isExternal,
  needsAddress,
  needsHealthPort,
  needsPorts,
  nodePortErrors,
  type TakenPlaces,
} from "./allocation.ts";
import { clusterAddressErrors, serviceErrors } from "./service-errors.ts";

/** Members that only some Services have: when a Service becomes one of the others, they go, unless they were changed too. */
const dependent: readonly (readonly [needs: (spec: JsonObject) => boolean, members: readonly string[]])[] = [
  [needsAddress, ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "internalTrafficPolicy"]],
  [needsHealthPort, ["healthCheckNodePort"]],
  [(spec) => stringAt(spec, ["type"]) === "LoadBalancer", ["allocateLoadBalancerNodePorts", "loadBalancerClass"]],
  [isReachable, ["externalTrafficPolicy"]],
];

/** Whether a Service is reached from outside the cluster, by its type or by addresses of its own. */
function isReachable(spec: JsonObject): boolean {
  return isExternal(spec) || (stringAt(spec, ["type"]) === "ClusterIP" && textsAt(spec, ["externalIPs"]).length > 0);
}

/** Rules of Services. Nothing proxies for them here, yet each gets an address, and ports where it is to be reached by them. */
export function serviceRules(taken: TakenPlaces): KindRules {
  return {
    prepareCreate: (object) => ({ ...object, spec: allocated(withoutTraffic(objectAt(object, ["spec"])), taken) }),
    prepareUpdate: (object, old, endpoint) =>
      endpoint === "status"
        ? object
        : {
            ...object,
            spec: allocated(withoutTraffic(settled(objectAt(object, ["spec"]), objectAt(old, ["spec"]))), taken, {
              isChange: true,
            }),
          },
    validateNew: (object) =>
      firstOf(
        () => clusterAddressErrors(objectAt(object, ["spec"])),
        () => portErrors(object, undefined, taken),
        () => serviceErrors(object),
      ),
    validateChange: (object, old, endpoint) => {
      if (endpoint === "status") return statusErrors(object);
      const [spec, before] = [objectAt(object, ["spec"]), objectAt(old, ["spec"])];
      return firstOf(
        () => clusterAddressErrors(spec, before),
        () => portErrors(object, old, taken),
        () => [
          ...addressErrors(spec, before),
          ...healthPortErrors(spec, before),
          ...classErrors(spec, before),
          ...serviceErrors(object),
        ],
      );
    },
    warnings: serviceWarnings,
    fields: textFields("spec.clusterIP", "spec.type"),
  };
}

/** Traffic from inside does not reach a name outside. An invalid policy for it is refused all the same. */
function withoutTraffic(spec: JsonObject): JsonObject {
  const isPolicy = ["Cluster", "Local"].includes(stringAt(spec, ["internalTrafficPolicy"]));
  if (stringAt(spec, ["type"]) !== "ExternalName" || !isPolicy) return spec;
  const { internalTrafficPolicy: _policy, ...rest } = spec;
  return rest;
}

/** Addresses, and then ports, are allocated before the rest is validated: the errors of each are reported alone. */
function firstOf(...checks: readonly (() => FieldError[])[]): FieldError[] {
  for (const check of checks) {
    const errors = check();
    if (errors.length > 0) return errors;
  }
  return [];
}

function portErrors(object: JsonObject, old: JsonObject | undefined, taken: TakenPlaces): FieldError[] {
  const spec = objectAt(object, ["spec"]);
  return isExternal(spec) ? nodePortErrors(spec, old && objectAt(old, ["spec"]), taken) : [];
}

function serviceWarnings(object: JsonObject, _old: JsonObject | undefined, endpoint: Endpoint): string[] {
  if (endpoint === "status") return balancerWarnings(object);
  const isIgnored =
    stringAt(object, ["spec", "type"]) !== "ExternalName" && stringAt(object, ["spec", "externalName"]) !== "";
  const hasAddresses = textsAt(object, ["spec", "externalIPs"]).length > 0;
  const isNamed = stringAt(object, ["spec", "type"]) === "ExternalName";
  const isHeadless =
    stringAt(object, ["spec", "type"]) === "ClusterIP" && stringAt(object, ["spec", "clusterIP"]) === "None";
  const ignored = isHeadless ? ignoredByHeadless(objectAt(object, ["spec"])) : [];
  const isOldHint = metaOf(object).annotations?.[oldHints] !== undefined;
  return [
    ...(isOldHint ? [`annotation ${oldHints} is deprecated, please use ${topologyMode} instead`] : []),
    ...listWarnings(object, "spec", "clusterIPs"),
    ...ignored.map((name) => `spec.${name} is ignored for headless services`),
    ...listWarnings(object, "spec", "externalIPs"),
    ...(hasAddresses && !isNamed && !isHeadless
      ? ["spec.externalIPs is deprecated and may no longer be implemented in some clusters"]
      : []),
    ...addressWarnings(stringAt(object, ["spec", "loadBalancerIP"]), "spec.loadBalancerIP"),
    ...firstWarnings(placed(object, ["spec", "loadBalancerSourceRanges"]), rangeWarnings),
    ...(hasAddresses && isNamed ? ['spec.externalIPs is ignored when spec.type is "ExternalName"'] : []),
    ...(isIgnored ? ['spec.externalName is ignored when spec.type is not "ExternalName"'] : []),
    ...(stringAt(object, ["spec", "trafficDistribution"]) === "PreferClose"
      ? ['spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"']
      : []),
  ];
}

const oldHints = "service.kubernetes.io/topology-aware-hints";
const topologyMode = "service.kubernetes.io/topology-mode";

/** IPv6 addresses of a list that have a shorter form. */
function listWarnings(object: JsonObject, ...path: readonly string[]): string[] {
  return firstWarnings(placed(object, path));
}

function* placed(object: JsonObject, path: readonly string[]): Generator<Placed> {
  for (const [index, text] of textsAt(object, path).entries()) yield [text, `${path.join(".")}[${index}]`];
}

/** Members that mean nothing without an address of the cluster. */
function ignoredByHeadless(spec: JsonObject): string[] {
  return [
    ...(stringAt(spec, ["loadBalancerIP"]) === "" ? [] : ["loadBalancerIP"]),
    ...(textsAt(spec, ["externalIPs"]).length === 0 ? [] : ["externalIPs"]),
    ...(stringAt(spec, ["sessionAffinity"]) === "None" ? [] : ["SessionAffinity"]),
  ];
}

const addressModes = ["Proxy", "VIP"];

const addressMode: Check = (one, path) => {
  const [mode, hasAddress] = [memberAt(one, ["ipMode"]), stringAt(one, ["ip"]) !== ""];
  const at = `${path}.ipMode`;
  if (typeof mode !== "string") return hasAddress ? [requiredValue(at, "must be specified when `ip` is set")] : [];
  if (!hasAddress) return [forbiddenValue(at, "may not be specified when `ip` is not set")];
  return addressModes.includes(mode) ? [] : [unsupportedValue(at, mode, addressModes)];
};

function statusErrors(object: JsonObject): readonly FieldError[] {
  const status = objectAt(object, ["status"]);
  const path = "status.loadBalancer.ingress";
  const isUsed = listAt(status, "loadBalancer", "ingress").length > 0;
  if (stringAt(object, ["spec", "type"]) !== "LoadBalancer" && isUsed) {
    return [forbiddenValue(path, "may only be used when `spec.type` is 'LoadBalancer'")];
  }
  return [
    ...loadBalancer(status, "status"),
    ...within("loadBalancer", eachItem("ingress", addressMode))(status, "status"),
  ];
}

/** The class of a load balancer stays. */
function classErrors(spec: JsonObject, old: JsonObject): FieldError[] {
  const isKept = [spec, old].every((one) => stringAt(one, ["type"]) === "LoadBalancer");
  const [now, before] = [spec, old].map((one) => memberAt(one, ["loadBalancerClass"]) ?? null) as [
    JsonValue,
    JsonValue,
  ];
  return isKept && now !== before ? [invalidValue("spec.loadBalancerClass", now, "may not change once set")] : [];
}

/** So does the port for health checks, as long as the Service needs one. */
function healthPortErrors(spec: JsonObject, old: JsonObject): FieldError[] {
  const isKept = needsHealthPort(spec) && needsHealthPort(old);
  return isKept && spec["healthCheckNodePort"] !== old["healthCheckNodePort"]
    ? [forbiddenValue("spec.healthCheckNodePort", "field is immutable")]
    : [];
}

function addressErrors(spec: JsonObject, old: JsonObject): FieldError[] {
  if (!needsAddress(spec) || !needsAddress(old)) return [];
  const [now, before] = [textsAt(spec, ["clusterIPs"]), textsAt(old, ["clusterIPs"])];
  const changed = before.findIndex((address, index) => address !== now[index]);
  return changed < 0 ? [] : [invalidValue(`spec.clusterIPs[${changed}]`, now, "may not change once set")];
}

/** The spec of a changed Service: with the address and ports it had, without what it needs no more. */
function settled(spec: JsonObject, old: JsonObject): JsonObject {
  return withoutNodePorts(withoutDependent(withKept(spec, old), old), old);
}

/** An update without an address keeps the current one, and the port for health checks; node ports stay with their ports. */
function withKept(spec: JsonObject, old: JsonObject): JsonObject {
  const isSameList = jsonEqual(textsAt(spec, ["clusterIPs"]), textsAt(old, ["clusterIPs"]));
  const isOther = stringAt(spec, ["clusterIP"]) !== stringAt(old, ["clusterIP"]);
  // The list follows an address that is changed alone.
  if (isSameList && isOther && stringAt(spec, ["clusterIP"]) !== "") {
    return withKept({ ...spec, clusterIPs: [stringAt(spec, ["clusterIP"])] }, old);
  }
  const ports = needsPorts(spec) && needsPorts(old) ? withNodePortsOf(spec, old) : spec;
  const keepsHealthPort = needsHealthPort(spec) && needsHealthPort(old) && !spec["healthCheckNodePort"];
  const { healthCheckNodePort = 0 } = old;
  return {
    ...ports,
    ...keptAddress(spec, old),
    ...(keepsHealthPort && { healthCheckNodePort }),
  };
}

/** What an update that does not name them keeps of the old address. Families follow the list of addresses where there is one. */
function keptAddress(spec: JsonObject, old: JsonObject): JsonObject {
  if (!needsAddress(spec) || !needsAddress(old)) return {};
  const { clusterIP, clusterIPs, ipFamilies, ipFamilyPolicy } = old;
  const isListed = textsAt(spec, ["clusterIPs"]).length > 0;
  const kept = {
    ipFamilyPolicy,
    ...(stringAt(spec, ["clusterIP"]) === "" && { clusterIP, clusterIPs, ...(!isListed && { ipFamilies }) }),
  };
  return Object.fromEntries(
    Object.entries(kept).flatMap(([name, value]) =>
      value !== undefined && (spec[name] === undefined || name === "clusterIP") ? [[name, value]] : [],
    ),
  );
}

/** Ports keep the port of nodes of the old port with the same name, unless another port asks for it. */
function withNodePortsOf(spec: JsonObject, old: JsonObject): JsonObject {
  const ports = listAt(spec, "ports");
  const asked = new Set(ports.map(({ nodePort }) => nodePort));
  const olds = new Map(listAt(old, "ports").map((port) => [stringAt(port, ["name"]), memberAt(port, ["nodePort"])]));
  const filled = ports.map((port) => {
    const nodePort = olds.get(stringAt(port, ["name"]));
    return port["nodePort"] || !nodePort || asked.has(nodePort) ? port : { ...port, nodePort };
  });
  return ports.length === 0 ? spec : { ...spec, ports: filled };
}

function withoutDependent(spec: JsonObject, old: JsonObject): JsonObject {
  const gone = dependent
    .flatMap(([needs, members]) => (needs(old) && !needs(spec) ? members : []))
    .filter((name) => jsonEqual((spec[name] ?? null) as JsonValue, (old[name] ?? null) as JsonValue));
  return Object.fromEntries(Object.entries(spec).filter(([name]) => !gone.includes(name)));
}

function withoutNodePorts(spec: JsonObject, old: JsonObject): JsonObject {
  const numbers = (one: JsonObject): JsonValue[] =>
    listAt(one, "ports").flatMap((port) => memberAt(port, ["nodePort"]) || []);
  const had = new Set(numbers(old));
  // A number that is new was asked for, and is refused.
  if (!isExternal(old) || isExternal(spec) || numbers(spec).some((number) => !had.has(number))) return spec;
  const ports = listAt(spec, "ports").map(({ nodePort: _, ...port }) => port as JsonObject);
  return ports.length === 0 ? spec : { ...spec, ports };
}

/** The cells of a Service. */
export function serviceCells(object: JsonObject, age: string): JsonValue[] {
  const type = text(object, "spec", "type");
  return [
    text(object, "metadata", "name"),
    type,
    text(object, "spec", "clusterIP") || "<none>",
    externalAddress(object, type),
    portText(object),
    age,
    labelText(at(object, "spec", "selector")),
  ];
}

function externalAddress(object: JsonObject, type: string): string {
  const externalIPs = at(object, "spec", "externalIPs");
  const ips = Array.isArray(externalIPs) ? (externalIPs as string[]) : [];
  switch (type) {
    case "ExternalName":
      return text(object, "spec", "externalName");
    case "LoadBalancer": {
      const ingress = items(object, "status", "loadBalancer", "ingress");
      const balanced = ingress.map((one) => text(one, "ip") || text(one, "hostname")).filter((one) => one !== "");
      const all = [...balanced, ...ips];
      return all.length === 0 ? "<pending>" : all.join(",");
    }
    default:
      return ips.length === 0 ? "<none>" : ips.join(",");
  }
}

function portText(object: JsonObject): string {
  const ports = items(object, "spec", "ports").map((port) => {
    const nodePort = number(port, "nodePort");
    return `${number(port, "port")}${nodePort > 0 ? `:${nodePort}` : ""}/${text(port, "protocol")}`;
  });
  return ports.length === 0 ? "<none>" : ports.join(",");
}
