// SPDX-License-Identifier: Apache-2.0
import { tooLong } from "../field-error.ts";
import { goQuote } from "../json/go-text.ts";
import type { CheckProgress } from "./check-context.ts";
import type { Place } from "./finding.ts";
import { stringFormatCheck } from "./formats.ts";
import { linearPattern } from "./linear-pattern.ts";
import { fieldOf, inBody, type Outcome, report, reportInvalid, reportType } from "./outcome.ts";
import type { SchemaNode } from "./schema-node.ts";

/** What one string may take, and what all strings of one value may take together: well under a second each. */
export const patternSteps: { readonly each: number; readonly all: number } = { each: 10_000_000, all: 40_000_000 };

/** A string to check, and what is needed to do so. */
export interface StringCheck {
  readonly outcome: Outcome;
  readonly node: SchemaNode;
  readonly place: Place | undefined;
  readonly value: string;
  readonly progress: CheckProgress;
}

/** Checks a string against its lengths and pattern, reporting the first that fails, and against its format. */
export function checkString(check: StringCheck): void {
  const { outcome, node, place, value } = check;
  const { minLength, maxLength } = node.limits;
  if (maxLength !== undefined && isLongerThan(value, maxLength)) {
    report(outcome, inBody(place, `should be at most ${maxLength} chars long`), tooLong(fieldOf(place), maxLength));
  } else if (minLength !== undefined && minLength > 0 && !isLongerThan(value, minLength - 1)) {
    reportInvalid(outcome, place, value, `should be at least ${minLength} chars long`);
  } else if (node.pattern !== "") {
    checkPattern(check);
  }
  outcome.matches++;
  if (node.format !== "") checkFormat(check);
}

// Characters are code points. Counting them is needed only when the number of code units does not decide.
function isLongerThan(text: string, limit: number): boolean {
  if (text.length <= limit) return false;
  if (text.length > limit * 2 + 1) return true;
  let count = 0;
  for (const _ of text) if (++count > limit) return true;
  return false;
}

function checkPattern({ outcome, node, place, value, progress }: StringCheck): void {
  const pattern = linearPattern(node.pattern);
  const steps = pattern.steps(value.length);
  progress.patternSteps -= steps;
  if (pattern.problem !== undefined) {
    reportInvalid(outcome, place, value, `should match '${node.pattern}, but pattern is invalid: ${pattern.problem}'`);
  } else if (steps > patternSteps.each || progress.patternSteps < 0) {
    reportInvalid(outcome, place, "", `is too long to be matched with '${node.pattern}'`);
  } else if (!pattern.test(value)) {
    reportInvalid(outcome, place, value, `should match '${node.pattern}'`);
  }
}

function checkFormat({ outcome, node, place, value }: StringCheck): void {
  const isOfFormat = stringFormatCheck(node.format);
  if (!isOfFormat) return;
  outcome.matches++;
  if (!isOfFormat(value)) reportType(outcome, place, value, `must be of type ${node.format}: ${goQuote(value)}`);
}
