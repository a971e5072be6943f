// SPDX-License-Identifier: Apache-2.0
import { maybeNamed, named, oneOf } from "@purlin/kube-apiserver/kinds";
import { type FieldError, forbiddenValue, invalidValue, unsupportedValue } from "@purlin/kube-objects/errors";
import { isJsonObject, type JsonObject } from "@purlin/kube-objects/json";
import { dns1123SubdomainProblems, labelKeyProblems, validateLabels } from "@purlin/kube-objects/metadata";
import { memberAt, objectAt, stringAt } from "@purlin/kube-objects/object";
import { addressErrors } from "../checks/address-text.ts";
import { rangeErrors } from "../checks/range-text.ts";
import { optionallyOneOf } from "../checks/rule-checks.ts";
import { servicePortErrors } from "./service-ports.ts";

const serviceTypes = ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];
const ipFamilies = ["IPv4", "IPv6"];
const distributions = ["PreferClose", "PreferSameZone", "PreferSameNode"];
const daySeconds = 86_400;

/** What is wrong with a Service. */
export function serviceErrors(service: JsonObject): FieldError[] {
  const spec = objectAt(service, ["spec"]);
  return [
    ...servicePortErrors(spec),
    ...clusterAddressErrors(spec),
    ...validateLabels(objectAt(spec, ["selector"]) as Record<string, string>, "spec.selector"),
    ...affinityErrors(spec),
    ...externalErrors(spec),
    ...typeErrors(spec),
    ...trafficErrors(spec),
  ];
}

const texts = (spec: JsonObject, name: string): string[] => {
  const value = memberAt(spec, [name]);
  return Array.isArray(value) ? value.map(String) : [];
};

/** Addresses of this cluster are of one family, IPv4. */
function clusterAddressErrors(spec: JsonObject): FieldError[] {
  const [type, address] = [stringAt(spec, ["type"]), stringAt(spec, ["clusterIP"])];
  if (type === "ExternalName") {
    return address === "" ? [] : [forbiddenValue("spec.clusterIPs", "may not be set for ExternalName services")];
  }
  const path = "spec.clusterIPs[0]";
  if (address === "None") {
    const why = `may not be set to 'None' for ${type} services`;
    return type === "ClusterIP" ? [] : [invalidValue(path, "None", why)];
  }
  const families = texts(spec, "ipFamilies").flatMap((family, index) => familyErrors(family, index));
  const policy = stringAt(spec, ["ipFamilyPolicy"]);
  const why = "this cluster is not configured for dual-stack services";
  return [
    ...families,
    ...(policy === "RequireDualStack" ? [invalidValue("spec.ipFamilyPolicy", policy, why)] : []),
    ...(address === "" ? [] : addressErrors(address, path)),
  ];
}

function familyErrors(family: string, index: number): FieldError[] {
  const path = `spec.ipFamilies[${index}]`;
  if (!ipFamilies.includes(family)) return [unsupportedValue(path, family, ipFamilies)];
  return family === "IPv4" ? [] : [invalidValue(path, family, "not configured on this cluster")];
}

function affinityErrors(spec: JsonObject): FieldError[] {
  const seconds = memberAt(spec, ["sessionAffinityConfig", "clientIP", "timeoutSeconds"]);
  const isTimed = stringAt(spec, ["sessionAffinity"]) === "ClientIP" && typeof seconds === "number";
  const path = "spec.sessionAffinityConfig.clientIP.timeoutSeconds";
  const why = `must be greater than 0 and less than ${daySeconds}`;
  return [
    ...oneOf("sessionAffinity", ["ClientIP", "None"])(spec, "spec"),
    ...(isTimed && (seconds <= 0 || seconds > daySeconds) ? [invalidValue(path, seconds, why)] : []),
  ];
}

function externalErrors(spec: JsonObject): FieldError[] {
  return texts(spec, "externalIPs").flatMap((address, index) => {
    const path = `spec.externalIPs[${index}]`;
    const wrong = addressErrors(address, path);
    if (wrong.length > 0) return wrong;
    const isLoopback = address.startsWith("127.") || address === "::1";
    return isLoopback ? [invalidValue(path, address, "may not be in the loopback range (127.0.0.0/8, ::1/128)")] : [];
  });
}

function typeErrors(spec: JsonObject): readonly FieldError[] {
  const type = stringAt(spec, ["type"]);
  const ranges = isJsonObject(spec) ? texts(spec, "loadBalancerSourceRanges") : [];
  return [
    ...(serviceTypes.includes(type) ? [] : [unsupportedValue("spec.type", type, serviceTypes)]),
    ...(type === "ExternalName" ? named("externalName", dns1123SubdomainProblems)(spec, "spec") : []),
    ...(ranges.length > 0 && type !== "LoadBalancer"
      ? [forbiddenValue("spec.LoadBalancerSourceRanges", "may only be used when `type` is 'LoadBalancer'")]
      : []),
    ...ranges.flatMap((range, index) => rangeErrors(range.trim(), `spec.LoadBalancerSourceRanges[${index}]`)),
    ...optionallyOneOf("trafficDistribution", distributions)(spec, "spec"),
    ...(type !== "LoadBalancer" && typeof memberAt(spec, ["allocateLoadBalancerNodePorts"]) === "boolean"
      ? [forbiddenValue("spec.allocateLoadBalancerNodePorts", "may only be used when `type` is 'LoadBalancer'")]
      : []),
    ...(type !== "LoadBalancer" && typeof memberAt(spec, ["loadBalancerClass"]) === "string"
      ? [forbiddenValue("spec.loadBalancerClass", "may only be used when `type` is 'LoadBalancer'")]
      : []),
    ...(type === "LoadBalancer" ? maybeNamed("loadBalancerClass", labelKeyProblems)(spec, "spec") : []),
  ];
}

function trafficErrors(spec: JsonObject): readonly FieldError[] {
  const policy = stringAt(spec, ["externalTrafficPolicy"]);
  const isExternal =
    ["NodePort", "LoadBalancer"].includes(stringAt(spec, ["type"])) || texts(spec, "externalIPs").length > 0;
  const probe = memberAt(spec, ["healthCheckNodePort"]);
  const onlyLocal = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'";
  const isLocal = stringAt(spec, ["type"]) === "LoadBalancer" && policy === "Local";
  return [
    ...(policy !== "" && !isExternal
      ? [invalidValue("spec.externalTrafficPolicy", policy, "may only be set for externally-accessible services")]
      : oneOf("externalTrafficPolicy", ["Cluster", "Local"])(spec, "spec")),
    ...(probe && !isLocal ? [invalidValue("spec.healthCheckNodePort", probe, onlyLocal)] : []),
    ...oneOf("internalTrafficPolicy", ["Cluster", "Local"])(spec, "spec"),
  ];
}
