// SPDX-License-Identifier: Apache-2.0
import type { JsonObject } from "@purlin/kube-objects/json";
import { type KubeObject, numberAt, objectsAt, stringAt, textAt } from "@purlin/kube-objects/object";

/** The ports of a Service as a Pod serves them; without a number when the Pod has no port of the name. */
export function portsOf(service: KubeObject, pod: KubeObject): readonly JsonObject[] {
  return objectsAt(service, ["spec", "ports"]).map((port) => {
    const target = port["targetPort"];
    const number = typeof target === "string" ? containerPort(pod, target) : (target ?? port["port"]);
    const appProtocol = textAt(port, ["appProtocol"]);
    return {
      name: stringAt(port, ["name"]),
      protocol: textAt(port, ["protocol"]) ?? "TCP",
      ...(number !== undefined && { port: number }),
      ...(appProtocol !== undefined && { appProtocol }),
    };
  });
}

function containerPort(pod: KubeObject, name: string): number | undefined {
  const containers = objectsAt(pod, ["spec", "containers"]);
  const ports = containers.flatMap((container) => objectsAt(container, ["ports"]));
  const found = ports.find((port) => stringAt(port, ["name"]) === name);
  return found === undefined ? undefined : numberAt(found, ["containerPort"]);
}
