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
export function containerWarnings(spec: JsonObject, path: FieldPath): string[] {
  const containers = ["initContainers", "containers", "ephemeralContainers"].flatMap((member) =>
    itemsOf(spec, member, path),
  );
  return [
    ...containers.flatMap(([container, at]) => [...hiddenVariables(container, at)]),
    ...portWarnings(containers.flatMap(([container, at]) => itemsOf(container, "ports", at))),
  ];
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

function portWarnings(ports: readonly Item[]): string[] {
  const numbers = new Map<string, Item[]>();
  const names = new Map<string, FieldPath>();
  const [doubled, named]: [string[], string[]] = [[], []];
  for (const item of ports) {
    const [port, at] = item;
    const key = `${String(port["containerPort"])}/${textAt(port, "protocol")}`;
    const others = numbers.get(key) ?? [];
    for (const [other, where] of others) doubled.push(...overlap(port, other).map((how) => `${at}: ${how} ${where}`));
    numbers.set(key, [...others, item]);
    const name = textAt(port, "name");
    const first = names.get(name);
    if (name !== "" && first === undefined) names.set(name, at);
    if (name !== "" && first !== undefined) {
      const use = `services and probes that select ports by name will use ${first}`;
      named.push(`${at}: duplicate port name ${goQuote(name)} with ${first}, ${use}`);
    }
  }
  return [...doubled, ...named];
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
