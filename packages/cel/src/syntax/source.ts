// SPDX-License-Identifier: Apache-2.0
/** A place in an expression: line from 1, column from 0, both in code points. `noLocation` has line -1. */
export interface Location {
  readonly line: number;
  readonly column: number;
}

export const noLocation: Location = { line: -1, column: -1 };

/** The text of an expression, addressed by code point as CEL's messages are. */
export interface Source {
  readonly text: string;
  readonly points: readonly string[];
  /** Where each line after the first starts. */
  readonly lineStarts: readonly number[];
}

export function createSource(text: string): Source {
  const points = Array.from(text);
  const lineStarts: number[] = [];
  points.forEach((point, index) => {
    if (point === "\n") lineStarts.push(index + 1);
  });
  return { text, points, lineStarts };
}

export function locationOf(source: Source, offset: number): Location {
  let line = 1;
  let start = 0;
  for (const lineStart of source.lineStarts) {
    if (lineStart > offset) break;
    line++;
    start = lineStart;
  }
  return { line, column: offset - start };
}

/** One line of the text without its line break, or undefined when there is no such line. */
export function lineText(source: Source, line: number): string | undefined {
  if (line < 1 || line > source.lineStarts.length + 1 || source.points.length === 0) return undefined;
  const start = line === 1 ? 0 : source.lineStarts[line - 2];
  const next = source.lineStarts[line - 1];
  return source.points.slice(start, next === undefined ? undefined : next - 1).join("");
}

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
