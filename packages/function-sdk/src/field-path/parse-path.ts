// SPDX-License-Identifier: Apache-2.0
import { FunctionError } from "../errors/function-error.ts";

/** One step of a field path: a member's name, a list index, or every member or item. */
export type Segment = string | number | typeof wildcard;

/** Stands for every member of an object or every item of a list. */
export const wildcard: unique symbol = Symbol("*");

const largestIndex = 0xffff_ffff;

// Functions read the same few paths on every call. Bounded, as a path may also be made from data.
const remembered = new Map<string, readonly Segment[]>();
const mostRemembered = 512;

/**
 * Splits a path such as `spec.ports[0].name` or `metadata.labels['app.kubernetes.io/name']` into its steps. Throws
 * INVALID_PATH, naming the position, when the text is not a field path.
 */
export function parsePath(path: string): readonly Segment[] {
  const known = remembered.get(path);
  if (known !== undefined) return known;
  const segments = split(path);
  if (remembered.size < mostRemembered) remembered.set(path, segments);
  return segments;
}

function split(path: string): readonly Segment[] {
  if (path === "") throw invalid(path, 0, "is empty");
  const segments: Segment[] = [];
  let position = 0;
  while (position < path.length) {
    if (path[position] === "[") {
      const end = bracketEnd(path, position);
      segments.push(bracketSegment(path, position, end));
      position = afterBracket(path, end);
    } else {
      const end = fieldEnd(path, position);
      segments.push(path.slice(position, end));
      position = afterField(path, end);
    }
  }
  return segments;
}

function fieldEnd(path: string, start: number): number {
  let end = start;
  while (end < path.length && path[end] !== "." && path[end] !== "[") {
    if (path[end] === "]") throw invalid(path, end, 'has a "]" without a "["');
    end++;
  }
  if (end === start) throw invalid(path, start, `has an unexpected "${path[start]}"`);
  return end;
}

/** Skips the dot that must be followed by another field. */
function afterField(path: string, end: number): number {
  if (path[end] !== ".") return end;
  const next = path[end + 1];
  if (next === undefined) throw invalid(path, end, 'ends with a "."');
  if (next === "." || next === "[") throw invalid(path, end + 1, `has an unexpected "${next}"`);
  return end + 1;
}

function afterBracket(path: string, end: number): number {
  const next = path[end];
  if (next === undefined || next === "[") return end;
  if (next !== ".") throw invalid(path, end, `has an unexpected "${next}" after a bracket`);
  return afterField(path, end);
}

/** The position after the closing bracket. A quoted name may hold brackets itself. */
function bracketEnd(path: string, start: number): number {
  const quote = path[start + 1];
  const quoted = quote === "'" || quote === '"';
  const close = path.indexOf(quoted ? `${quote}]` : "]", start + (quoted ? 2 : 1));
  if (close === -1) throw invalid(path, start, 'has a "[" that is not closed');
  return close + (quoted ? 2 : 1);
}

function bracketSegment(path: string, start: number, end: number): Segment {
  const inner = path.slice(start + 1, end - 1);
  if (inner === "") throw invalid(path, start, "has empty brackets");
  if (inner[0] === "'" || inner[0] === '"') return inner.slice(1, -1);
  if (inner === "*") return wildcard;
  if (inner.includes("[")) throw invalid(path, start, 'has a "[" that is not closed');
  return /^\d+$/.test(inner) && Number(inner) <= largestIndex ? Number(inner) : inner;
}

function invalid(path: string, position: number, problem: string): FunctionError {
  return new FunctionError("INVALID_PATH", `field path ${JSON.stringify(path)} ${problem} at position ${position}`);
}

/** The text of a path, in the form {@link parsePath} reads. */
export function formatPath(segments: readonly Segment[]): string {
  let text = "";
  for (const segment of segments) {
    if (segment === wildcard) text += "[*]";
    else if (typeof segment === "number") text += `[${segment}]`;
    else if (!/^[A-Za-z_][\w-]*$/.test(segment)) text += segment.includes("']") ? `["${segment}"]` : `['${segment}']`;
    else text += text === "" ? segment : `.${segment}`;
  }
  return text;
}
