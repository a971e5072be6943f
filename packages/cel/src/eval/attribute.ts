// SPDX-License-Identifier: Apache-2.0
import { withoutSchema } from "../schema/untyped.ts";
import { isError, noSuchOverload } from "../values/cel-error.ts";
import { none, OptionalValue } from "../values/optional.ts";
import type { Value } from "../values/value.ts";
import type { Evaluation } from "./evaluation.ts";
import type { Node, Step } from "./node.ts";
import type { Qualifier } from "./qualifier.ts";

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
