// SPDX-License-Identifier: Apache-2.0
import {
  childPath,
  type FieldPath,
  goQuote,
  indexPath,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  ownValue,
} from "@purlin/kube-objects";
import { textAt, valueAt } from "./read-field.ts";

/** What whoever writes a Pod, or a template for Pods, is told about its containers: what one of them takes from another. */
export function* containerWarnings(spec: JsonObject, path: FieldPath): Generator<string> {
  const containers = ["initContainers", "containers", "ephemeralContainers"].flatMap((member) =>
    itemsOf(spec, member, path),
  );
  for (const [container, at] of containers) yield* hiddenVariables(container, at);
  const ports = containers.flatMap(([container, at]) => itemsOf(container, "ports", at));
  yield* doubledPorts(ports);
  yield* doubledNames(ports);
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
    const [name, value] = [textAt(variable, "name"), textAt(variable, "value")];
    const reference = `$(${name})`;
    const builds = variable["valueFrom"] === undefined && value !== reference && value.includes(reference);
    if (seen.has(name) && !builds) {
      yield `${at}: hides previous definition of ${goQuote(name)}, which may be dropped when using apply`;
    }
    seen.add(name);
  }
}

/** A port is held against this many others of its number: an answer has no room for what more would have to say. */
const MOST_OTHERS = 20;

function* doubledPorts(ports: readonly Item[]): Generator<string> {
  const numbers = new Map<string, Item[]>();
  for (const item of ports) {
    const [port, at] = item;
    const key = `${String(port["containerPort"])}/${textAt(port, "protocol")}`;
    const others = numbers.get(key) ?? [];
    for (const [other, where] of others) yield* overlap(port, other).map((how) => `${at}: ${how} ${where}`);
    if (others.length < MOST_OTHERS) others.push(item);
    numbers.set(key, others);
  }
}

function* doubledNames(ports: readonly Item[]): Generator<string> {
  const names = new Map<string, FieldPath>();
  for (const [port, at] of ports) {
    const name = textAt(port, "name");
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
    (one) => [valueAt(one, "hostPort") ?? 0, textAt(one, "hostIP")] as const,
  ) as [readonly [JsonValue, string], readonly [JsonValue, string]];
  if (number === otherNumber && address === otherAddress) return ["duplicate port definition with"];
  if (number === 0 || otherNumber === 0) return ["overlapping port definition with"];
  const oneIsAny = (address === "") !== (otherAddress === "");
  return number === otherNumber && oneIsAny ? ["dangerously ambiguous port definition with"] : [];
}
