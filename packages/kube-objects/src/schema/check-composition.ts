// SPDX-License-Identifier: Apache-2.0

import { goQuote } from "../json/go-text.ts";
import {
  type CheckContext,
  type CheckProgress,
  emptyOutcome,
  isClean,
  merge,
  type Outcome,
  type Place,
  placeText,
  reportComposed,
} from "./outcome.ts";
import type { SchemaNode } from "./schema-node.ts";

/** A value to check against allOf, anyOf, oneOf and not. */
interface CompositionCheck {
  readonly value: unknown;
  readonly node: SchemaNode;
  readonly place: Place | undefined;
}

/** Checks how many of several schemas a value fits. Of those it should fit, the one that came closest is reported. */
export function checkComposition(whole: CheckContext, outcome: Outcome, check: CompositionCheck): void {
  outcome.matches += 2;
  if (!check.node.isComposed) return;
  const { anyOf, oneOf, allOf, not } = check.node;
  const composition = whole.composition ?? { visits: 0 };
  const context: CheckContext = { ...whole, composition, deferred: undefined };
  if (anyOf.length > 0) checkAnyOf(context, outcome, check);
  if (oneOf.length > 0) checkOneOf(context, outcome, check);
  if (allOf.length > 0) checkAllOf(context, outcome, check);
  // What may still be added to a partial value could break a `not`; what is there must not fulfil it by itself.
  if (not && isClean(outcomeOf({ ...context, partial: false }, check, not))) {
    complain(outcome, check, "must not validate the schema (not)");
  }
  if (whole.composition === undefined && isTooMuch(composition, whole.progress)) {
    complain(outcome, check, "is too large to be checked against allOf, anyOf, oneOf or not");
  }
}

/**
 * Most values that are looked at for one value with alternatives, and for all in an object: with each alternative, all that is in a value
 * is checked again.
 */
const mostVisits = { each: 100_000, all: 2_000_000 };

function isTooMuch({ visits }: { readonly visits: number }, { composedVisits }: CheckProgress): boolean {
  return visits > mostVisits.each || composedVisits > mostVisits.all;
}

/** Counts one value; true when that is one too many. */
export function countComposed(composition: { visits: number }, progress: CheckProgress): boolean {
  composition.visits++;
  progress.composedVisits++;
  return isTooMuch(composition, progress);
}

function outcomeOf(context: CheckContext, { value, place }: CompositionCheck, node: SchemaNode): Outcome {
  const outcome = emptyOutcome();
  context.check(context, outcome, { value, node, place });
  return outcome;
}

function checkAnyOf(context: CheckContext, outcome: Outcome, check: CompositionCheck): void {
  let best: Outcome | undefined;
  for (const alternative of check.node.anyOf) {
    const result = outcomeOf(context, check, alternative);
    if (isClean(result)) {
      merge(outcome, result);
      return;
    }
    best = better(best, result);
  }
  complain(outcome, check, "must validate at least one schema (anyOf)");
  if (best) merge(outcome, best);
}

function checkOneOf(context: CheckContext, outcome: Outcome, check: CompositionCheck): void {
  const results = check.node.oneOf.map((one) => outcomeOf(context, check, one));
  const clean = results.filter(isClean);
  const [first] = clean;
  if (first && (clean.length === 1 || isStillOpen(context, check))) {
    merge(outcome, first);
    return;
  }
  const found = first ? `Found ${clean.length} valid alternatives` : "Found none valid";
  complain(outcome, check, `must validate one and only one schema (oneOf). ${found}`);
  const best = first ? undefined : results.reduce<Outcome | undefined>(better, undefined);
  if (best) merge(outcome, best);
}

// Alternatives often differ in what they require. A partial value that fits several fits none of them completely yet.
function isStillOpen(context: CheckContext, check: CompositionCheck): boolean {
  if (!context.partial) return false;
  const complete: CheckContext = { ...context, partial: false };
  return check.node.oneOf.filter((one) => isClean(outcomeOf(complete, check, one))).length <= 1;
}

function checkAllOf(context: CheckContext, outcome: Outcome, check: CompositionCheck): void {
  const results = check.node.allOf.map((one) => outcomeOf(context, check, one));
  for (const result of results) merge(outcome, result);
  const failed = results.filter((result) => !isClean(result)).length;
  if (failed === 0) return;
  complain(
    outcome,
    check,
    `must validate all the schemas (allOf)${failed === results.length ? ". None validated" : ""}`,
  );
}

function better(best: Outcome | undefined, next: Outcome): Outcome {
  return best === undefined || next.matches > best.matches ? next : best;
}

function complain(outcome: Outcome, { place }: CompositionCheck, complaint: string): void {
  reportComposed(outcome, place, `${goQuote(placeText(place))} ${complaint}`);
}
