// SPDX-License-Identifier: Apache-2.0
import { type Location, lineText, type Source } from "./source.ts";

/** One problem found while an expression was compiled. */
export interface Issue {
  readonly location: Location;
  readonly message: string;
}

// Kubernetes prints no more than these; what is left out is counted.
const maxIssues = 100;
const maxSnippetBytes = 16_384;

/** Problems in the form the Kubernetes API server prints them: message, source line, caret. */
export function renderIssues(source: Source, issues: readonly Issue[]): string {
  const kept = issues.slice(0, maxIssues);
  const sorted = kept.toSorted((a, b) => a.location.line - b.location.line || a.location.column - b.location.column);
  const lines = sorted.map((issue) => renderIssue(source, issue));
  if (issues.length > maxIssues) lines.push(`${issues.length - maxIssues} more errors were truncated`);
  return lines.join("\n");
}

function renderIssue(source: Source, { location, message }: Issue): string {
  const head = `ERROR: <input>:${location.line}:${location.column + 1}: ${message}`;
  const line = lineText(source, location.line);
  if (line === undefined || Buffer.byteLength(line) > maxSnippetBytes) return head;
  const snippet = line.replaceAll("\t", " ");
  return `${head}\n | ${snippet}\n | ${caret(snippet, location.column)}`;
}

// Characters outside ASCII are wide in many fonts, so their markers are the full-width ones.
function caret(snippet: string, column: number): string {
  const points = Array.from(snippet);
  const isWide = (index: number): boolean => (points[index] ?? "").charCodeAt(0) > 0x7f;
  const dots = Math.max(0, Math.min(column, points.length));
  let marks = "";
  for (let index = 0; index < dots; index++) marks += isWide(index) ? "\uff0e" : ".";
  return marks + (isWide(dots) ? "\uff3e" : "^");
}
