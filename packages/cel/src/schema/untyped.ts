// SPDX-License-Identifier: Apache-2.0
import { ListValue } from "../values/list.ts";
import { MapValue } from "../values/map.ts";
import { OptionalValue } from "../values/optional.ts";
import type { Value } from "../values/value.ts";
import { isRawInteger, isRawObject, type RawObject } from "./raw-json.ts";
import { isRawBacked } from "./to-raw.ts";

/**
 * Data seen without its schema. Kubernetes' evaluator drops the schema of what is inside an optional when it selects
 * further: dates are then plain strings.
 */
export function withoutSchema(value: Value): Value {
  // Optionals inside optionals are dropped on the same occasion.
  if (value instanceof OptionalValue) return value.hasValue ? withoutSchema(value.value) : null;
  return isRawBacked(value) ? untyped(value.raw) : value;
}

function untyped(raw: unknown): Value {
  if (raw === null || raw === undefined) return null;
  if (isRawInteger(raw)) return BigInt(raw);
  if (Array.isArray(raw)) return new UntypedList(raw);
  return isRawObject(raw) ? new UntypedMap(raw) : (raw as Value);
}

class UntypedList extends ListValue {
  readonly raw: readonly unknown[];

  constructor(raw: readonly unknown[]) {
    super();
    this.raw = raw;
  }

  get size(): number {
    return this.raw.length;
  }

  get(index: number): Value {
    return untyped(this.raw[index]);
  }
}

class UntypedMap extends MapValue {
  readonly raw: RawObject;

  constructor(raw: RawObject) {
    super();
    this.raw = raw;
  }

  get size(): number {
    return Object.keys(this.raw).length;
  }

  find(key: Value): Value | undefined {
    return typeof key === "string" && Object.hasOwn(this.raw, key) ? untyped(this.raw[key]) : undefined;
  }

  keys(): Iterable<Value> {
    return Object.keys(this.raw);
  }
}
