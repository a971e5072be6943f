// SPDX-License-Identifier: Apache-2.0
import { type FieldError, invalidType, invalidValue } from "../errors/field-error.ts";
import type { JsonValue } from "../json/json-value.ts";
import type { Place, SchemaFinding } from "./finding.ts";
import { placeText } from "./finding.ts";

/** What checking a value against a schema gave so far. */
export interface Outcome {
  /** By the text the reference server tells findings apart with, so that each is reported once. */
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

/** A check ends when it has found so much: a list may have as many findings as items, and each may name all values of an enum. */
const mostFindings = 100;
const mostTextLength = 256 * 1024;

/** Whether so much was found that no more is looked for. */
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

/** The text of a complaint about a place. */
export function inBody(place: Place | undefined, complaint: string): string {
  return `${placeText(place)} in body ${complaint}`;
}

/** The field that a place is reported as; undefined for the root. */
export function fieldOf(place: Place | undefined): string | undefined {
  const text = placeText(place).replace(/^\./, "");
  return text === "" ? undefined : text;
}
