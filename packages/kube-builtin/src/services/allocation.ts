// SPDX-License-Identifier: Apache-2.0
import { randomInt } from "node:crypto";
import { type Entry, isPort, listAt, type Store, type Watch } from "@purlin/kube-apiserver/kinds";
import { type FieldError, internalError, invalidValue, unclassifiedError } from "@purlin/kube-objects/errors";
import { isJsonObject, type JsonObject, type JsonValue } from "@purlin/kube-objects/json";
import { memberAt, objectAt, stringAt, textsAt } from "@purlin/kube-objects/object";

/** The first two bytes of every address given to a Service: a range of its own that nothing routes. */
const addressRange = "10.0";
const [firstPort, lastPort] = [30_000, 32_767];
const randomAttempts = 100;
/** The first ports and addresses of a range are for Services that name theirs; others get one only when the rest is taken. */
const [namedPorts, namedAddresses] = [86, 256];

/** Tracks which addresses and ports of nodes are in use. */
export interface TakenPlaces {
  readonly isAddressTaken: (address: string) => boolean;
  readonly isPortTaken: (port: number) => boolean;
  /** What was drawn for Services that may not be stored yet. */
  readonly drawn?: DrawnPlaces;
}

/** As long as a request may take to store what it has drawn. */
const drawnMs = 60_000;
/** Fewer than the ports of nodes: requests that store nothing must not use up a range. */
const maxDrawn = 500;

/** Places that requests have drawn: another request at the same time must not get them, too. */
export class DrawnPlaces {
  readonly #until = new Map<string, number>();

  has(place: string): boolean {
    return (this.#until.get(place) ?? 0) > performance.now();
  }

  add(place: string): void {
    this.#until.delete(place);
    this.#until.set(place, performance.now() + drawnMs);
    const [oldest] = this.#until.keys();
    if (this.#until.size > maxDrawn && oldest !== undefined) this.#until.delete(oldest);
  }
}

export const needsAddress = (spec: JsonObject): boolean => stringAt(spec, ["type"]) !== "ExternalName";
export const isExternal = (spec: JsonObject): boolean =>
  ["NodePort", "LoadBalancer"].includes(stringAt(spec, ["type"]));

/** A balancer may do without ports of nodes. */
export const needsPorts = (spec: JsonObject): boolean =>
  isExternal(spec) && (stringAt(spec, ["type"]) === "NodePort" || spec["allocateLoadBalancerNodePorts"] !== false);

export const needsHealthPort = (spec: JsonObject): boolean =>
  stringAt(spec, ["type"]) === "LoadBalancer" && stringAt(spec, ["externalTrafficPolicy"]) === "Local";

/** The spec of a Service with everything it needs and does not have yet. `isChange` for one that is not new. */
export function allocated(
  spec: JsonObject,
  taken: TakenPlaces,
  { isChange = false }: { readonly isChange?: boolean } = {},
): JsonObject {
  return withHealthPort(withPorts(withAddress(spec, taken), taken, isChange), taken);
}

function withAddress(spec: JsonObject, taken: TakenPlaces): JsonObject {
  const [given, list] = [stringAt(spec, ["clusterIP"]), textsAt(spec, ["clusterIPs"])];
  if (!needsAddress(spec)) return given === "" || list.length > 0 ? spec : { ...spec, clusterIPs: [given] };
  // The list is refused without its first address, and so are addresses of another family.
  const isOther = textsAt(spec, ["ipFamilies"])[0] === "IPv6";
  if (given === "" && list.length > 0) return spec;
  if (given === "" && isOther) return { ...spec, ipFamilyPolicy: spec["ipFamilyPolicy"] ?? "SingleStack" };
  const address = given === "" ? freeAddress(taken) : given;
  // A list that begins with another address is refused.
  if (list.length > 0 && list[0] !== address) return { ...spec, clusterIP: address };
  if (address.includes(":")) return { ...spec, clusterIPs: list.length > 0 ? list : [address] };
  // Without a selector, endpoints may have addresses of any family.
  const isOpen = address === "None" && Object.keys(objectAt(spec, ["selector"])).length === 0;
  const policy = String(spec["ipFamilyPolicy"] ?? (isOpen ? "RequireDualStack" : "SingleStack"));
  const families = textsAt(spec, ["ipFamilies"]);
  const isDual = isOpen && ["PreferDualStack", "RequireDualStack"].includes(policy);
  const others = ["IPv4", "IPv6"].filter((family) => !families.includes(family));
  return {
    ...spec,
    clusterIP: address,
    clusterIPs: list.length > 0 ? list : [address],
    ipFamilies: isDual && families.length < 2 ? [...families, ...others] : (spec["ipFamilies"] ?? ["IPv4"]),
    ipFamilyPolicy: policy,
  };
}

const nodePortOf = (port: JsonObject): number => Number(memberAt(port, ["nodePort"]) ?? 0);
const nodePortsOf = (spec: JsonObject): number[] => listAt(spec, "ports").flatMap((port) => nodePortOf(port) || []);

function withPorts(spec: JsonObject, taken: TakenPlaces, isChange: boolean): JsonObject {
  if (!needsPorts(spec)) return spec;
  const own = new Set(nodePortsOf(spec));
  const shared = isChange ? new Map<JsonValue, number>() : nodePortsByPort(listAt(spec, "ports"));
  const ports = listAt(spec, "ports").map((port) => {
    const number = memberAt(port, ["port"]) ?? 0;
    const nodePort = nodePortOf(port) || shared.get(number) || freePort(taken, own);
    own.add(nodePort);
    if (!isChange && !shared.has(number)) shared.set(number, nodePort);
    return { ...port, nodePort };
  });
  return { ...spec, ports };
}

/** The first port of nodes that each port asks for: in a new Service, others with the same number and another protocol share it. */
function nodePortsByPort(ports: readonly JsonObject[]): Map<JsonValue, number> {
  const asking = ports.filter((port) => nodePortOf(port) !== 0).toReversed();
  return new Map(asking.map((port) => [memberAt(port, ["port"]) ?? 0, nodePortOf(port)]));
}

function withHealthPort(spec: JsonObject, taken: TakenPlaces): JsonObject {
  return needsHealthPort(spec) && !spec["healthCheckNodePort"]
    ? { ...spec, healthCheckNodePort: freePort(taken, new Set(nodePortsOf(spec))) }
    : spec;
}

function freeAddress({ isAddressTaken, drawn }: TakenPlaces): string {
  const addressAt = (index: number): string => `${addressRange}.${Math.floor(index / 254)}.${1 + (index % 254)}`;
  const isFree = (index: number): boolean => !isAddressTaken(addressAt(index));
  const isDrawn = (index: number): boolean => drawn?.has(addressAt(index)) ?? false;
  const index = draw({ size: 256 * 254, last: namedAddresses, isFree, isDrawn });
  if (index === undefined) throw new Error("no address is free for another Service");
  drawn?.add(addressAt(index));
  return addressAt(index);
}

function freePort({ isPortTaken, drawn }: TakenPlaces, own: ReadonlySet<number>): number {
  const isFree = (index: number): boolean => !own.has(firstPort + index) && !isPortTaken(firstPort + index);
  const isDrawn = (index: number): boolean => drawn?.has(String(firstPort + index)) ?? false;
  const index = draw({ size: lastPort - firstPort + 1, last: namedPorts, isFree, isDrawn });
  if (index === undefined) throw new Error("no port of nodes is free for another Service");
  drawn?.add(String(firstPort + index));
  return firstPort + index;
}

interface Range {
  readonly size: number;
  readonly last: number;
  readonly isFree: (index: number) => boolean;
  readonly isDrawn: (index: number) => boolean;
}

/** A free number of a range. One that another request has drawn is used only when no other is free: that request may have failed. */
function draw({ size, last, isFree, isDrawn }: Range): number | undefined {
  let second: number | undefined;
  for (const index of fromRandom(size, last)) {
    if (!isFree(index)) continue;
    if (!isDrawn(index)) return index;
    second ??= index;
  }
  return second;
}

/** Numbers below `size`: some at random, which are free unless most are taken, then all in order; those below `last` come at the end. */
function* fromRandom(size: number, last: number): Generator<number> {
  for (let attempt = 0; attempt < randomAttempts; attempt += 1) yield randomInt(last, size);
  for (let index = 0; index < size; index += 1) yield (last + index) % size;
}

/** What is wrong with the first port of nodes that a Service asks for, beyond those it has, and cannot get. `old` is missing for a new one. */
export function nodePortErrors(spec: JsonObject, old: JsonObject | undefined, taken: TakenPlaces): FieldError[] {
  const own = new Set(old === undefined ? [] : nodePortsOf(old));
  const byPort = new Map<JsonValue, number>();
  const kept = new Set<string>();
  for (const [index, port] of listAt(spec, "ports").entries()) {
    const [wanted, number] = [nodePortOf(port), memberAt(port, ["port"]) ?? 0];
    if (wanted === 0) continue;
    // Ports of a change may share a port of nodes, those of a new Service only if they have the same number.
    const isShared = old === undefined ? byPort.get(number) === wanted : own.has(wanted);
    const problem = isShared ? "" : allocationProblem(wanted, { taken, own });
    if (problem !== "") return [invalidValue(`spec.ports[${index}].nodePort`, wanted, problem)];
    if (old !== undefined) keepOnce(kept, `${stringAt(port, ["protocol"])} ${wanted}`);
    own.add(wanted);
    if (!byPort.has(number)) byPort.set(number, wanted);
  }
  requireHealthPort(spec, old, taken);
  return [];
}

/** A change cannot use one port of nodes twice with the same protocol. The reference answers it as an error of its own. */
function keepOnce(kept: Set<string>, place: string): void {
  if (kept.has(place)) throw unclassifiedError(`duplicate nodePort: {${place}}`);
  kept.add(place);
}

/** A Service that did not have one before cannot get a port for health checks that is in use. The reference answers it as an error of its own. */
function requireHealthPort(spec: JsonObject, old: JsonObject | undefined, taken: TakenPlaces): void {
  const wanted = memberAt(spec, ["healthCheckNodePort"]);
  if (typeof wanted !== "number" || !isPort(wanted) || !needsHealthPort(spec)) return;
  if (old !== undefined && needsHealthPort(old)) return;
  const problem = allocationProblem(wanted, { taken, own: new Set(nodePortsOf(spec)) });
  if (problem === "") return;
  throw internalError(`failed to allocate requested HealthCheck NodePort ${wanted}: ${problem}`);
}

interface Places {
  readonly taken: TakenPlaces;
  readonly own: ReadonlySet<number>;
}

function allocationProblem(wanted: number, { taken, own }: Places): string {
  if (wanted < firstPort || wanted > lastPort) {
    return `provided port is not in the valid range. The range of valid ports is ${firstPort}-${lastPort}`;
  }
  return own.has(wanted) || taken.isPortTaken(wanted) ? "provided port is already allocated" : "";
}

const prefix = "//services/";

/**
 * Tracks which addresses and ports of nodes Services have, without looking at all of them each time: it starts with those that are
 * there when it is first asked, and takes in what has changed when it is asked again.
 */
export class ServicePlaces implements TakenPlaces {
  readonly drawn: DrawnPlaces = new DrawnPlaces();
  readonly #store: Store<JsonObject>;
  /** How many Services have a place; a place that was given twice by accident is free when both are gone. */
  #counts = new Map<string, number>();
  #watch: Watch<JsonObject> | undefined;

  constructor(store: Store<JsonObject>) {
    this.#store = store;
  }

  readonly isAddressTaken = (address: string): boolean => this.#has(address);
  readonly isPortTaken = (port: number): boolean => this.#has(String(port));

  #has(place: string): boolean {
    this.#catchUp();
    return (this.#counts.get(place) ?? 0) > 0;
  }

  #catchUp(): void {
    try {
      const watch = this.#watch ?? this.#start();
      for (let changes = watch.take(); changes.length > 0; changes = watch.take()) {
        for (const { entry, previous } of changes) {
          this.#count(previous, -1);
          this.#count(entry, 1);
        }
      }
    } catch {
      // What has changed since is forgotten already: begin again.
      this.#watch?.close();
      this.#start();
    }
  }

  #start(): Watch<JsonObject> {
    const { entries, revision } = this.#store.list({ prefix: prefix });
    this.#counts = new Map();
    for (const entry of entries) this.#count(entry, 1);
    this.#watch = this.#store.watch({ scope: prefix, after: revision, onReady: () => {} });
    return this.#watch;
  }

  #count(entry: Entry<JsonObject> | undefined, by: number): void {
    for (const place of entry === undefined ? [] : placesOf(objectAt(entry.value, ["spec"]))) {
      this.#counts.set(place, (this.#counts.get(place) ?? 0) + by);
    }
  }
}

function placesOf(spec: JsonObject): string[] {
  const ports = memberAt(spec, ["ports"]);
  const numbers = Array.isArray(ports) ? ports.filter(isJsonObject).map(({ nodePort }) => nodePort) : [];
  return [
    stringAt(spec, ["clusterIP"]),
    ...[...numbers, spec["healthCheckNodePort"]].map((port) => String(port ?? "")),
  ].filter((place) => place !== "" && place !== "None" && place !== "0");
}
