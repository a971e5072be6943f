// SPDX-License-Identifier: Apache-2.0
// The walk through a value and its schema. The order of checks, and what each adds to the count of matches, follow the
// reference server, because it reports the branch of anyOf or oneOf with the highest count.
import { invalidValue } from "../field-error.ts";
import { goQuote } from "../json/go-text.ts";
import type { JsonObject } from "../json/json-value.ts";
import { finish, type Work } from "../turns.ts";
import { checkComposition, countComposed } from "./check-composition.ts";
import type { CheckContext, DeferredCheck, Subject } from "./check-context.ts";
import { checkEnum } from "./check-enum.ts";
import { checkList } from "./check-list.ts";
import { checkNumber } from "./check-number.ts";
import { checkObject } from "./check-object.ts";
import { checkString, patternSteps } from "./check-string.ts";
import { checkNull, checkType } from "./check-type.ts";
import { placeText, type SchemaFinding } from "./finding.ts";
import { maxNesting } from "./nesting.ts";
import { emptyOutcome, isFull, type Outcome, reportWithoutField } from "./outcome.ts";
import { type SchemaNode, schemaNode } from "./schema-node.ts";
import { type KindedValue, kindedValue } from "./value-kind.ts";

/** How a value is checked. */
export interface CheckValueOptions {
  /** Accept that required fields are missing, as in the part of an object that one manager applies. */
  readonly partial?: boolean;
  /** Findings it says yes to are left out, and do not count towards the most that are reported. */
  readonly forgives?: (finding: SchemaFinding) => boolean;
}

/**
 * Checks a value against the keywords of an OpenAPI v3 schema, as the reference server checks custom resources, and says
 * so in the same words. The schema must be free of references. Never throws, whatever the value and the schema are.
 * Stops at a hundred findings, or at 256 KiB of text; the last one then says so.
 */
export function checkValue(value: unknown, schema: JsonObject, options: CheckValueOptions = {}): SchemaFinding[] {
  return finish(check(value, schema, options, undefined));
}

/** The same in parts. Findings in long lists and large maps come after those outside. */
export function checkingValue(
  value: unknown,
  schema: JsonObject,
  options: CheckValueOptions = {},
): Work<SchemaFinding[]> {
  return check(value, schema, options, []);
}

/** How many items are checked in one part. */
const itemsAtOnce = 50;

function* check(
  value: unknown,
  schema: JsonObject,
  options: CheckValueOptions,
  deferred: DeferredCheck[] | undefined,
): Work<SchemaFinding[]> {
  const outcome = emptyOutcome(options.forgives);
  const progress = { depth: 0, patternSteps: patternSteps.all, composedVisits: 0 };
  const partial = options.partial ?? false;
  const context: CheckContext = { partial, progress, composition: undefined, deferred, check: checkSubject };
  checkSubject(context, outcome, { value, schema, place: undefined });
  for (const { size, depth, checkAt } of deferred ?? []) {
    progress.depth = depth;
    for (let i = 0; i < size && !isFull(outcome); i++) {
      checkAt(i);
      if (i % itemsAtOnce === 0) yield;
    }
  }
  const findings = [...outcome.findings.values()];
  return isFull(outcome) ? [...findings, moreFindings(findings.length)] : findings;
}

/** Says that there may be more findings than are reported. */
export function moreFindings(shown: number): SchemaFinding {
  const text = `only the first ${shown} errors are shown: correct them to see whether there are more`;
  return { ...invalidValue(undefined, null, text), path: "" };
}

function checkSubject(context: CheckContext, outcome: Outcome, subject: Subject): void {
  const { value, schema, place } = subject;
  if (context.composition && countComposed(context.composition, context.progress)) return;
  if (context.progress.depth >= maxNesting) {
    reportWithoutField(outcome, place, `${goQuote(placeText(place))} is nested deeper than ${maxNesting} levels`);
    return;
  }
  const node = schemaNode(schema);
  const found = kindedValue(value);
  if (found.kind === "null") {
    checkNull(outcome, node, place);
    checkEnum(outcome, node, found, place);
    return;
  }
  context.progress.depth++;
  checkPresent(context, outcome, { ...subject, node, found });
  context.progress.depth--;
}

interface PresentSubject extends Subject {
  readonly node: SchemaNode;
  readonly found: KindedValue;
}

function checkPresent(context: CheckContext, outcome: Outcome, { value, node, found, place }: PresentSubject): void {
  checkType(outcome, node, found, place);
  checkComposition(context, outcome, { value, node, place });
  if (found.kind === "string") {
    checkString({ outcome, node, place, value: found.value, progress: context.progress });
  } else if (found.kind === "integer" || found.kind === "number") {
    checkNumber({ outcome, node, place, isInteger: found.kind === "integer", value: found.value });
  } else if (found.kind === "array") {
    checkList(context, outcome, { items: found.value, node, place });
  }
  checkEnum(outcome, node, found, place);
  if (found.kind === "object") checkObject(context, outcome, { members: found.value, node, place });
  outcome.matches += 2;
}
