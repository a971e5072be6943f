// SPDX-License-Identifier: Apache-2.0

import { goQuote } from "../json/go-text.ts";
import type { Place } from "./finding.ts";
import { type Outcome, reportType } from "./outcome.ts";
import type { SchemaNode } from "./schema-node.ts";
import type { KindedValue } from "./value-kind.ts";

/** Checks null against a schema's types. */
export function checkNull(outcome: Outcome, node: SchemaNode, place: Place | undefined): void {
  const { types, nullable } = node;
  if (types.length === 0 || types.includes("null") || nullable) outcome.matches++;
  else reportMismatch(outcome, place, { wanted: types.join(","), got: "null" });
}

/** Checks the type of a value, and that its format can be had by such a value at all. */
export function checkType(
  outcome: Outcome,
  { node, found, place }: { readonly node: SchemaNode; readonly found: KindedValue; readonly place: Place | undefined },
): void {
  const { types, format } = node;
  if (types.length === 0 && format === "") return;
  outcome.matches++;
  const mismatch = findMismatch(types, format, found);
  if (mismatch) reportMismatch(outcome, place, mismatch);
  else outcome.matches++;
}

interface Mismatch {
  readonly wanted: string;
  readonly got: string;
}

function findMismatch(types: readonly string[], format: string, found: KindedValue): Mismatch | undefined {
  const fits =
    types.includes(found.kind) ||
    (found.kind === "integer" && types.includes("number")) ||
    (found.kind === "number" && types.includes("integer") && isNearlyInteger(found.value));
  if (fits) return undefined;
  if (format === "") return { wanted: types.join(","), got: found.kind };
  // Of strings and lists the format alone decides, unless numbers are wanted; the reference server then also takes a list.
  if (found.kind === "string" || found.kind === "array") {
    const wantsNumber = types.includes("number") || types.includes("integer");
    return wantsNumber ? { wanted: types.join(","), got: found.kind } : undefined;
  }
  const got = formatOf(found);
  return got === format ? { wanted: types.join(","), got: found.kind } : { wanted: format, got };
}

function formatOf(found: KindedValue): string {
  if (found.kind === "integer") return "int64";
  return found.kind === "number" ? "float64" : "";
}

/** Whether the reference server takes a number for an integer: it allows for the rounding of floating-point numbers. */
export function isNearlyInteger(value: number): boolean {
  if (!Number.isFinite(value) || Math.abs(value) > Number.MAX_SAFE_INTEGER) return false;
  const whole = Math.trunc(value);
  if (value === whole) return true;
  if (value < 0 || whole === 0) return false;
  return (value - whole) / (value + whole) < 1e-9;
}

function reportMismatch(outcome: Outcome, place: Place | undefined, { wanted, got }: Mismatch): void {
  reportType(outcome, place, { value: got, complaint: `must be of type ${wanted}: ${goQuote(got)}` });
}
