// SPDX-License-Identifier: Apache-2.0

import { isPort, listAt, named, oneOf, portProblems, portRange } from "@purlin/kube-apiserver/kinds";
import {
  duplicatePrinted,
  duplicateValue,
  type FieldError,
  forbiddenValue,
  invalidValue,
  requiredValue,
} from "@purlin/kube-objects/errors";
import { goJson, type JsonObject } from "@purlin/kube-objects/json";
import { dns1123LabelProblems, labelKeyProblems } from "@purlin/kube-objects/metadata";
import { memberAt, stringAt } from "@purlin/kube-objects/object";

const protocols = ["SCTP", "TCP", "UDP"];

/** What is wrong with the ports of a Service. */
export function servicePortErrors(spec: JsonObject): FieldError[] {
  const ports = listAt(spec, "ports");
  const needsPorts = stringAt(spec, ["type"]) !== "ExternalName" && stringAt(spec, ["clusterIP"]) !== "None";
  if (ports.length === 0) return needsPorts ? [requiredValue("spec.ports")] : [];
  const names = new Set<string>();
  const own = ports.flatMap((port, index) => {
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
  return ports.flatMap((port, index) =>
    memberAt(port, ["nodePort"])
      ? [forbiddenValue(`spec.ports[${index}].nodePort`, "may not be used when `type` is 'ClusterIP'")]
      : [],
  );
}

function repeatedNodePorts(ports: readonly JsonObject[]): FieldError[] {
  const seen = new Set<string>();
  return ports.flatMap((port, index) => {
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
  return ports.flatMap((port, index) => {
    const [protocol, number] = [stringAt(port, ["protocol"]), memberAt(port, ["port"]) ?? 0];
    const key = `${protocol}/${String(number)}`;
    const isTaken = seen.has(key);
    seen.add(key);
    const shown = `{"Name":"","Protocol":${goJson(protocol)},"AppProtocol":null,"Port":${goJson(number)},"TargetPort":0,"NodePort":0}`;
    return isTaken ? [duplicatePrinted(`spec.ports[${index}]`, shown)] : [];
  });
}
