// SPDX-License-Identifier: Apache-2.0

import { at, items, labelText, number, text } from "@purlin/kube-apiserver/kinds";
import type { JsonObject, JsonValue } from "@purlin/kube-objects/json";

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
