// SPDX-License-Identifier: Apache-2.0
import { isPort, listAt, named, oneOf, portProblems, portRange } from "@purlin/kube-apiserver/kinds";
import {
  duplicatePrinted,
  duplicateValue,
  type FieldError,
  firstErrors,
  forbiddenValue,
  invalidValue,
  repeatsIn,
  requiredValue,
  unsupportedValue,
} from "@purlin/kube-objects/errors";
import { goJson, isJsonObject, type JsonObject } from "@purlin/kube-objects/json";
import {
  dns1123LabelProblems,
  dns1123SubdomainProblems,
  labelKeyProblems,
  validateLabels,
} from "@purlin/kube-objects/metadata";
import { memberAt, objectAt, stringAt } from "@purlin/kube-objects/object";
import { addressErrors, rangeErrors } from "../checks/addresses.ts";
import { optionallyOneOf } from "../checks/rule-checks.ts";
import { specialErrors } from "./endpoint-rules.ts";

const serviceTypes = ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];
const distributions = ["PreferClose", "PreferSameZone", "PreferSameNode"];
const daySeconds = 86_400;

/** What is wrong with a Service. */
export function serviceErrors(service: JsonObject): FieldError[] {
  const spec = objectAt(service, ["spec"]);
  return [
    ...headlessErrors(spec),
    ...externalNameErrors(spec),
    ...servicePortErrors(spec),
    ...validateLabels(objectAt(spec, ["selector"]) as Record<string, string>, "spec.selector"),
    ...affinityErrors(spec),
    ...externalErrors(spec),
    ...typeErrors(spec),
    ...trafficErrors(spec),
  ];
}

function headlessErrors(spec: JsonObject): FieldError[] {
  const [type, addresses] = [stringAt(spec, ["type"]), texts(spec, "clusterIPs")];
  const isHeadless = addresses.length === 1 && addresses[0] === "None";
  return isHeadless && (type === "LoadBalancer" || type === "NodePort")
    ? [invalidValue("spec.clusterIPs[0]", "None", `may not be set to 'None' for ${type} services`)]
    : [];
}

const texts = (spec: JsonObject, name: string): string[] => {
  const value = memberAt(spec, [name]);
  return Array.isArray(value) ? value.map(String) : [];
};

/** A Service for a name outside has no address of the cluster. */
function externalNameErrors(spec: JsonObject): FieldError[] {
  if (stringAt(spec, ["type"]) !== "ExternalName") return [];
  const name = stringAt(spec, ["externalName"]).replace(/\.$/, "");
  const given = ["clusterIPs", "ipFamilies"].filter((member) => texts(spec, member).length > 0);
  const policy = typeof memberAt(spec, ["ipFamilyPolicy"]) === "string" ? ["ipFamilyPolicy"] : [];
  return [
    ...[...given, ...policy].map((member) =>
      forbiddenValue(`spec.${member}`, "may not be set for ExternalName services"),
    ),
    ...(name === "" ? [requiredValue("spec.externalName")] : []),
    ...(name === ""
      ? []
      : dns1123SubdomainProblems(name).map((problem) => invalidValue("spec.externalName", name, problem))),
  ];
}

/** The errors of the addresses of a Service. They are reported alone: nothing is allocated for such a Service. */
export function clusterAddressErrors(spec: JsonObject, old?: JsonObject): FieldError[] {
  if (stringAt(spec, ["type"]) === "ExternalName") return [];
  const own = addressListErrors(spec, old);
  return own.length > 0 ? own : allocationErrors(spec, old);
}

const families = ["IPv4", "IPv6"];
const policies = ["PreferDualStack", "RequireDualStack", "SingleStack"];

function addressListErrors(spec: JsonObject, old: JsonObject | undefined): FieldError[] {
  const [address, addresses] = [stringAt(spec, ["clusterIP"]), texts(spec, "clusterIPs")];
  const policy = memberAt(spec, ["ipFamilyPolicy"]);
  const list = "spec.clusterIPs";
  const known = old === undefined ? [] : texts(old, "clusterIPs");
  const wrong = firstErrors(addresses, (one, index) => {
    if (index > 0 || one !== "None") return known.includes(one) ? [] : addressErrors(one, `${list}[${index}]`);
    return addresses.length > 1 ? [invalidValue(list, addresses, "'None' must be the first and only value")] : [];
  });
  return [
    ...(address !== "" && addresses.length === 0 ? [requiredValue(list)] : []),
    ...(address !== "" && addresses.length > 0 && addresses[0] !== address
      ? [invalidValue(list, addresses, "first value must match `clusterIP`")]
      : []),
    ...(address === "" && addresses.length > 0
      ? [invalidValue(list, addresses, "must be empty when `clusterIP` is not specified")]
      : []),
    ...familyErrors(texts(spec, "ipFamilies")),
    ...(typeof policy === "string" && !policies.includes(policy)
      ? [unsupportedValue("spec.ipFamilyPolicy", policy, policies)]
      : []),
    ...wrong,
    ...(addresses.length > 2 ? [invalidValue(list, addresses, "may only hold up to 2 values")] : []),
    ...(wrong.length > 0 ? [] : stackErrors(addresses, texts(spec, "ipFamilies"))),
  ];
}

function familyErrors(given: readonly string[]): FieldError[] {
  const isRepeated = repeatsIn(given);
  return firstErrors(given, (family, index) => {
    const path = `spec.ipFamilies[${index}]`;
    return [
      ...(families.includes(family) ? [] : [unsupportedValue(path, family, families)]),
      ...(isRepeated(index) ? [duplicateValue(path, family)] : []),
    ];
  });
}

const familyOf = (address: string): string => (address.includes(":") ? "IPv6" : "IPv4");

function stackErrors(addresses: readonly string[], given: readonly string[]): FieldError[] {
  const list = "spec.clusterIPs";
  const isOneFamily = addresses.length > 1 && new Set(addresses.map(familyOf)).size < 2;
  const isHeadless = addresses.length === 1 && addresses[0] === "None";
  return [
    ...(isOneFamily ? [invalidValue(list, [...addresses], "may specify no more than one IP for each IP family")] : []),
    ...(isHeadless ? [] : addresses.slice(0, given.length)).flatMap((one, index) => {
      const family = given[index] ?? "";
      const why = `expected an ${family} value as indicated by \`ipFamilies[${index}]\``;
      return families.includes(family) && familyOf(one) !== family ? [invalidValue(`${list}[${index}]`, one, why)] : [];
    }),
  ];
}

/** Addresses of this cluster are of one family, IPv4. */
function allocationErrors(spec: JsonObject, old: JsonObject | undefined): FieldError[] {
  const [addresses, given] = [texts(spec, "clusterIPs"), texts(spec, "ipFamilies")];
  const [path, policy] = ["spec.ipFamilyPolicy", stringAt(spec, ["ipFamilyPolicy"])];
  const several = "must be 'RequireDualStack' or 'PreferDualStack' when multiple";
  const isSingle = policy === "SingleStack";
  const isHeadless = stringAt(spec, ["clusterIP"]) === "None";
  const isOpen = isHeadless && Object.keys(objectAt(spec, ["selector"])).length === 0;
  const had = old === undefined ? [] : texts(old, "clusterIPs");
  const early = [
    ...(isSingle && addresses.length === 2 ? [invalidValue(path, policy, `${several} cluster IPs are specified`)] : []),
    ...(isSingle && given.length === 2 ? [invalidValue(path, policy, `${several} IP families are specified`)] : []),
    ...(isHeadless ? [] : addresses.slice(given.length)).flatMap((one, index) =>
      familyOf(one) === "IPv4"
        ? []
        : [
            invalidValue(
              `spec.clusterIPs[${given.length + index}]`,
              addresses,
              "IPv6 is not configured on this cluster",
            ),
          ],
    ),
  ];
  if (early.length > 0 || isOpen) return early;
  return [
    ...(policy === "RequireDualStack"
      ? [invalidValue(path, policy, "this cluster is not configured for dual-stack services")]
      : []),
    ...firstErrors(given, (family, index) =>
      family === "IPv4" || had.length > 1
        ? []
        : [invalidValue(`spec.ipFamilies[${index}]`, family, "not configured on this cluster")],
    ),
  ];
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
  return firstErrors(texts(spec, "externalIPs"), (address, index) => {
    const path = `spec.externalIPs[${index}]`;
    const wrong = addressErrors(address, path);
    if (wrong.length > 0) return wrong;
    return specialErrors(address, path);
  });
}

function typeErrors(spec: JsonObject): readonly FieldError[] {
  const type = stringAt(spec, ["type"]);
  const ranges = isJsonObject(spec) ? texts(spec, "loadBalancerSourceRanges") : [];
  return [
    ...(serviceTypes.includes(type) ? [] : [unsupportedValue("spec.type", type, serviceTypes)]),
    ...(ranges.length > 0 && type !== "LoadBalancer"
      ? [forbiddenValue("spec.LoadBalancerSourceRanges", "may only be used when `type` is 'LoadBalancer'")]
      : []),
    ...firstErrors(ranges, (range, index) => rangeErrors(range.trim(), `spec.LoadBalancerSourceRanges[${index}]`)),
    ...optionallyOneOf("trafficDistribution", distributions)(spec, "spec"),
    ...(type !== "LoadBalancer" && typeof memberAt(spec, ["allocateLoadBalancerNodePorts"]) === "boolean"
      ? [forbiddenValue("spec.allocateLoadBalancerNodePorts", "may only be used when `type` is 'LoadBalancer'")]
      : []),
    ...(type !== "LoadBalancer" && typeof memberAt(spec, ["loadBalancerClass"]) === "string"
      ? [forbiddenValue("spec.loadBalancerClass", "may only be used when `type` is 'LoadBalancer'")]
      : []),
    ...(type === "LoadBalancer" ? classErrors(spec) : []),
  ];
}

function classErrors(spec: JsonObject): FieldError[] {
  const name = memberAt(spec, ["loadBalancerClass"]);
  if (typeof name !== "string") return [];
  return labelKeyProblems(name).map((problem) => invalidValue("spec.loadBalancerClass", name, problem));
}

function trafficErrors(spec: JsonObject): readonly FieldError[] {
  const policy = stringAt(spec, ["externalTrafficPolicy"]);
  const type = stringAt(spec, ["type"]);
  const isExternal =
    ["NodePort", "LoadBalancer"].includes(type) || (type === "ClusterIP" && texts(spec, "externalIPs").length > 0);
  const probe = memberAt(spec, ["healthCheckNodePort"]);
  const onlyLocal = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'";
  const isLocal = stringAt(spec, ["type"]) === "LoadBalancer" && policy === "Local";
  return [
    ...(policy !== "" && !isExternal
      ? [invalidValue("spec.externalTrafficPolicy", policy, "may only be set for externally-accessible services")]
      : oneOf("externalTrafficPolicy", ["Cluster", "Local"])(spec, "spec")),
    ...(probe && !isLocal ? [invalidValue("spec.healthCheckNodePort", probe, onlyLocal)] : []),
    ...(probe && isLocal && !isPort(probe) ? [invalidValue("spec.healthCheckNodePort", probe, portRange)] : []),
    ...optionallyOneOf("internalTrafficPolicy", ["Cluster", "Local"])(spec, "spec"),
  ];
}

const protocols = ["SCTP", "TCP", "UDP"];

/** What is wrong with the ports of a Service. */
function servicePortErrors(spec: JsonObject): FieldError[] {
  const ports = listAt(spec, "ports");
  const needsPorts = stringAt(spec, ["type"]) !== "ExternalName" && stringAt(spec, ["clusterIP"]) !== "None";
  if (ports.length === 0) return needsPorts ? [requiredValue("spec.ports")] : [];
  const names = new Set<string>();
  const own = firstErrors(ports, (port, index) => {
    const path = `spec.ports[${index}]`;
    return [...nameErrors(port, path, { names, isOne: ports.length === 1 }), ...numberErrors(port, path)];
  });
  return [...own, ...nodePortErrors(spec, ports), ...repeatedNodePorts(ports), ...repeatedErrors(ports)];
}

interface Names {
  readonly names: Set<string>;
  readonly isOne: boolean;
}

/** Of several ports each has a name. */
function nameErrors(port: JsonObject, path: string, { names, isOne }: Names): readonly FieldError[] {
  const name = stringAt(port, ["name"]);
  if (name === "" && isOne) return [];
  const isTaken = names.has(name);
  if (name !== "") names.add(name);
  const own = named("name", dns1123LabelProblems)(port, path);
  return isTaken ? [...own, duplicateValue(`${path}.name`, name)] : own;
}

function numberErrors(port: JsonObject, path: string): FieldError[] {
  const number = memberAt(port, ["port"]);
  return [
    ...(isPort(number) ? [] : [invalidValue(`${path}.port`, number ?? 0, portRange)]),
    ...oneOf("protocol", protocols)(port, path),
    ...portProblems(memberAt(port, ["targetPort"]), `${path}.targetPort`),
    ...protocolErrors(port, `${path}.appProtocol`),
  ];
}

function protocolErrors(port: JsonObject, path: string): FieldError[] {
  const protocol = memberAt(port, ["appProtocol"]);
  if (typeof protocol !== "string") return [];
  return labelKeyProblems(protocol).map((problem) => invalidValue(path, protocol, problem));
}

function nodePortErrors(spec: JsonObject, ports: readonly JsonObject[]): FieldError[] {
  const type = stringAt(spec, ["type"]);
  if (type !== "ClusterIP") return [];
  return firstErrors(ports, (port, index) =>
    memberAt(port, ["nodePort"])
      ? [forbiddenValue(`spec.ports[${index}].nodePort`, "may not be used when `type` is 'ClusterIP'")]
      : [],
  );
}

function repeatedNodePorts(ports: readonly JsonObject[]): FieldError[] {
  const seen = new Set<string>();
  return firstErrors(ports, (port, index) => {
    const number = memberAt(port, ["nodePort"]);
    if (!number) return [];
    const key = `${stringAt(port, ["protocol"])}/${String(number)}`;
    const isTaken = seen.has(key);
    seen.add(key);
    return isTaken ? [duplicateValue(`spec.ports[${index}].nodePort`, number)] : [];
  });
}

/** A number may be used once for each protocol. The reference shows such a port as its own type has it. */
function repeatedErrors(ports: readonly JsonObject[]): FieldError[] {
  const seen = new Set<string>();
  return firstErrors(ports, (port, index) => {
    const [protocol, number] = [stringAt(port, ["protocol"]), memberAt(port, ["port"]) ?? 0];
    const key = `${protocol}/${String(number)}`;
    const isTaken = seen.has(key);
    seen.add(key);
    const shown = `{"Name":"","Protocol":${goJson(protocol)},"AppProtocol":null,"Port":${goJson(number)},"TargetPort":0,"NodePort":0}`;
    return isTaken ? [duplicatePrinted(`spec.ports[${index}]`, shown)] : [];
  });
}
