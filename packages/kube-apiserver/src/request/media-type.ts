// SPDX-License-Identifier: Apache-2.0

/** One clause of an Accept header. */
export interface MediaClause {
  readonly type: string;
  readonly subtype: string;
  readonly parameters: ReadonlyMap<string, string>;
}

/**
 * The clauses of an Accept header, the most wanted first: by weight, concrete before wildcard, else as they came. As in the reference a
 * weight of 0, or one that is not a number, only moves a clause to the end.
 */
export function parseAccept(header: string): readonly MediaClause[] {
  const clauses = splitOutsideQuotes(header, ",").flatMap((text) => parseClause(text));
  return clauses
    .sort((a, b) => b.weight - a.weight || wildcards(a.clause) - wildcards(b.clause))
    .map(({ clause }) => clause);
}

function parseClause(text: string): { readonly clause: MediaClause; readonly weight: number }[] {
  const [range = "", ...rest] = splitOutsideQuotes(text, ";").map((part) => part.trim());
  const [type = "", subtype = ""] = range.toLowerCase().split("/");
  if (type === "" || subtype === "") return [];
  const parameters = new Map(rest.map(parseParameter));
  const weight = Number(parameters.get("q") ?? "1");
  parameters.delete("q");
  return [{ clause: { type, subtype, parameters }, weight: Number.isNaN(weight) ? 0 : weight }];
}

function parseParameter(text: string): [string, string] {
  const equals = text.indexOf("=");
  if (equals === -1) return [text.toLowerCase(), ""];
  const value = text.slice(equals + 1).trim();
  const unquoted = value.startsWith('"') && value.endsWith('"') ? value.slice(1, -1).replace(/\\(.)/g, "$1") : value;
  return [text.slice(0, equals).trim().toLowerCase(), unquoted];
}

function wildcards({ type, subtype }: MediaClause): number {
  return (type === "*" ? 1 : 0) + (subtype === "*" ? 1 : 0);
}

function splitOutsideQuotes(text: string, separator: string): string[] {
  if (!text.includes('"')) return text.split(separator);
  const parts: string[] = [];
  let quoted = false;
  let start = 0;
  for (let i = 0; i < text.length; i += 1) {
    if (text[i] === '"' && text[i - 1] !== "\\") {
      quoted = !quoted;
    } else if (text[i] === separator && !quoted) {
      parts.push(text.slice(start, i));
      start = i + 1;
    }
  }
  return [...parts, text.slice(start)];
}
