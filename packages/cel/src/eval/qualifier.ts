// SPDX-License-Identifier: Apache-2.0
import { SchemaList } from "../schema/schema-list.ts";
import { CelError, isError } from "../values/cel-error.ts";
import { describe } from "../values/describe.ts";
import { Uint } from "../values/integers.ts";
import { ListValue, listIndex } from "../values/list.ts";
import { MapValue } from "../values/map.ts";
import { typeNameOf } from "../values/type-name.ts";
import type { Value } from "../values/value.ts";
import type { Attribute } from "./attribute.ts";
import type { Evaluation } from "./evaluation.ts";
import { goTypeName } from "./go-type-name.ts";

/** One selection: a field, a key or an index. */
export interface Qualifier {
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

/** What stands under a key, an error when that cannot be said, or undefined. */
function select(from: Value, key: Value): Value | undefined {
  if (from instanceof MapValue) return from.find(key);
  if (from instanceof ListValue) return selectElement(from, key);
  return isError(from) ? from : undefined;
}

function selectElement(list: ListValue, key: Value): Value | undefined {
  const index = listIndex(key, typeNameOf);
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
