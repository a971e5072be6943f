// SPDX-License-Identifier: Apache-2.0

import { metaOf } from "@purlin/kube-apiserver/kinds";
import { childPath, type FieldPath, indexPath, keyPath } from "@purlin/kube-objects/errors";
import { goQuote, isJsonObject, type JsonObject, type JsonValue, ownValue } from "@purlin/kube-objects/json";
import { memberAt, objectAt, stringAt } from "@purlin/kube-objects/object";
import { fractionOfBytes } from "../checks/resource-names.ts";

/** Warnings about the containers of a Pod or of a Pod template. */
export function* containerWarnings(pod: JsonObject, prefix: string): Generator<string> {
  for (const [container, at] of containersOf(objectAt(pod, ["spec"]), `${prefix}spec`)) {
    yield* profileWarnings(pod, container, prefix);
    yield* fractionWarnings(container, at);
    yield* hiddenVariables(container, at);
  }
}

/** What one container takes from another: all of them share their ports. */
export function* portWarnings(spec: JsonObject, path: FieldPath): Generator<string> {
  const ports = containersOf(spec, path).flatMap(([container, at]) => itemsOf(container, "ports", at));
  yield* unusedAddresses(ports);
  yield* doubledPorts(ports);
  yield* doubledNames(ports);
}

function containersOf(spec: JsonObject, path: FieldPath): Item[] {
  return ["initContainers", "containers", "ephemeralContainers"].flatMap((member) => itemsOf(spec, member, path));
}

/** Annotations that were there before the fields, by what they begin with. */
const profiles: readonly (readonly [prefix: string, field: string, text: string])[] = [
  [
    "container.seccomp.security.alpha.kubernetes.io/",
    "seccompProfile",
    'non-functional in v1.27+; use the "seccompProfile" field instead',
  ],
  [
    "container.apparmor.security.beta.kubernetes.io/",
    "appArmorProfile",
    'deprecated since v1.30; use the "appArmorProfile" field instead',
  ],
];

function* profileWarnings(pod: JsonObject, container: JsonObject, prefix: string): Generator<string> {
  const annotations = metaOf(pod).annotations ?? {};
  for (const [begin, field, text] of profiles) {
    const name = begin + stringAt(container, ["name"]);
    const isSaid = memberAt(container, ["securityContext", field]) !== undefined;
    if (!isSaid && Object.hasOwn(annotations, name)) yield `${keyPath(`${prefix}metadata.annotations`, name)}: ${text}`;
  }
}

/** A fraction of a byte cannot be allocated. */
function* fractionWarnings(container: JsonObject, path: FieldPath): Generator<string> {
  for (const name of ["memory", "ephemeral-storage"]) {
    for (const member of ["limits", "requests"]) {
      yield* fractionOfBytes(objectAt(container, ["resources"]), { member, name, path: `${path}.resources` });
    }
  }
}

type Item = readonly [item: JsonObject, path: FieldPath];

function itemsOf(object: JsonObject, member: string, path: FieldPath): Item[] {
  const value = ownValue(object, member);
  const items = Array.isArray(value) ? (value as readonly JsonValue[]) : [];
  return items.flatMap((item, index) =>
    isJsonObject(item) ? [[item, indexPath(childPath(path, member), index)] as const] : [],
  );
}

/** A variable may build on its earlier value; otherwise it hides it. */
function* hiddenVariables(container: JsonObject, path: FieldPath): Generator<string> {
  const seen = new Set<string>();
  for (const [variable, at] of itemsOf(container, "env", path)) {
    const [name, value] = [stringAt(variable, ["name"]), stringAt(variable, ["value"])];
    const reference = `$(${name})`;
    const builds = variable["valueFrom"] === undefined && value !== reference && value.includes(reference);
    if (seen.has(name) && !builds) {
      yield `${at}: hides previous definition of ${goQuote(name)}, which may be dropped when using apply`;
    }
    seen.add(name);
  }
}

/** The address of a host is for its port. */
function* unusedAddresses(ports: readonly Item[]): Generator<string> {
  for (const [port, at] of ports) {
    const address = stringAt(port, ["hostIP"]);
    if (address === "" || memberAt(port, ["hostPort"])) continue;
    const [name, number, protocol] = [
      stringAt(port, ["name"]),
      port["containerPort"] ?? 0,
      stringAt(port, ["protocol"]),
    ];
    const shown = `{Name:${name} HostPort:0 ContainerPort:${String(number)} Protocol:${protocol} HostIP:${address}}`;
    yield `${at}: hostIP set without hostPort: ${shown}`;
  }
}

/** A port is held against this many others of its number: an answer has no room for the text of more. */
const mostOthers = 20;

function* doubledPorts(ports: readonly Item[]): Generator<string> {
  const numbers = new Map<string, Item[]>();
  for (const item of ports) {
    const [port, at] = item;
    const key = `${String(port["containerPort"])}/${stringAt(port, ["protocol"])}`;
    const others = numbers.get(key) ?? [];
    for (const [other, where] of others) yield* overlap(port, other).map((how) => `${at}: ${how} ${where}`);
    if (others.length < mostOthers) others.push(item);
    numbers.set(key, others);
  }
}

function* doubledNames(ports: readonly Item[]): Generator<string> {
  const names = new Map<string, FieldPath>();
  for (const [port, at] of ports) {
    const name = stringAt(port, ["name"]);
    const first = names.get(name);
    if (name !== "" && first === undefined) names.set(name, at);
    if (name !== "" && first !== undefined) {
      const use = `services and probes that select ports by name will use ${first}`;
      yield `${at}: duplicate port name ${goQuote(name)} with ${first}, ${use}`;
    }
  }
}

function overlap(port: JsonObject, other: JsonObject): string[] {
  const [[number, address], [otherNumber, otherAddress]] = [port, other].map(
    (one) => [memberAt(one, ["hostPort"]) ?? 0, stringAt(one, ["hostIP"])] as const,
  ) as [readonly [JsonValue, string], readonly [JsonValue, string]];
  if (number === otherNumber && address === otherAddress) return ["duplicate port definition with"];
  if (number === 0 || otherNumber === 0) return ["overlapping port definition with"];
  const oneIsAny = (address === "") !== (otherAddress === "");
  return number === otherNumber && oneIsAny ? ["dangerously ambiguous port definition with"] : [];
}
