// SPDX-License-Identifier: Apache-2.0
import { isError } from "../values/cel-error.ts";
import { doubleToInt, doubleToUint, maxInt, Uint } from "../values/integers.ts";
import { InternalFailure } from "../values/internal-failure.ts";
import { elementsOf, ListValue } from "../values/list.ts";
import { identityOf } from "../values/map.ts";
import type { Value } from "../values/value.ts";
import { constantNode, type Node, stepNode } from "./node.ts";

/** `x in [constants]` as a look-up, which costs nothing; undefined when the list is not a constant list of scalars. */
export function planSetMembership([value, list]: readonly Node[]): Node | undefined {
  if (!value || list?.kind !== "constant" || !(list.value instanceof ListValue)) return undefined;
  if (list.value.size === 0) return constantNode(false);
  const members = new Set<unknown>();
  for (const element of elementsOf(list.value)) {
    if (!isScalar(element)) return undefined;
    for (const equal of equalNumbers(element)) members.add(identityOf(equal));
  }
  const step = value.eval;
  return stepNode((ev) => {
    const sought = step(ev);
    if (sought instanceof Uint8Array) throw new InternalFailure("runtime error: hash of unhashable type types.Bytes");
    return isError(sought) ? sought : members.has(identityOf(sought));
  });
}

function isScalar(value: Value): boolean {
  return ["string", "boolean", "bigint", "number"].includes(typeof value) || value instanceof Uint;
}

/** A number in every numeric type that can hold it, else the value itself. */
function equalNumbers(value: Value): readonly Value[] {
  if (typeof value === "bigint") {
    return value < 0n ? [value, Number(value)] : [value, Number(value), new Uint(value)];
  }
  if (value instanceof Uint) {
    const double = Number(value.value);
    return value.value > maxInt ? [value, double] : [value, double, value.value];
  }
  if (typeof value !== "number") return [value];
  const int = doubleToInt(value);
  const uint = doubleToUint(value);
  const same: Value[] = [value];
  if (!isError(int) && Number(int) === value) same.push(int);
  if (!isError(uint) && Number(uint.value) === value) same.push(uint);
  return same;
}
