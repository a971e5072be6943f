// SPDX-License-Identifier: Apache-2.0
import { type JsonObject, type JsonValue, jsonEqual } from "@purlin/kube-objects";
import { listAt } from "../pods/checks.ts";
import { textAt, valueAt } from "../read-field.ts";
import { isExternal, needsAddress, needsHealthPort, needsPorts } from "./allocation.ts";

/** Members that only some Services have: when a Service becomes one of the others, they go, unless they were changed too. */
const DEPENDENT: readonly (readonly [needs: (spec: JsonObject) => boolean, members: readonly string[]])[] = [
  [needsAddress, ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "internalTrafficPolicy"]],
  [needsHealthPort, ["healthCheckNodePort"]],
  [(spec) => textAt(spec, "type") === "LoadBalancer", ["allocateLoadBalancerNodePorts", "loadBalancerClass"]],
  [isExternal, ["externalTrafficPolicy"]],
];

/** The spec of a changed Service: with the address and ports it had, without what it needs no more. */
export function settled(spec: JsonObject, old: JsonObject): JsonObject {
  return withoutNodePorts(withoutDependent(withKept(spec, old), old), old);
}

/** Whoever leaves out the address on an update means the one there is; ports of nodes stay with their ports. */
function withKept(spec: JsonObject, old: JsonObject): JsonObject {
  const keepsAddress = needsAddress(spec) && needsAddress(old) && textAt(spec, "clusterIP") === "";
  const { clusterIP, clusterIPs, ipFamilies, ipFamilyPolicy } = old;
  const kept = keepsAddress
    ? Object.entries({ clusterIP, clusterIPs, ipFamilies, ipFamilyPolicy }).filter(
        ([name, value]) => value !== undefined && (spec[name] === undefined || name === "clusterIP"),
      )
    : [];
  const ports = needsPorts(spec) && needsPorts(old) ? withNodePortsOf(spec, old) : spec;
  return { ...ports, ...(Object.fromEntries(kept) as JsonObject) };
}

function withNodePortsOf(spec: JsonObject, old: JsonObject): JsonObject {
  const place = (port: JsonObject): string => `${String(port["port"])}/${textAt(port, "protocol")}`;
  // Turned round, so that the first of several at one place is the one that stays.
  const olds = new Map(
    listAt(old, "ports")
      .reverse()
      .map((port) => [place(port), port]),
  );
  const ports = listAt(spec, "ports");
  const filled = ports.map((port) => {
    const nodePort = valueAt(port, "nodePort") || valueAt(olds.get(place(port)) ?? {}, "nodePort");
    return nodePort ? { ...port, nodePort } : port;
  });
  return ports.length === 0 ? spec : { ...spec, ports: filled };
}

function withoutDependent(spec: JsonObject, old: JsonObject): JsonObject {
  const gone = DEPENDENT.flatMap(([needs, members]) => (needs(old) && !needs(spec) ? members : [])).filter((name) =>
    jsonEqual((spec[name] ?? null) as JsonValue, (old[name] ?? null) as JsonValue),
  );
  return Object.fromEntries(Object.entries(spec).filter(([name]) => !gone.includes(name)));
}

function withoutNodePorts(spec: JsonObject, old: JsonObject): JsonObject {
  const numbers = (one: JsonObject): JsonValue[] => listAt(one, "ports").map((port) => valueAt(port, "nodePort") ?? 0);
  if (!isExternal(old) || isExternal(spec) || !jsonEqual(numbers(spec), numbers(old))) {
    return spec;
  }
  const ports = listAt(spec, "ports").map(({ nodePort: _, ...port }) => port as JsonObject);
  return ports.length === 0 ? spec : { ...spec, ports };
}
