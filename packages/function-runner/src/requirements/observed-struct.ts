// SPDX-License-Identifier: Apache-2.0
import { isProtocolError, Struct } from "@purlin/function-protocol";
import type { JsonValue } from "@purlin/kube-objects/json";

const known = new WeakMap<object, Struct>();
let encoded = 0;

/**
 * A Kubernetes object, or the input of a step, as functions get it. A frozen one is encoded once, however many steps,
 * rounds and reconciles send it: caches hand out the same object until it changes, so its identity stands for its content.
 */
export function observedStruct(object: object): Struct {
  const before = known.get(object);
  if (before !== undefined) return before;
  encoded++;
  const struct = encodeObject(object);
  if (Object.isFrozen(object)) known.set(object, struct);
  return struct;
}

/** How many objects {@link observedStruct} has encoded since the process started. */
export function observedStructsEncoded(): number {
  return encoded;
}

/** Struct numbers are doubles. An integer that a double cannot hold becomes the nearest one, as in other runners. */
function encodeObject(object: object): Struct {
  try {
    return Struct.from(object);
  } catch (error) {
    if (!isProtocolError(error) || error.code !== "INVALID_VALUE") throw error;
    return Struct.from(withDoubles(object as JsonValue) as object);
  }
}

function withDoubles(value: JsonValue): JsonValue {
  if (typeof value === "bigint") return Number(value);
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(withDoubles);
  const entries = Object.entries(value).map(([key, member]) => [key, withDoubles(member)] as const);
  return Object.fromEntries(entries);
}
