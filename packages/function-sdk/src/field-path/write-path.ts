// SPDX-License-Identifier: Apache-2.0
import { type JsonObject, type JsonValue, setOwn } from "@purlin/function-protocol";
import { formatPath, parsePath, type Segment, wildcard } from "./parse-path.ts";
import { childOf, FieldPathError, notArray, notObject, wildcardRefused } from "./read-path.ts";

/** A list grown by a path ends here: an index beyond it is a mistake, and filling up to it would only cost memory. */
const largestWritableIndex = 1024;

type Container = JsonObject | JsonValue[];

/**
 * Sets the value at a path, making the objects and lists on the way that are missing or null and filling lists with
 * nulls. Frozen objects are copied, only along the path; the rest is changed in place. Returns the root, which is a copy
 * when it was frozen. When it throws, nothing was changed.
 */
export function writePath(root: JsonObject, path: string, value: JsonValue): JsonObject {
  const segments = parsePath(path);
  checkWritable(root, segments);
  const top = thawed(root);
  let container: Container = top;
  for (const [position, segment] of segments.entries()) {
    const next = segments[position + 1];
    const child: JsonValue = next === undefined ? value : containerFor(childOf(container, segment), next);
    setChild(container, segment, child);
    if (next !== undefined) container = child as Container;
  }
  return top;
}

/** Throws if the path asks for what cannot be, before anything is touched. */
function checkWritable(root: JsonObject, segments: readonly Segment[]): void {
  let value: JsonValue | undefined = root;
  for (const [position, segment] of segments.entries()) {
    if (segment === wildcard) throw wildcardRefused(segments);
    if (typeof segment === "number" && segment > largestWritableIndex) throw indexTooLarge(segments, position);
    if (value === undefined || value === null) continue;
    const before = formatPath(segments.slice(0, position));
    if (typeof segment === "number" && !Array.isArray(value)) throw notArray(before, value);
    if (typeof segment === "string" && (typeof value !== "object" || Array.isArray(value))) {
      throw notObject(before, value);
    }
    value = childOf(value, segment);
  }
}

/** The container to go on with: the one that is there, or a new one of the kind the next step needs. */
function containerFor(existing: JsonValue | undefined, next: Segment): Container {
  if (existing === undefined || existing === null) return typeof next === "number" ? [] : {};
  return thawed(existing as Container);
}

function setChild(container: Container, segment: Segment, value: JsonValue): void {
  if (!Array.isArray(container)) {
    setOwn(container, segment as string, value);
    return;
  }
  const index = segment as number;
  while (container.length < index) container.push(null);
  container[index] = value;
}

/** Removes the value at a path; later items of a list move up. A missing path is not an error. Copies and returns as writePath does. */
export function deletePath(root: JsonObject, path: string): JsonObject {
  const segments = parsePath(path);
  if (segments.includes(wildcard)) throw wildcardRefused(segments);
  if (!exists(root, segments)) return root;
  const top = thawed(root);
  let container: Container = top;
  for (const segment of segments.slice(0, -1)) {
    const child: Container = thawed(childOf(container, segment) as Container);
    setChild(container, segment, child);
    container = child;
  }
  removeChild(container, segments.at(-1) as Segment);
  return top;
}

function exists(root: JsonObject, segments: readonly Segment[]): boolean {
  let value: JsonValue | undefined = root;
  for (const segment of segments) value = value === undefined ? undefined : childOf(value, segment);
  return value !== undefined;
}

function removeChild(container: Container, segment: Segment): void {
  if (Array.isArray(container)) container.splice(segment as number, 1);
  else delete container[segment as string];
}

/** Copies frozen values: they belong to a request, or to other code that does not expect changes. */
function thawed<T extends Container>(container: T): T {
  if (!Object.isFrozen(container)) return container;
  return (Array.isArray(container) ? [...container] : { ...container }) as T;
}

function indexTooLarge(segments: readonly Segment[], position: number): FieldPathError {
  const problem = `the index is above ${largestWritableIndex}, the largest that can be written`;
  return new FieldPathError("INDEX_TOO_LARGE", formatPath(segments.slice(0, position + 1)), problem);
}
