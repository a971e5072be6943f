// SPDX-License-Identifier: Apache-2.0
// Lists, maps and objects that are made of operands.

import { listCost, mapCost, structCost } from "../library/costs.ts";
import type { ListExpr } from "../syntax/ast.ts";
import { ArrayList, EntryMap, identityOf, type ListValue, type MapValue } from "../values/collections.ts";
import { ConstructedValue, describe } from "../values/describe.ts";
import { CelError, EvaluationError, isError, OptionalValue, type Value } from "../values/value.ts";
import { constantNode, type Evaluation, type Node, operandsStep, stepNode } from "./evaluation.ts";

/** `[a, ?b]`. A list of constants is a constant. */
export function planList({ optionals }: ListExpr, elements: readonly Node[]): Node {
  const problemAt: ProblemAt = (value, index) => {
    if (isError(value)) return value;
    if (value instanceof OptionalValue || !optionals.has(index)) return undefined;
    return new CelError(`cannot initialize optional list element from non-optional value ${describe(value)}`);
  };
  const make = (values: Value[]): ListValue =>
    new ArrayList(
      optionals.size === 0 ? values : values.flatMap((value, index) => present(value, optionals.has(index))),
    );
  return planMade(elements, { cost: listCost, problemAt, make });
}

/** The elements that are made of one: none for an optional without a value. */
function present(value: Value, isOptional: boolean): readonly Value[] {
  if (!isOptional || !(value instanceof OptionalValue)) return [value];
  return value.hasValue ? [value.value] : [];
}

/** Why the value of an operand cannot be used; `values` are those of the operands up to it. */
type ProblemAt = (value: Value, index: number, values: readonly Value[]) => CelError | undefined;

interface Making {
  readonly cost: number;
  readonly problemAt: ProblemAt;
  readonly make: (values: Value[]) => Value;
}

/** Something made of operands, which costs the same when an operand cannot be used. */
function planMade(operands: readonly Node[], { cost, problemAt, make }: Making): Node {
  const constants = constantsOf(operands);
  if (constants) return constantNode(firstProblem(constants, problemAt) ?? make(constants));
  const decide = decidedAt(problemAt);
  return stepNode(
    operandsStep({
      steps: operands.map((operand) => operand.eval),
      decide: (ev, values) => {
        const problem = decide(ev, values);
        if (problem !== undefined) ev.charge(cost);
        return problem;
      },
      finish: (ev, values) => {
        const made = make(values);
        ev.charge(cost);
        return made;
      },
    }),
  );
}

const decidedAt =
  (problemAt: ProblemAt) =>
  (_: Evaluation, values: readonly Value[]): CelError | undefined => {
    const index = values.length - 1;
    return problemAt(values[index] ?? null, index, values);
  };

function firstProblem(values: readonly Value[], problemAt: ProblemAt): CelError | undefined {
  for (const [index, value] of values.entries()) {
    const problem = problemAt(value, index, values);
    if (problem) return problem;
  }
  return undefined;
}

interface PlannedEntry {
  readonly key: Node;
  readonly value: Node;
  readonly isOptional: boolean;
}

/** `{k: a, ?l: b}`. A map of constants is a constant. */
export function planMap(entries: readonly PlannedEntry[]): Node {
  // Operands are a key, its value, the next key and so on.
  const problemAt: ProblemAt = (value, index, values) => {
    if (isError(value)) return value;
    if (index % 2 === 0) return undefined;
    const key = values[index - 1] ?? null;
    if (key instanceof Uint8Array) throw new EvaluationError("runtime error: hash of unhashable type types.Bytes");
    const isUsable = value instanceof OptionalValue || !entries[(index - 1) / 2]?.isOptional;
    return isUsable ? undefined : notOptional(key, value);
  };
  const make = (values: readonly Value[]): MapValue => {
    const made = new Map<unknown, readonly [Value, Value]>();
    for (const [index, { isOptional }] of entries.entries()) {
      const key = values[2 * index] ?? null;
      const [held] = present(values[2 * index + 1] ?? null, isOptional);
      if (held === undefined) made.delete(identityOf(key));
      else made.set(identityOf(key), [key, held]);
    }
    return new EntryMap(made.values());
  };
  return planMade(
    entries.flatMap(({ key, value }) => [key, value]),
    { cost: mapCost, problemAt, make },
  );
}

interface PlannedField {
  readonly name: string;
  readonly value: Node;
  readonly isOptional: boolean;
}

/** `Object{f: a, ?g: b}`. */
export function planStruct(typeName: string, fields: readonly PlannedField[]): Node {
  const problemAt: ProblemAt = (value, index) => {
    const { name = "", isOptional = false } = fields[index] ?? {};
    if (isError(value)) return value;
    return value instanceof OptionalValue || !isOptional ? undefined : notOptional(name, value);
  };
  const finish = (ev: Evaluation, values: readonly Value[]): Value => {
    const made = new Map<string, Value>();
    for (const [index, { name, isOptional }] of fields.entries()) {
      const [held] = present(values[index] ?? null, isOptional);
      if (held !== undefined) made.set(name, held);
    }
    ev.charge(structCost);
    return new ConstructedValue(typeName, made);
  };
  const steps = fields.map(({ value }) => value.eval);
  return stepNode(operandsStep({ steps, decide: decidedAt(problemAt), finish }));
}

function notOptional(key: Value, value: Value): CelError {
  return new CelError(`cannot initialize optional entry '${describe(key)}' from non-optional value ${describe(value)}`);
}

function constantsOf(nodes: readonly Node[]): Value[] | undefined {
  const values: Value[] = [];
  for (const node of nodes) {
    if (node.kind !== "constant") return undefined;
    values.push(node.value);
  }
  return values;
}
