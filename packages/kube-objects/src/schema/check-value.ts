// SPDX-License-Identifier: Apache-2.0
// The walk through a value and its schema. The order of checks, and what each adds to the count of matches, follow the
// reference server, because it reports the branch of anyOf or oneOf with the highest count.
import { finish, type Work } from "@purlin/base";
import { invalidValue, requiredValue, shownText, tooLong, tooMany } from "../errors/field-error.ts";
import { goQuote } from "../json/go-text.ts";
import { type JsonArray, type JsonObject, ownValue } from "../json/json-value.ts";
import { linearPattern } from "../regexp/linear-pattern.ts";
import { checkComposition, countComposed } from "./check-composition.ts";
import { checkEnum, checkNull, checkNumber, checkType } from "./check-scalar.ts";
import { stringFormatCheck } from "./formats.ts";
import {
  type CheckContext,
  type CheckProgress,
  type DeferredCheck,
  deferredAbove,
  emptyOutcome,
  fieldOf,
  fieldPlace,
  inBody,
  indexPlace,
  isFull,
  keyPlace,
  type Outcome,
  type Place,
  placeText,
  report,
  reportComposed,
  reportInvalid,
  reportType,
  type SchemaFinding,
  type Subject,
} from "./outcome.ts";
import { SchemaNode, schemaNode } from "./schema-node.ts";
import { type KindedValue, kindedValue, maxNesting, valueKey } from "./value-kind.ts";

/** What one string may take, and what all strings of one value may take together: well under a second each. */
const patternSteps: { readonly each: number; readonly all: number } = { each: 10_000_000, all: 40_000_000 };

/** A string to check, and what is needed to do so. */
interface StringCheck {
  readonly outcome: Outcome;
  readonly node: SchemaNode;
  readonly place: Place | undefined;
  readonly value: string;
  readonly progress: CheckProgress;
}

/** A list to check against the keywords for arrays. */
interface ListCheck {
  readonly items: JsonArray;
  readonly node: SchemaNode;
  readonly place: Place | undefined;
}

/** How a value is checked. */
export interface CheckValueOptions {
  /** Accept that required fields are missing, as in the part of an object that one manager applies. */
  readonly partial?: boolean;
  /** Findings it says yes to are left out, and do not count towards the most that are reported. */
  readonly forgives?: (finding: SchemaFinding) => boolean;
  /** Take a value that is to be an integer or a string for one of any type, as where the reference checks defaults. */
  readonly ignoresIntOrString?: boolean;
}

/**
 * Checks a value against the keywords of an OpenAPI v3 schema, as the reference server checks custom resources, and says
 * so in the same words. The schema must be free of references. Never throws, whatever the value and the schema are.
 * Stops at a hundred findings, or at 256 KiB of text; the last one then says so.
 */
export function checkValue(value: unknown, schema: JsonObject, options: CheckValueOptions = {}): SchemaFinding[] {
  const { ignoresIntOrString = false } = options;
  const node = ignoresIntOrString ? new SchemaNode(schema, { ignoresIntOrString }) : schemaNode(schema);
  return finish(check(value, node, { options, deferred: undefined }));
}

/** The same in parts. Findings in long lists and large maps come after those outside. */
export function checkingValue(
  value: unknown,
  schema: JsonObject,
  options: CheckValueOptions = {},
): Work<SchemaFinding[]> {
  return check(value, schemaNode(schema), { options, deferred: [] });
}

/** How many items are checked in one part. */
const itemsAtOnce = 50;

function* check(
  value: unknown,
  node: SchemaNode,
  { options, deferred }: { readonly options: CheckValueOptions; readonly deferred: DeferredCheck[] | undefined },
): Work<SchemaFinding[]> {
  const outcome = emptyOutcome(options.forgives);
  const progress = { depth: 0, patternSteps: patternSteps.all, composedVisits: 0 };
  const partial = options.partial ?? false;
  const context: CheckContext = { partial, progress, composition: undefined, deferred, check: checkSubject };
  checkSubject(context, outcome, { value, node, place: undefined });
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
function moreFindings(shown: number): SchemaFinding {
  const text = `only the first ${shown} errors are shown: correct them to see whether there are more`;
  return { ...invalidValue(undefined, null, text), path: "" };
}

function checkSubject(context: CheckContext, outcome: Outcome, subject: Subject): void {
  const { value, node, place } = subject;
  if (context.composition && countComposed(context.composition, context.progress)) return;
  if (context.progress.depth >= maxNesting) {
    reportComposed(outcome, place, `${goQuote(placeText(place))} is nested deeper than ${maxNesting} levels`);
    return;
  }
  const found = kindedValue(value);
  if (found.kind === "null") {
    checkNull(outcome, node, place);
    checkEnum(outcome, { node, found, place });
    return;
  }
  context.progress.depth++;
  checkPresent(context, outcome, { ...subject, found });
  context.progress.depth--;
}

interface PresentSubject extends Subject {
  readonly found: KindedValue;
}

function checkPresent(context: CheckContext, outcome: Outcome, subject: PresentSubject): void {
  const { value, node, found, place } = subject;
  checkType(outcome, subject);
  checkComposition(context, outcome, { value, node, place });
  if (found.kind === "string") {
    checkString({ outcome, node, place, value: found.value, progress: context.progress });
  } else if (found.kind === "integer" || found.kind === "number") {
    checkNumber({ outcome, node, place, isInteger: found.kind === "integer", value: found.value });
  } else if (found.kind === "array") {
    checkList(context, outcome, { items: found.value, node, place });
  }
  checkEnum(outcome, subject);
  if (found.kind === "object") checkObject(context, outcome, { members: found.value, node, place });
  outcome.matches += 2;
}

/** Checks each item of a list by its schema, how many there are, and that none comes twice where that is asked for. */
function checkList(context: CheckContext, outcome: Outcome, { items, node, place }: ListCheck): void {
  const { minItems, maxItems } = node.limits;
  const count = items.length;
  const ofItems = node.items;
  if (ofItems) {
    const checkAt = (i: number): void =>
      context.check(context, outcome, { value: items[i], node: ofItems, place: indexPlace(place, i) });
    if (context.deferred && count > deferredAbove) {
      context.deferred.push({ size: count, depth: context.progress.depth, checkAt });
    } else {
      for (let i = 0; i < count && !isFull(outcome); i++) checkAt(i);
    }
  }
  if (minItems !== undefined && count < minItems) {
    reportInvalid(outcome, place, { value: count, complaint: `should have at least ${minItems} items` });
  }
  if (maxItems !== undefined && count > maxItems) {
    report(outcome, inBody(place, `should have at most ${maxItems} items`), tooMany(fieldOf(place), count, maxItems));
  }
  if (node.uniqueItems && new Set(items.map(valueKey)).size < count) {
    reportInvalid(outcome, place, { value: "", complaint: "shouldn't contain duplicates" });
  }
  outcome.matches += 2;
}

/** Checks a string against its lengths and pattern, reporting the first that fails, and against its format. */
function checkString(check: StringCheck): void {
  const { outcome, node, place, value } = check;
  const { minLength, maxLength } = node.limits;
  if (maxLength !== undefined && isLongerThan(value, maxLength)) {
    report(outcome, inBody(place, `should be at most ${maxLength} chars long`), tooLong(fieldOf(place), maxLength));
  } else if (minLength !== undefined && minLength > 0 && !isLongerThan(value, minLength - 1)) {
    reportInvalid(outcome, place, { value, complaint: `should be at least ${minLength} chars long` });
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
    reportInvalid(outcome, place, {
      value,
      complaint: `should match '${node.pattern}, but pattern is invalid: ${pattern.problem}'`,
    });
  } else if (steps > patternSteps.each || progress.patternSteps < 0) {
    reportInvalid(outcome, place, { value: "", complaint: `is too long to be matched with '${node.pattern}'` });
  } else if (!pattern.test(value)) {
    reportInvalid(outcome, place, { value, complaint: `should match '${node.pattern}'` });
  }
}

function checkFormat({ outcome, node, place, value }: StringCheck): void {
  const isOfFormat = stringFormatCheck(node.format);
  if (!isOfFormat) return;
  outcome.matches++;
  if (!isOfFormat(value))
    reportType(outcome, place, { value, complaint: `must be of type ${node.format}: ${shownText(value)}` });
}

/** An object to check against the keywords for objects. */
interface ObjectCheck {
  readonly members: JsonObject;
  readonly node: SchemaNode;
  readonly place: Place | undefined;
}

/** The context of a check and where its findings go. */
interface Run {
  readonly context: CheckContext;
  readonly outcome: Outcome;
}

/** Checks how many members an object has, that required ones are there and no forbidden ones, and each by its schema. */
function checkObject(context: CheckContext, outcome: Outcome, check: ObjectCheck): void {
  const keys = Object.keys(check.members);
  const run = { context, outcome };
  let count = 0;
  if (context.deferred && keys.length > deferredAbove) {
    const checkAt = (i: number): void => void checkMember(run, check, keys[i] ?? "");
    context.deferred.push({ size: keys.length, depth: context.progress.depth, checkAt });
    count = keys.length;
  } else {
    for (const key of keys) {
      if (isFull(outcome)) return;
      if (checkMember(run, check, key)) count++;
    }
  }
  checkCount(outcome, check, count);
  if (!context.partial) checkRequired(outcome, check);
  outcome.matches++;
}

/** Checks a member by its schema. False when it is not there, which undefined means. */
function checkMember({ context, outcome }: Run, { members, node, place }: ObjectCheck, key: string): boolean {
  const value = members[key];
  if (value === undefined) return false;
  const inside = node.member(key);
  if (inside) {
    const inner = Object.hasOwn(node.properties, key) ? fieldPlace(place, key) : keyPlace(place, key);
    context.check(context, outcome, { value, node: inside, place: inner });
  } else if (node.additionalProperties === false && !Object.hasOwn(node.properties, key)) {
    const text = `${placeText(place)}.${key} in body is a forbidden property`;
    report(outcome, text, invalidValue(fieldOf(place), key, text));
  }
  return true;
}

function checkCount(outcome: Outcome, { node, place }: ObjectCheck, count: number): void {
  const { minProperties, maxProperties } = node.limits;
  if (minProperties !== undefined && count < minProperties) {
    reportInvalid(outcome, place, { value: count, complaint: `should have at least ${minProperties} properties` });
  }
  if (maxProperties !== undefined && count > maxProperties) {
    const text = inBody(place, `should have at most ${maxProperties} properties`);
    report(outcome, text, tooMany(fieldOf(place), count, maxProperties));
  }
}

function checkRequired(outcome: Outcome, { members, node, place }: ObjectCheck): void {
  for (const key of node.required) {
    if (ownValue(members, key) !== undefined) continue;
    const missing = keyPlace(place, key);
    report(outcome, inBody(missing, "is required"), requiredValue(fieldOf(missing)));
  }
}
