// SPDX-License-Identifier: Apache-2.0
import { boolType, type CelType, doubleType, intType, stringType, structType } from "../types/types.ts";
import { CelError, isError, type Meter, noSuchOverload, OpaqueValue, type Value } from "../values/value.ts";
import { fixedCost, traversal } from "./costs.ts";
import { type FunctionDecl, type Implementation, memberOverload, overload, signature } from "./function.ts";
import {
  type Amount,
  addAmounts,
  additionSize,
  amountToDouble,
  amountToInt,
  compareAmounts,
  parseAmount,
  QuantitySyntaxError,
  signOf,
} from "./quantity-amount.ts";

/** The type of exact amounts. */
export const quantityType: CelType = structType("kubernetes.Quantity");

/** A Kubernetes quantity. */
class QuantityValue extends OpaqueValue {
  readonly typeName = "kubernetes.Quantity";
  readonly amount: Amount;
  readonly #isSum: boolean;

  constructor(amount: Amount, isSum = false) {
    super();
    this.amount = amount;
    this.#isSum = isSum;
  }

  equals(other: Value): boolean | CelError {
    // Kubernetes knows the result of add() and sub() on the left of `==` only.
    if (!(other instanceof QuantityValue) || other.#isSum) return isError(other) ? other : noSuchOverload;
    return compareAmounts(this.amount, other.amount) === 0;
  }

  override toString(): string {
    return `${this.amount.value}e${this.amount.exponent}`;
  }
}

function parseQuantity(text: Value | undefined, meter: Meter): QuantityValue | CelError {
  if (typeof text !== "string") return noSuchOverload;
  // Reading n digits takes more than n steps, and no sensible quantity is long.
  meter.spend(text.length ** 1.5 / 16);
  try {
    return new QuantityValue(parseAmount(text));
  } catch (problem) {
    if (problem instanceof QuantitySyntaxError) return new CelError(problem.message);
    throw problem;
  }
}

const onOne =
  (run: (amount: Amount) => Value): Implementation =>
  ([quantity]) =>
    quantity instanceof QuantityValue ? run(quantity.amount) : noSuchOverload;

const onTwo =
  (run: (a: Amount, b: Amount) => Value): Implementation =>
  ([a, b]) =>
    a instanceof QuantityValue && b instanceof QuantityValue ? run(a.amount, b.amount) : noSuchOverload;

function amountOf(value: Value | undefined): Amount | undefined {
  if (typeof value === "bigint") return { value, exponent: 0, isSmall: true };
  return value instanceof QuantityValue ? value.amount : undefined;
}

const sum =
  (sign: bigint): Implementation =>
  ([a, b], meter) => {
    const right = amountOf(b);
    if (!(a instanceof QuantityValue) || !right) return noSuchOverload;
    meter.spend(additionSize(a.amount, right) ** 1.5 / 16);
    return new QuantityValue(addAmounts(a.amount, { ...right, value: sign * right.value }), true);
  };

const cannotConvert = new CelError("cannot convert value to integer");
const both = [quantityType, quantityType];
const withInt = [quantityType, intType];

/** Functions on quantities. */
export const quantityFunctions: readonly FunctionDecl[] = [
  {
    name: "quantity",
    cost: traversal(),
    overloads: [
      overload(signature("string_to_quantity", [stringType], quantityType), ([text], meter) =>
        parseQuantity(text, meter),
      ),
    ],
  },
  {
    name: "isQuantity",
    cost: traversal(),
    overloads: [
      overload(
        signature("is_quantity_string", [stringType], boolType),
        ([text], meter) => !isError(parseQuantity(text, meter)),
      ),
    ],
  },
  {
    name: "sign",
    cost: fixedCost,
    overloads: [
      overload(
        signature("quantity_sign", [quantityType], intType),
        onOne((amount) => BigInt(signOf(amount))),
      ),
    ],
  },
  {
    name: "isGreaterThan",
    cost: fixedCost,
    overloads: [
      memberOverload(
        signature("quantity_is_greater_than", both, boolType),
        onTwo((a, b) => compareAmounts(a, b) > 0),
      ),
    ],
  },
  {
    name: "isLessThan",
    cost: fixedCost,
    overloads: [
      memberOverload(
        signature("quantity_is_less_than", both, boolType),
        onTwo((a, b) => compareAmounts(a, b) < 0),
      ),
    ],
  },
  {
    name: "compareTo",
    cost: fixedCost,
    overloads: [
      memberOverload(
        signature("quantity_compare_to", both, intType),
        onTwo((a, b) => BigInt(compareAmounts(a, b))),
      ),
    ],
  },
  {
    name: "asApproximateFloat",
    cost: fixedCost,
    overloads: [memberOverload(signature("quantity_get_float", [quantityType], doubleType), onOne(amountToDouble))],
  },
  {
    name: "asInteger",
    cost: fixedCost,
    overloads: [
      memberOverload(
        signature("quantity_get_int", [quantityType], intType),
        onOne((amount) => amountToInt(amount) ?? cannotConvert),
      ),
    ],
  },
  {
    name: "isInteger",
    cost: fixedCost,
    overloads: [
      memberOverload(
        signature("quantity_is_integer", [quantityType], boolType),
        onOne((amount) => amountToInt(amount) !== undefined),
      ),
    ],
  },
  {
    name: "add",
    cost: fixedCost,
    overloads: [
      memberOverload(signature("quantity_add", both, quantityType), sum(1n)),
      memberOverload(signature("quantity_add_int", withInt, quantityType), sum(1n)),
    ],
  },
  {
    name: "sub",
    cost: fixedCost,
    overloads: [
      memberOverload(signature("quantity_sub", both, quantityType), sum(-1n)),
      memberOverload(signature("quantity_sub_int", withInt, quantityType), sum(-1n)),
    ],
  },
];
