// SPDX-License-Identifier: Apache-2.0
import { type FieldError, type FieldErrorType, invalidType, invalidValue } from "../errors/field-error.ts";
import type { JsonValue } from "../json/json-value.ts";
import type { SchemaNode } from "./schema-node.ts";

/** One way in which a value does not fit its schema. */
export interface SchemaFinding extends Omit<FieldError, "type"> {
  /** As the causes of a Status name it; `UnknownField` is ours, as the reference server reports those elsewhere. */
  readonly type: FieldErrorType | "UnknownField";
  /**
   * Where the value is: `spec.ports[0].name`, empty for the root. The same as `field`, except that the reference server
   * reports some findings, such as those of `oneOf`, without a field (`<nil>`) and names the place in its text.
   */
  readonly path: string;
  /** Whether a composition of schemas, such as `oneOf`, found it: then it is about the whole value. */
  readonly composed?: true;
}

/** Where a check is: a chain towards the root, turned into text only when something is found. */
export interface Place {
  readonly parent: Place | undefined;
  readonly step: string | number;
  /** Whether the step is the key of a map rather than a field of an object. */
  readonly isKey: boolean;
}

/** The place of a field. */
export function fieldPlace(parent: Place | undefined, name: string): Place {
  return { parent, step: name, isKey: false };
}

/** The place of a map's entry. */
export function keyPlace(parent: Place | undefined, key: string): Place {
  return { parent, step: key, isKey: true };
}

/** The place of a list's item. */
export function indexPlace(parent: Place | undefined, index: number): Place {
  return { parent, step: index, isKey: false };
}

/** The text of a place as schema checks print it: keys of maps after a dot, even at the root. */
export function placeText(place: Place | undefined): string {
  return stepsOf(place).reduce<string>((text, { step, isKey }) => {
    if (typeof step === "number") return `${text}[${step}]`;
    return text === "" && !isKey ? step : `${text}.${step}`;
  }, "");
}

/** The text of a place as all other checks print it: keys of maps in brackets. */
export function bracketedText(place: Place | undefined): string {
  return stepsOf(place).reduce<string>((text, { step, isKey }) => {
    if (typeof step === "number" || isKey) return `${text}[${step}]`;
    return text === "" ? step : `${text}.${step}`;
  }, "");
}

function stepsOf(place: Place | undefined): Place[] {
  const steps: Place[] = [];
  for (let at = place; at !== undefined; at = at.parent) steps.push(at);
  return steps.reverse();
}

/** What checking a value against a schema gave so far. */
export interface Outcome {
  /** By the text the reference server distinguishes findings with, so that each is reported once. */
  readonly findings: Map<string, SchemaFinding>;
  /** How many checks were made and passed, counted as the reference server does to pick the best of several failures. */
  matches: number;
  /** How long the texts of the findings are together. */
  textLength: number;
  /** Findings it says yes to are left out. */
  readonly forgives: ((finding: SchemaFinding) => boolean) | undefined;
}

/** An outcome with nothing in it. */
export function emptyOutcome(forgives?: (finding: SchemaFinding) => boolean): Outcome {
  return { findings: new Map(), matches: 0, textLength: 0, forgives };
}

/** A check ends when it has found this much: a list may have as many findings as items, and each may name all values of an enum. */
const mostFindings = 100;
const mostTextLength = 256 * 1024;

/** Whether the limit of findings is reached. */
export function isFull({ findings, textLength }: Outcome): boolean {
  return findings.size >= mostFindings || textLength >= mostTextLength;
}

/** Whether nothing was found. */
export function isClean(outcome: Outcome): boolean {
  return outcome.findings.size === 0;
}

/** Adds one outcome to another. */
export function merge(into: Outcome, from: Outcome): void {
  into.matches += from.matches;
  for (const [text, finding] of from.findings) addFinding(into, text, finding);
}

function addFinding(outcome: Outcome, text: string, finding: SchemaFinding): void {
  if (isFull(outcome) || outcome.findings.has(text) || outcome.forgives?.(finding)) return;
  outcome.findings.set(text, finding);
  outcome.textLength += text.length + finding.body.length;
}

/** Reports a finding about a field. `text` is what the library under the reference server would say. */
export function report(outcome: Outcome, text: string, error: FieldError): void {
  addFinding(outcome, text, { ...error, path: error.field === "<nil>" ? "" : error.field });
}

/** `Invalid value: <value>: <place> in body <complaint>`. */
export function reportInvalid(
  outcome: Outcome,
  place: Place | undefined,
  { value, complaint }: { readonly value: JsonValue; readonly complaint: string },
): void {
  const text = inBody(place, complaint);
  report(outcome, text, invalidValue(fieldOf(place), value, text));
}

/** The same, counted as a type mismatch. */
export function reportType(
  outcome: Outcome,
  place: Place | undefined,
  { value, complaint }: { readonly value: string; readonly complaint: string },
): void {
  const text = inBody(place, complaint);
  report(outcome, text, invalidType(fieldOf(place), value, text));
}

/** Reports what the reference server reports without a field. */
export function reportWithoutField(outcome: Outcome, place: Place | undefined, text: string): void {
  addFinding(outcome, text, { ...invalidValue(undefined, "", text), path: fieldOf(place) ?? "" });
}

/** The same for what a composition of schemas found. */
export function reportComposed(outcome: Outcome, place: Place | undefined, text: string): void {
  addFinding(outcome, text, { ...invalidValue(undefined, "", text), path: fieldOf(place) ?? "", composed: true });
}

/** The text of a complaint about a place. */
export function inBody(place: Place | undefined, complaint: string): string {
  return `${placeText(place)} in body ${complaint}`;
}

/** The field that a place is reported as; undefined for the root. */
export function fieldOf(place: Place | undefined): string | undefined {
  const text = placeText(place).replace(/^\./, "");
  return text === "" ? undefined : text;
}

/** What stays the same while one value is checked. */
export interface CheckContext {
  /** Whether missing required fields are accepted. */
  readonly partial: boolean;
  /** What the whole check shares. */
  readonly progress: CheckProgress;
  /** Inside of allOf, anyOf, oneOf and not: how many values were looked at. */
  readonly composition: { visits: number } | undefined;
  /** Takes the checks of long lists and large maps, to be made later in parts; undefined: they are made at once. */
  readonly deferred: DeferredCheck[] | undefined;
  /** Checks a value inside the current one. */
  readonly check: (context: CheckContext, outcome: Outcome, subject: Subject) => void;
}

/** The checks of the items of a list, or the members of a map. */
export interface DeferredCheck {
  readonly size: number;
  readonly depth: number;
  checkAt(index: number): void;
}

/** Lists and maps with more items than this can be deferred. */
export const deferredAbove = 100;

/** How far a check has gone. */
export interface CheckProgress {
  depth: number;
  patternSteps: number;
  /** How many values were looked at inside of compositions. */
  composedVisits: number;
}

/** A value, the schema it is checked against, and where it is. */
export interface Subject {
  readonly value: unknown;
  readonly node: SchemaNode;
  readonly place: Place | undefined;
}
