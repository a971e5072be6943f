// SPDX-License-Identifier: Apache-2.0
// Field selectors: `metadata.name=a,status.phase!=Running`. All terms must hold. Which fields a kind offers is the
// server's business.

import type { StatusError } from "../errors/status-error.ts";
import { badRequest } from "../errors/status-error-constructors.ts";
import { goQuote } from "../json/go-text.ts";
import { compareUtf8 } from "../json/json-value.ts";

/** One condition on one field. */
interface FieldRequirement {
  readonly field: string;
  readonly operator: "=" | "!=";
  readonly value: string;
}

/** A parsed field selector: every term must hold, so an empty list selects everything. */
export type FieldSelector = readonly FieldRequirement[];

/** Parses a field selector. Throws BadRequest with the reference's text. */
export function parseFieldSelector(text: string): FieldSelector {
  return splitTerms(text)
    .sort(compareUtf8)
    .filter((term) => term !== "")
    .map((term) => parseTerm(term, text))
    .filter(({ field, value }) => field !== "" || value !== "");
}

// A backslash keeps the next character from ending a term.
function splitTerms(text: string): string[] {
  const terms: string[] = [];
  let start = 0;
  for (let i = 0; i < text.length; i++) {
    const char = text.charAt(i);
    if (char === "\\") i++;
    else if (char === ",") {
      terms.push(text.slice(start, i));
      start = i + 1;
    }
  }
  return [...terms, text.slice(start)];
}

const operatorPattern = /!=|==|=/;

function parseTerm(term: string, selector: string): FieldRequirement {
  const found = operatorPattern.exec(term);
  if (!found) throw badRequest(`invalid selector: '${selector}'; can't understand '${term}'`);
  const [operator] = found;
  const value = unescapeFieldValue(term.slice(found.index + operator.length));
  return { field: term.slice(0, found.index), operator: operator === "!=" ? "!=" : "=", value };
}

function unescapeFieldValue(text: string): string {
  if (!/[\\,=]/.test(text)) return text;
  let out = "";
  let escaped = false;
  for (const char of text) {
    if (escaped) {
      if (!"\\,=".includes(char)) throw badEscape(`\\${char}`);
      out += char;
      escaped = false;
    } else if (char === "\\") {
      escaped = true;
    } else if (char === "," || char === "=") {
      throw badRequest(`invalid field selector: unescaped character in value: ${char.charCodeAt(0)}`);
    } else {
      out += char;
    }
  }
  if (escaped) throw badEscape("\\");
  return out;
}

const badEscape = (sequence: string): StatusError =>
  badRequest(`invalid field selector: invalid escape sequence: ${sequence}`);

/** A value escaped for use in a field selector. */
function escapeFieldValue(value: string): string {
  return value.replace(/[\\,=]/g, "\\$&");
}

/** The selector as text that parses to the same selector. */
export function formatFieldSelector(selector: FieldSelector): string {
  return selector.map(({ field, operator, value }) => `${field}${operator}${escapeFieldValue(value)}`).join(",");
}

/** Whether an object is selected; `fieldValue` gives its value of a field, empty when it has none. */
export function matchesFields(selector: FieldSelector, fieldValue: (field: string) => string): boolean {
  return selector.every(({ field, operator, value }) => (fieldValue(field) === value) === (operator === "="));
}

/** The one value the selector requires a field to have, if it does. */
export function exactFieldValue(selector: FieldSelector, field: string): string | undefined {
  return selector.find((term) => term.operator === "=" && term.field === field)?.value;
}

/** 400 for a field that a kind with its own list of fields does not offer. */
export function fieldLabelNotSupported(field: string): StatusError {
  return badRequest(`field label not supported: ${field}`);
}

/** 400 for a field of a kind that offers only name and namespace. */
export function unknownFieldSelector(field: string): StatusError {
  return badRequest(`${goQuote(field)} is not a known field selector: only "metadata.name", "metadata.namespace"`);
}
