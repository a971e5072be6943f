// SPDX-License-Identifier: Apache-2.0
import { randomInt } from "node:crypto";
import { listAt } from "@purlin/kube-apiserver/kinds";
import { type FieldError, invalidValue } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import { memberAt, objectAt, stringAt } from "@purlin/kube-objects/object";

/** The first two bytes of every address given to a Service: a range of its own that nothing routes. */
const addressRange = "10.0";
const [firstPort, lastPort] = [30_000, 32_767];
const randomAttempts = 100;
/** The first ports and addresses of a range are for Services that name theirs; others get one only when the rest is taken. */
const [namedPorts, namedAddresses] = [86, 256];

/** Knows which addresses and ports of nodes are in use. */
export interface TakenPlaces {
  readonly isAddressTaken: (address: string) => boolean;
  readonly isPortTaken: (port: number) => boolean;
}

export const needsAddress = (spec: JsonObject): boolean => stringAt(spec, ["type"]) !== "ExternalName";
export const isExternal = (spec: JsonObject): boolean =>
  ["NodePort", "LoadBalancer"].includes(stringAt(spec, ["type"]));

/** A balancer may do without ports of nodes. */
export const needsPorts = (spec: JsonObject): boolean =>
  isExternal(spec) && (stringAt(spec, ["type"]) === "NodePort" || spec["allocateLoadBalancerNodePorts"] !== false);

export const needsHealthPort = (spec: JsonObject): boolean =>
  stringAt(spec, ["type"]) === "LoadBalancer" && stringAt(spec, ["externalTrafficPolicy"]) === "Local";

/** The spec of a Service with everything it needs and does not have yet. */
export function allocated(spec: JsonObject, taken: TakenPlaces): JsonObject {
  return withHealthPort(withPorts(withAddress(spec, taken), taken), taken);
}

function withAddress(spec: JsonObject, { isAddressTaken }: TakenPlaces): JsonObject {
  if (!needsAddress(spec)) return spec;
  const given = stringAt(spec, ["clusterIP"]);
  const address = given === "" ? freeAddress(isAddressTaken) : given;
  // Without a selector, endpoints may have addresses of any family.
  const isOpen = address === "None" && Object.keys(objectAt(spec, ["selector"])).length === 0;
  return {
    ...spec,
    clusterIP: address,
    clusterIPs: [address],
    ipFamilies: spec["ipFamilies"] ?? (isOpen ? ["IPv4", "IPv6"] : ["IPv4"]),
    ipFamilyPolicy: spec["ipFamilyPolicy"] ?? (isOpen ? "RequireDualStack" : "SingleStack"),
  };
}

function withPorts(spec: JsonObject, taken: TakenPlaces): JsonObject {
  if (!needsPorts(spec)) return spec;
  const own = new Set<number>();
  const ports = listAt(spec, "ports").map((port) => {
    const nodePort = memberAt(port, ["nodePort"]) || freePort(taken, own);
    own.add(Number(nodePort));
    return { ...port, nodePort };
  });
  return { ...spec, ports };
}

function withHealthPort(spec: JsonObject, taken: TakenPlaces): JsonObject {
  return needsHealthPort(spec) && !spec["healthCheckNodePort"]
    ? { ...spec, healthCheckNodePort: freePort(taken, new Set()) }
    : spec;
}

function freeAddress(isTaken: (address: string) => boolean): string {
  for (const index of fromRandom(256 * 254, namedAddresses)) {
    const address = `${addressRange}.${Math.floor(index / 254)}.${1 + (index % 254)}`;
    if (!isTaken(address)) return address;
  }
  throw new Error("no address is free for another Service");
}

function freePort({ isPortTaken }: TakenPlaces, own: ReadonlySet<number>): number {
  for (const index of fromRandom(lastPort - firstPort + 1, namedPorts)) {
    const port = firstPort + index;
    if (!own.has(port) && !isPortTaken(port)) return port;
  }
  throw new Error("no port of nodes is free for another Service");
}

/** Numbers below `size`: some at random, which are free unless most are taken, then all in order; those below `last` come at the end. */
function* fromRandom(size: number, last: number): Generator<number> {
  for (let attempt = 0; attempt < randomAttempts; attempt += 1) yield randomInt(last, size);
  for (let index = 0; index < size; index += 1) yield (last + index) % size;
}

/** What is wrong with the ports of nodes a Service asks for, beyond those it has. */
export function nodePortErrors(spec: JsonObject, old: JsonObject, { isPortTaken }: TakenPlaces): FieldError[] {
  const had = new Set(listAt(old, "ports").map((port) => memberAt(port, ["nodePort"])));
  return listAt(spec, "ports").flatMap((port, index) => {
    const wanted = memberAt(port, ["nodePort"]);
    if (typeof wanted !== "number" || wanted === 0 || had.has(wanted)) return [];
    const path = `spec.ports[${index}].nodePort`;
    if (wanted < firstPort || wanted > lastPort) {
      const range = `The range of valid ports is ${firstPort}-${lastPort}`;
      return [invalidValue(path, wanted, `provided port is not in the valid range. ${range}`)];
    }
    return isPortTaken(wanted) ? [invalidValue(path, wanted, "provided port is already allocated")] : [];
  });
}
