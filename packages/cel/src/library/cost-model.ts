// SPDX-License-Identifier: Apache-2.0

import type { Expr } from "../syntax/ast.ts";
import type { CelType } from "../types/types.ts";
import type { Meter } from "../values/meter.ts";
import type { Value } from "../values/value.ts";
import type { Range } from "./range.ts";

/** What is known about an argument before the expression runs. */
export interface EstimatedArg {
  readonly type: CelType;
  /** Missing for the elements of a list. */
  readonly expr: Expr | undefined;
  /** Where the schema declares the value: a variable, then fields, `@items`, `@keys` and `@values`. */
  readonly path: readonly string[] | undefined;
  /** The size that follows from the expression itself. */
  readonly computedSize: Range | undefined;
}

/** A call whose cost is to be estimated. */
export interface EstimatedCall {
  readonly overload: string;
  readonly target: EstimatedArg | undefined;
  readonly args: readonly EstimatedArg[];
  /** The size of an argument from the expression, else from the schema, else unknown. */
  sizeOf(arg: EstimatedArg): Range;
  /** What is known of a list's elements, or undefined when the argument has none. */
  elementOf(arg: EstimatedArg): EstimatedArg | undefined;
}

export interface CallEstimate {
  readonly cost: Range;
  readonly resultSize?: Range | undefined;
}

/** What a call costs, before and while it runs. */
export interface CostModel {
  /** Finding the cost is work too, which is accounted to `meter`. `result` is given only to models that say they need it, since they are charged after the call. */
  actual(args: readonly Value[], meter: Meter, result: Value): number;
  readonly needsResult?: boolean;
  /** Undefined leaves the estimate to the default of one unit. */
  estimate(call: EstimatedCall): CallEstimate | undefined;
}
