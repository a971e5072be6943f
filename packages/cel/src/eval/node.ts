// SPDX-License-Identifier: Apache-2.0
import type { Value } from "../values/value.ts";
import type { Attribute } from "./attribute.ts";
import type { Evaluation } from "./evaluation.ts";

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
