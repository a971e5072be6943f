// SPDX-License-Identifier: Apache-2.0
import { tooMany } from "../field-error.ts";
import type { JsonArray } from "../json/json-value.ts";
import { type CheckContext, deferredAbove } from "./check-context.ts";
import { indexPlace, type Place } from "./finding.ts";
import { fieldOf, inBody, isFull, type Outcome, report, reportInvalid } from "./outcome.ts";
import type { SchemaNode } from "./schema-node.ts";
import { valueKey } from "./whole-value.ts";

/** A list to check against the keywords for arrays. */
export interface ListCheck {
  readonly items: JsonArray;
  readonly node: SchemaNode;
  readonly place: Place | undefined;
}

/** Checks each item of a list by its schema, how many there are, and that none comes twice where that is asked for. */
export function checkList(context: CheckContext, outcome: Outcome, { items, node, place }: ListCheck): void {
  const { minItems, maxItems } = node.limits;
  const count = items.length;
  const schema = node.items;
  if (schema) {
    const checkAt = (i: number): void =>
      context.check(context, outcome, { value: items[i], schema, place: indexPlace(place, i) });
    if (context.deferred && count > deferredAbove) {
      context.deferred.push({ size: count, depth: context.progress.depth, checkAt });
    } else {
      for (let i = 0; i < count && !isFull(outcome); i++) checkAt(i);
    }
  }
  if (minItems !== undefined && count < minItems) {
    reportInvalid(outcome, place, count, `should have at least ${minItems} items`);
  }
  if (maxItems !== undefined && count > maxItems) {
    report(outcome, inBody(place, `should have at most ${maxItems} items`), tooMany(fieldOf(place), count, maxItems));
  }
  if (node.uniqueItems && new Set(items.map(valueKey)).size < count) {
    reportInvalid(outcome, place, "", "shouldn't contain duplicates");
  }
  outcome.matches += 2;
}
