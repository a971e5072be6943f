// SPDX-License-Identifier: Apache-2.0
// Selections of fields, keys and elements, and what they cost.

import { SchemaList } from "../schema/schema-list.ts";
import { withoutSchema } from "../schema/schema-map.ts";
import { LazyMap, ListValue, listIndex, MapValue } from "../values/collections.ts";
import { describe, typeNameOf } from "../values/describe.ts";
import { CelError, isError, none, noSuchOverload, OptionalValue, Uint, type Value } from "../values/value.ts";
import {
  type Attribute,
  after,
  type Continuation,
  type Evaluation,
  type Node,
  type Qualifier,
  type Step,
  type StepResult,
  suspended,
} from "./evaluation.ts";
import { goTypeName } from "./go-type-name.ts";

/** An attribute that starts from a variable or the result of an expression. */
export function createAttribute(start: Step): Attribute {
  const qualifiers: Qualifier[] = [];
  const proceed: Continuation = (ev, value) => selectFrom(ev, value, qualifiers);
  return {
    ownCost: 1,
    addQualifier: (qualifier) => qualifiers.push(qualifier),
    resolve: (ev) => {
      const value = start(ev);
      return value === suspended ? ev.suspend(proceed) : selectFrom(ev, value, qualifiers);
    },
  };
}

function selectFrom(ev: Evaluation, start: Value, qualifiers: readonly Qualifier[]): StepResult {
  if (isError(start)) return start;
  const isOptional = start instanceof OptionalValue;
  if (isOptional && !start.hasValue) return start;
  const value = isOptional ? withoutSchema(start.value) : start;
  return qualifiers.length === 0 && !isOptional ? value : selectAll(ev, { qualifiers, index: 0, value, isOptional });
}

/** Selections that have begun. */
interface Selection {
  readonly qualifiers: readonly Qualifier[];
  /** The next qualifier, and what it selects from. */
  readonly index: number;
  readonly value: Value;
  /** The value is one of an optional, and so is what is selected from it. */
  readonly isOptional: boolean;
}

/** `givenKey` is that of the next qualifier, when it is known already. */
function selectAll(ev: Evaluation, selection: Selection, givenKey?: Value): StepResult {
  const { qualifiers } = selection;
  let { value, isOptional } = selection;
  let given = givenKey;
  for (let index = selection.index; index < qualifiers.length; index++) {
    const qualifier = qualifiers[index] as Qualifier;
    const key = given === undefined ? qualifier.key(ev) : given;
    if (key === suspended) return ev.suspend(selectBy({ qualifiers, index, value, isOptional }));
    if (value instanceof LazyMap && value.evaluatePart(key)) {
      return ev.suspend(selectKey({ qualifiers, index, value, isOptional }, key));
    }
    given = undefined;
    isOptional ||= qualifier.isOptional;
    const selected = isOptional ? selectIfPresent(value, key) : selectRequired(value, key, qualifier.isTest);
    // What is not there was not selected; to test for it, or to need it, costs as much as to select it.
    const isFree = isOptional && !qualifier.isTest && (selected === undefined || isError(selected));
    if (!isFree) ev.charge(1);
    if (selected === undefined) return none;
    if (isError(selected)) return selected;
    value = selected;
  }
  return isOptional ? new OptionalValue(value) : value;
}

/** Goes on once the next key is known. */
function selectBy(selection: Selection): Continuation {
  return (ev, key) => selectAll(ev, selection, key);
}

function selectKey(selection: Selection, key: Value): Continuation {
  return (ev) => selectAll(ev, selection, key);
}

function selectIfPresent(from: Value, key: Value): Value | undefined {
  return isError(key) ? key : select(from, key);
}

function selectRequired(from: Value, key: Value, isTest: boolean): Value {
  if (isError(key)) return key;
  if (!isTest) return selectOrFail(from, key);
  const value = select(from, key);
  return isError(value) ? value : value !== undefined;
}

/** `condition ? a : b`, from either of which can be selected. */
export function createConditional(condition: Step, truthy: Attribute, falsy: Attribute): Attribute {
  const choose: Continuation = (ev, decision) => {
    if (decision === true) return truthy.resolve(ev);
    if (decision === false) return falsy.resolve(ev);
    return isError(decision) ? decision : noSuchOverload;
  };
  return {
    // All of the cost is in the condition and the branch.
    ownCost: 0,
    addQualifier: (qualifier) => {
      truthy.addQualifier(qualifier);
      falsy.addQualifier(qualifier);
    },
    resolve: (ev) => {
      ev.meter.spend(1);
      const decision = condition(ev);
      return decision === suspended ? ev.suspend(choose) : choose(ev, decision);
    },
  };
}

export function attributeNode(attribute: Attribute): Node {
  const { resolve, ownCost } = attribute;
  if (ownCost === 0) return { kind: "attribute", attribute, eval: resolve };
  const charged: Continuation = (ev, value) => {
    ev.charge(ownCost);
    return value;
  };
  const step: Step = (ev) => {
    const value = resolve(ev);
    if (value === suspended) return ev.suspend(charged);
    ev.charge(ownCost);
    return value;
  };
  return { kind: "attribute", attribute, eval: step };
}

/** `has(…)`: the last selection of the attribute is a test and gives whether there is something. */
export function presenceNode(attribute: Attribute): Node {
  const { resolve, ownCost } = attribute;
  const present = after(resolve, (ev, value) => {
    // The test refunds the cost of the attribute, even where it had no cost.
    ev.charge(ownCost - 1);
    return value instanceof OptionalValue ? value.hasValue : value;
  });
  return { kind: "attribute", attribute, eval: present };
}

/** A selection by a constant. */
export function constantQualifier(key: Value, isOptional: boolean): Qualifier {
  return { key: () => key, isOptional, isTest: false };
}

/** The last selection of `has(…)`. */
export function presenceQualifier(key: Value): Qualifier {
  return { key: () => key, isOptional: false, isTest: true };
}

/** A selection by a value that is known only when the expression runs. */
export function computedQualifier(key: Attribute, isOptional: boolean): Qualifier {
  const checked = after(key.resolve, (_, value) =>
    isError(value) || isKey(value) ? value : new CelError(`invalid qualifier type: ${goTypeName(value)}`),
  );
  return { key: checked, isOptional, isTest: false };
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
