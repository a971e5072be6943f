// SPDX-License-Identifier: Apache-2.0

import { SchemaList, SchemaMapList, SchemaSetList } from "../schema/schema-list.ts";
import { SchemaMap, withoutSchema } from "../schema/schema-map.ts";
import { ConcatList, ListValue, listIndex, MapValue } from "../values/collections.ts";
import { describe, typeNameOf } from "../values/describe.ts";
import {
  CelError,
  CostExceededError,
  isError,
  Meter,
  none,
  noSuchOverload,
  OptionalValue,
  Uint,
  type Value,
} from "../values/value.ts";

/** What an expression is evaluated over. A variable left out cannot be read. */
export type Variables = Readonly<Record<string, Value | undefined>>;

/** Work beyond what CEL's cost counts, some 200 milliseconds; a rule within its cost limit has no need of more. */
export const maxWork = 20_000_000;

interface Limits {
  readonly cost: number;
  readonly work: number;
}

/** The state of one evaluation: variables, what it has cost, and the places of comprehension variables. */
export class Evaluation {
  readonly variables: Variables;
  readonly meter: Meter;
  readonly slots: (Value | undefined)[];
  readonly #costLimit: number;
  #cost = 0;

  constructor(variables: Variables, slotCount: number, limits: Limits) {
    this.variables = variables;
    this.slots = new Array<Value | undefined>(slotCount).fill(undefined);
    this.#costLimit = limits.cost;
    this.meter = new Meter(limits.work);
  }

  get cost(): number {
    return this.#cost;
  }

  charge(units: number): void {
    this.#cost += units;
    // Less than nothing is an overflow in Kubernetes' counter.
    if (this.#cost > this.#costLimit || this.#cost < 0) throw new CostExceededError();
  }
}

export type Step = (ev: Evaluation) => Value;

/** A planned expression: a constant, something that can be selected from, or a computation. */
export type Node =
  | { readonly kind: "constant"; readonly value: Value; readonly eval: Step }
  | { readonly kind: "attribute"; readonly attribute: Attribute; readonly eval: Step }
  | { readonly kind: "step"; readonly eval: Step };

export function constantNode(value: Value): Node {
  return { kind: "constant", value, eval: () => value };
}

export function stepNode(step: Step): Node {
  return { kind: "step", eval: step };
}

/** A checked expression that cannot be made a program, for example because a literal cannot be converted. */
export class PlanningError extends Error {}

/** A value and what is selected from it, step by step. */
export interface Attribute {
  /** The value at the end of the selection, or an error. */
  resolve(ev: Evaluation): Value;
  addQualifier(qualifier: Qualifier): void;
  /** What evaluating the attribute costs beside its selections. */
  readonly ownCost: 0 | 1;
}

/** An attribute that starts from a variable or the result of an expression. */
export function createAttribute(start: Step): Attribute {
  const qualifiers: Qualifier[] = [];
  return {
    ownCost: 1,
    addQualifier: (qualifier) => qualifiers.push(qualifier),
    resolve: (ev) => {
      const value = start(ev);
      return isError(value) ? value : applyQualifiers(ev, value, qualifiers);
    },
  };
}

function applyQualifiers(ev: Evaluation, start: Value, qualifiers: readonly Qualifier[]): Value {
  let value = start;
  let isOptional = value instanceof OptionalValue;
  if (value instanceof OptionalValue) {
    if (!value.hasValue) return value;
    value = withoutSchema(value.value);
  }
  for (const qualifier of qualifiers) {
    isOptional ||= qualifier.isOptional;
    if (!isOptional) {
      value = qualifier.qualify(ev, value);
    } else {
      const found = qualifier.qualifyIfPresent(ev, value);
      if (found === undefined) return none;
      value = found;
    }
    if (isError(value)) return value;
  }
  return isOptional ? new OptionalValue(value) : value;
}

/** `condition ? a : b`, from either of which can be selected. */
export function createConditional(condition: Step, truthy: Attribute, falsy: Attribute): Attribute {
  return {
    // All of the cost is in the condition and the branch.
    ownCost: 0,
    addQualifier: (qualifier) => {
      truthy.addQualifier(qualifier);
      falsy.addQualifier(qualifier);
    },
    resolve: (ev) => {
      const decision = condition(ev);
      if (decision === true) return truthy.resolve(ev);
      if (decision === false) return falsy.resolve(ev);
      return isError(decision) ? decision : noSuchOverload;
    },
  };
}

export function attributeNode(attribute: Attribute): Node {
  return {
    kind: "attribute",
    attribute,
    eval: (ev) => {
      const value = attribute.resolve(ev);
      if (attribute.ownCost > 0) ev.charge(attribute.ownCost);
      return value;
    },
  };
}

/** `has(…)`: the last selection of the attribute is a test and gives whether there is something. */
export function presenceNode(attribute: Attribute): Node {
  return {
    kind: "attribute",
    attribute,
    eval: (ev) => {
      const value = attribute.resolve(ev);
      // The test refunds the cost of the attribute, even where it had no cost.
      ev.charge(attribute.ownCost - 1);
      return value instanceof OptionalValue ? value.hasValue : value;
    },
  };
}

/** One selection: a field, a key or an index. */
interface Qualifier {
  /** Written `.?f` or `[?k]`. */
  readonly isOptional: boolean;
  /** What is selected, or an error. */
  qualify(ev: Evaluation, from: Value): Value;
  /** What is selected, an error, or undefined when nothing is there. */
  qualifyIfPresent(ev: Evaluation, from: Value): Value | undefined;
}

/** A selection by a constant. */
export function constantQualifier(key: Value, isOptional: boolean): Qualifier {
  return {
    isOptional,
    qualify: (ev, from) => {
      const value = selectOrFail(from, key);
      ev.charge(1);
      return value;
    },
    qualifyIfPresent: (ev, from) => {
      const value = select(from, key);
      // What is not there was not selected.
      if (value !== undefined && !isError(value)) ev.charge(1);
      return value;
    },
  };
}

/** The last selection of `has(…)`. */
export function presenceQualifier(key: Value): Qualifier {
  const test = (ev: Evaluation, from: Value): Value => {
    const value = select(from, key);
    ev.charge(1);
    return isError(value) ? value : value !== undefined;
  };
  return {
    isOptional: false,
    qualify: test,
    qualifyIfPresent: (ev, from) => {
      const value = select(from, key);
      ev.charge(1);
      return value;
    },
  };
}

/** A selection by a value that is known only when the expression runs. */
export function computedQualifier(key: Attribute, isOptional: boolean): Qualifier {
  const keyIn = (ev: Evaluation): Value => {
    const value = key.resolve(ev);
    return isError(value) || isKey(value) ? value : new CelError(`invalid qualifier type: ${goTypeName(value)}`);
  };
  return {
    isOptional,
    qualify: (ev, from) => {
      const by = keyIn(ev);
      const value = isError(by) ? by : selectOrFail(from, by);
      ev.charge(1);
      return value;
    },
    qualifyIfPresent: (ev, from) => {
      const by = keyIn(ev);
      const value = isError(by) ? by : select(from, by);
      if (value !== undefined && !isError(value)) ev.charge(1);
      return value;
    },
  };
}

/** Whether a value can select anything. */
export function isKey(value: Value): boolean {
  return ["string", "bigint", "number", "boolean"].includes(typeof value) || value instanceof Uint;
}

/** The value of a key, an error when it cannot be determined, or undefined. */
function select(from: Value, key: Value): Value | undefined {
  if (from instanceof MapValue) return from.find(key);
  if (from instanceof ListValue) return selectElement(from, key);
  return isError(from) ? from : undefined;
}

function selectElement(list: ListValue, key: Value): Value | undefined {
  const index = listIndex(key, { typeNameOf, describe });
  if (isError(index)) return index;
  if (index < 0 || index >= list.size) return undefined;
  // Lists of the data take ints only.
  if (list instanceof SchemaList && typeof key !== "bigint") return new CelError(`unsupported index: ${describe(key)}`);
  return list.get(index);
}

function selectOrFail(from: Value, key: Value): Value {
  const value = select(from, key);
  if (value !== undefined) return value;
  const what = from instanceof ListValue ? "index out of bounds" : "no such key";
  return new CelError(`${what}: ${describe(key)}`);
}

const names: ReadonlyMap<string, string> = new Map([
  ["bool", "types.Bool"],
  ["bytes", "types.Bytes"],
  ["double", "types.Double"],
  ["google.protobuf.Duration", "types.Duration"],
  ["google.protobuf.Timestamp", "types.Timestamp"],
  ["int", "types.Int"],
  ["list", "*types.baseList"],
  ["map", "*types.baseMap"],
  ["null_type", "types.Null"],
  ["optional_type", "*types.Optional"],
  ["string", "types.String"],
  ["type", "*types.Type"],
  ["uint", "types.Uint"],
  ["kubernetes.Quantity", "cel.Quantity"],
  ["kubernetes.URL", "cel.URL"],
  ["kubernetes.Semver", "cel.Semver"],
  ["kubernetes.NamedFormat", "cel.Format"],
  ["net.IP", "cel.IP"],
  ["net.CIDR", "cel.CIDR"],
]);

/** What a few messages call a value's type: its name in the program that Kubernetes' users know the messages of. */
export function goTypeName(value: Value): string {
  if (value instanceof SchemaMap) return "*common.unstructuredMap";
  if (value instanceof SchemaMapList) return "*common.unstructuredMapList";
  if (value instanceof SchemaSetList) return "*common.unstructuredSetList";
  if (value instanceof SchemaList) return "*common.unstructuredList";
  if (value instanceof ConcatList) return "*types.concatList";
  return names.get(typeNameOf(value)) ?? "unknown";
}
