// SPDX-License-Identifier: Apache-2.0
import { listCost, mapCost, structCost } from "../library/costs.ts";
import type { ListExpr } from "../syntax/ast.ts";
import { CelError, isError } from "../values/cel-error.ts";
import { ConstructedValue } from "../values/constructed.ts";
import { describe } from "../values/describe.ts";
import { InternalFailure } from "../values/internal-failure.ts";
import { ArrayList } from "../values/list.ts";
import { EntryMap, identityOf } from "../values/map.ts";
import { OptionalValue } from "../values/optional.ts";
import type { Value } from "../values/value.ts";
import { constantNode, type Node, stepNode } from "./node.ts";

/** `[a, ?b]`. A list of constants is a constant. */
export function planList({ optionals }: ListExpr, elements: readonly Node[]): Node {
  const make = (values: (index: number) => Value): Value => {
    const made: Value[] = [];
    for (let index = 0; index < elements.length; index++) {
      const value = values(index);
      if (isError(value)) return value;
      if (!optionals.has(index)) made.push(value);
      else if (!(value instanceof OptionalValue)) {
        return new CelError(`cannot initialize optional list element from non-optional value ${describe(value)}`);
      } else if (value.hasValue) made.push(value.value);
    }
    return new ArrayList(made);
  };
  const constants = constantsOf(elements);
  if (constants) return constantNode(make((index) => constants[index] ?? null));
  return stepNode((ev) => {
    const list = make((index) => elements[index]?.eval(ev) ?? null);
    ev.charge(listCost);
    return list;
  });
}

interface PlannedEntry {
  readonly key: Node;
  readonly value: Node;
  readonly isOptional: boolean;
}

/** `{k: a, ?l: b}`. A map of constants is a constant. */
export function planMap(entries: readonly PlannedEntry[]): Node {
  const make = (read: (node: Node) => Value): Value => {
    const made = new Map<unknown, readonly [Value, Value]>();
    for (const entry of entries) {
      const key = read(entry.key);
      if (isError(key)) return key;
      const value = read(entry.value);
      if (isError(value)) return value;
      if (key instanceof Uint8Array) throw new InternalFailure("runtime error: hash of unhashable type types.Bytes");
      if (!entry.isOptional) made.set(identityOf(key), [key, value]);
      else if (!(value instanceof OptionalValue)) return notOptional(key, value);
      else if (value.hasValue) made.set(identityOf(key), [key, value.value]);
      else made.delete(identityOf(key));
    }
    return new EntryMap(made.values());
  };
  const nodes = entries.flatMap(({ key, value }) => [key, value]);
  if (nodes.every(({ kind }) => kind === "constant")) {
    return constantNode(make((node) => (node.kind === "constant" ? node.value : null)));
  }
  return stepNode((ev) => {
    const map = make((node) => node.eval(ev));
    ev.charge(mapCost);
    return map;
  });
}

interface PlannedField {
  readonly name: string;
  readonly value: Node;
  readonly isOptional: boolean;
}

/** `Object{f: a, ?g: b}`. */
export function planStruct(typeName: string, fields: readonly PlannedField[]): Node {
  return stepNode((ev) => {
    const made = new Map<string, Value>();
    for (const { name, value: node, isOptional } of fields) {
      const value = node.eval(ev);
      if (isError(value)) return value;
      if (!isOptional) made.set(name, value);
      else if (!(value instanceof OptionalValue)) return notOptional(name, value);
      else if (value.hasValue) made.set(name, value.value);
    }
    ev.charge(structCost);
    return new ConstructedValue(typeName, made);
  });
}

function notOptional(key: Value, value: Value): CelError {
  return new CelError(`cannot initialize optional entry '${describe(key)}' from non-optional value ${describe(value)}`);
}

function constantsOf(nodes: readonly Node[]): readonly Value[] | undefined {
  const values: Value[] = [];
  for (const node of nodes) {
    if (node.kind !== "constant") return undefined;
    values.push(node.value);
  }
  return values;
}
