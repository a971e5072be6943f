// SPDX-License-Identifier: Apache-2.0
import { unsupportedDetail, unsupportedOf } from "../errors/field-error.ts";
import { goJson } from "../json/go-text.ts";
import { fieldOf, inBody, isFull, type Outcome, type Place, report } from "./outcome.ts";
import type { SchemaNode } from "./schema-node.ts";
import { type KindedValue, kindedValue, toInt64, valueKey, wholeValue } from "./value-kind.ts";

/** Checks a value against the allowed ones. Null is never one of them, even when listed, as in the reference server. */
export function checkEnum(
  outcome: Outcome,
  { node, found, place }: { readonly node: SchemaNode; readonly found: KindedValue; readonly place: Place | undefined },
): void {
  if (node.enum.length === 0) return;
  const allowed = allowedValues(node);
  if (isAllowed(found, allowed) || isFull(outcome)) return;
  const error = unsupportedOf(fieldOf(place), wholeValue(found.value), allowed.detail);
  report(outcome, inBody(place, allowed.complaint), error);
}

/** The values of an enum by type, and the texts that name them: made once for each schema. */
interface AllowedValues {
  readonly strings: ReadonlySet<string>;
  readonly integers: ReadonlySet<number | bigint>;
  readonly numbers: ReadonlySet<number>;
  /** Booleans, lists and objects. */
  readonly others: ReadonlySet<string>;
  readonly complaint: string;
  readonly detail: string;
}

const known = new WeakMap<SchemaNode, AllowedValues>();

function allowedValues(node: SchemaNode): AllowedValues {
  const allowed = known.get(node) ?? readAllowed(node);
  known.set(node, allowed);
  return allowed;
}

function readAllowed(node: SchemaNode): AllowedValues {
  const supported = node.enum.map((value) => (typeof value === "string" ? value : goJson(wholeValue(value))));
  const [strings, integers] = [new Set<string>(), new Set<number | bigint>()];
  const [numbers, others] = [new Set<number>(), new Set<string>()];
  for (const value of node.enum.map(kindedValue)) {
    if (value.kind === "string") strings.add(value.value);
    else if (value.kind === "integer") integers.add(value.value);
    else if (value.kind === "number") numbers.add(value.value);
    else if (value.kind !== "null") others.add(valueKey(value.value));
  }
  const complaint = `should be one of ${supported.join(" ")}`;
  return { strings, integers, numbers, others, complaint, detail: unsupportedDetail(supported) };
}

// The reference server converts the value to the type of the allowed one before it compares: numbers are cut to integers,
// and an integer becomes the character with that code.
function isAllowed(found: KindedValue, { strings, integers, numbers, others }: AllowedValues): boolean {
  switch (found.kind) {
    case "string":
      return strings.has(found.value);
    case "integer":
      if (integers.has(found.value) || (numbers.size > 0 && numbers.has(Number(found.value)))) return true;
      return strings.size > 0 && strings.has(characterOf(found.value));
    case "number":
      return numbers.has(found.value) || (integers.size > 0 && integers.has(asInteger(found.value)));
    case "null":
      return false;
    default:
      return others.size > 0 && others.has(valueKey(found.value));
  }
}

/** A number cut to an integer, in the form in which integers are kept. */
function asInteger(value: number): number | bigint {
  const whole = toInt64(value);
  const small = Number(whole);
  return Number.isSafeInteger(small) ? small : whole;
}

function characterOf(code: number | bigint): string {
  const point = Number(code);
  const isCharacter = point >= 0 && point <= 0x10ffff && (point < 0xd800 || point > 0xdfff);
  return isCharacter ? String.fromCodePoint(point) : "\ufffd";
}
