// SPDX-License-Identifier: Apache-2.0

import {
  boolType,
  bytesType,
  type CelType,
  doubleType,
  intType,
  nullType,
  stringType,
  uintType,
} from "../types/types.ts";
import { Uint } from "../values/integers.ts";
import type { Value } from "../values/value.ts";

/** The type of a literal. */
export function literalType(value: Value): CelType {
  switch (typeof value) {
    case "boolean":
      return boolType;
    case "bigint":
      return intType;
    case "number":
      return doubleType;
    case "string":
      return stringType;
    default:
      if (value === null) return nullType;
      return value instanceof Uint ? uintType : bytesType;
  }
}
