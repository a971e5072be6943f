// SPDX-License-Identifier: Apache-2.0
import { unsupportedValue } from "../field-error.ts";
import { goJson } from "../json/go-text.ts";
import { jsonEqual } from "../json/json-equal.ts";
import type { JsonValue } from "../json/json-value.ts";
import type { Place } from "./finding.ts";
import { fieldOf, inBody, type Outcome, report } from "./outcome.ts";
import type { SchemaNode } from "./schema-node.ts";
import { type KindedValue, kindedValue, toInt64 } from "./value-kind.ts";
import { wholeValue } from "./whole-value.ts";

/** Checks a value against the allowed ones. Null is never one of them, even when listed, as in the reference server. */
export function checkEnum(outcome: Outcome, node: SchemaNode, found: KindedValue, place: Place | undefined): void {
  if (node.enum.length === 0 || node.enum.some((allowed) => isAllowed(found, kindedValue(allowed)))) return;
  const supported = node.enum.map((allowed) => (typeof allowed === "string" ? allowed : goJson(wholeValue(allowed))));
  const error = unsupportedValue(fieldOf(place), wholeValue(found.value), supported);
  report(outcome, inBody(place, `should be one of ${supported.join(" ")}`), error);
}

// The reference server converts the value to the type of the allowed one before it compares: numbers are cut to integers,
// and an integer becomes the character with that code.
function isAllowed(found: KindedValue, allowed: KindedValue): boolean {
  if (found.kind === "integer" && allowed.kind === "string") return characterOf(found.value) === allowed.value;
  if (found.kind === "number" && allowed.kind === "integer") return toInt64(found.value) === BigInt(allowed.value);
  if (found.kind === "integer" && allowed.kind === "number") return Number(found.value) === allowed.value;
  if (found.kind !== allowed.kind || found.kind === "null") return false;
  return jsonEqual(wholeValue(found.value), wholeValue(allowed.value as JsonValue));
}

function characterOf(code: number | bigint): string {
  const point = Number(code);
  const isCharacter = point >= 0 && point <= 0x10ffff && (point < 0xd800 || point > 0xdfff);
  return isCharacter ? String.fromCodePoint(point) : "\ufffd";
}
