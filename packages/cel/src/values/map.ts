// SPDX-License-Identifier: Apache-2.0
import { type CelError, isError } from "./cel-error.ts";
import { Duration } from "./duration.ts";
import { doubleToInt, doubleToUint, maxInt, Uint } from "./integers.ts";
import type { Equal } from "./list.ts";
import type { Meter } from "./meter.ts";
import { Timestamp } from "./timestamp.ts";
import { TypeValue } from "./type-value.ts";
import type { Value } from "./value.ts";

/** A map or an object. */
export abstract class MapValue {
  abstract readonly size: number;
  /** The value under a key, an error when the key has the wrong type, or undefined when the key is missing. */
  abstract find(key: Value): Value | undefined;
  abstract keys(): Iterable<Value>;

  equals(other: Value, equal: Equal, meter: Meter): boolean | CelError {
    if (!(other instanceof MapValue) || other.size !== this.size) return false;
    for (const key of this.keys()) {
      meter.elements(1);
      const there = other.find(key);
      if (there === undefined) return false;
      if (equal(this.find(key) ?? null, there, meter) === false) return false;
    }
    return true;
  }

  contains(key: Value): boolean | CelError {
    return this.find(key) !== undefined;
  }
}

interface MapEntry {
  readonly key: Value;
  readonly value: Value;
}

/** A map made by an expression. */
export class EntryMap extends MapValue {
  protected readonly entries: Map<unknown, MapEntry> = new Map();

  constructor(entries: Iterable<readonly [Value, Value]> = []) {
    super();
    for (const [key, value] of entries) this.entries.set(identityOf(key), { key, value });
  }

  get size(): number {
    return this.entries.size;
  }

  find(key: Value): Value | undefined {
    return (this.entries.get(identityOf(key)) ?? this.#findNumber(key))?.value;
  }

  *keys(): Iterable<Value> {
    for (const entry of this.entries.values()) yield entry.key;
  }

  /** 1, 1u and 1.0 are the same key. */
  #findNumber(key: Value): MapEntry | undefined {
    if (typeof key === "bigint") return key < 0n ? undefined : this.#entry(new Uint(key));
    if (key instanceof Uint) return key.value > maxInt ? undefined : this.#entry(key.value);
    if (typeof key !== "number") return undefined;
    const int = doubleToInt(key);
    const found = isError(int) || Number(int) !== key ? undefined : this.#entry(int);
    if (found) return found;
    const uint = doubleToUint(key);
    return isError(uint) || Number(uint.value) !== key ? undefined : this.#entry(uint);
  }

  #entry(key: Value): MapEntry | undefined {
    return this.entries.get(identityOf(key));
  }
}

/** The map a comprehension collects into. */
export class GrowingMap extends EntryMap {
  insert(key: Value, value: Value): void {
    this.entries.set(identityOf(key), { key, value });
  }

  finished(): MapValue {
    return new EntryMap([...this.entries.values()].map((entry) => [entry.key, entry.value]));
  }
}

/** What makes two keys the same key: type and value. Lists and maps are keys only by being the same object. */
export function identityOf(key: Value): unknown {
  if (key instanceof Uint) return `\0uint ${key.value}`;
  if (key instanceof Timestamp) return `\0timestamp ${key.seconds} ${key.nanos} ${key.offset}`;
  if (key instanceof Duration) return `\0duration ${key.nanos}`;
  if (key instanceof TypeValue) return `\0type ${key.name}`;
  return key;
}
