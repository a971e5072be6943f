// SPDX-License-Identifier: Apache-2.0
import { isJsonObject, type JsonObject, type JsonValue, setOwn } from "@purlin/function-protocol";
import { FunctionError } from "../errors/function-error.ts";
import { formatPath, parsePath, type Segment, wildcard } from "./parse-path.ts";

/**
 * The value at a path. Throws NOT_FOUND when a member or item on the way is missing or null, NOT_OBJECT or NOT_ARRAY when
 * something on the way is of another kind.
 */
export function readPath(root: JsonObject, path: string): JsonValue {
  const value = findPath(root, path);
  if (value === undefined) throw notFound(root, parsePath(path));
  return value;
}

/** As {@link readPath}, but undefined when there is nothing. Most fields are optional, and throwing is slow. */
export function findPath(root: JsonObject, path: string): JsonValue | undefined {
  const segments = parsePath(path);
  let value: JsonValue = root;
  for (let position = 0; position < segments.length; position++) {
    const segment = segments[position] as Segment;
    const child = childOf(value, segment);
    if (child === undefined) {
      checkContainer(value, segments, position);
      return undefined;
    }
    value = child;
  }
  return value;
}

function checkContainer(container: JsonValue, segments: readonly Segment[], position: number): void {
  const segment = segments[position];
  if (segment === wildcard) throw wildcardRefused(segments);
  if (container === null) return;
  const before = formatPath(segments.slice(0, position));
  if (typeof segment === "number" && !Array.isArray(container)) throw notArray(before, container);
  if (typeof segment === "string" && !isJsonObject(container)) throw notObject(before, container);
}

function notFound(root: JsonObject, segments: readonly Segment[]): FieldPathError {
  let value: JsonValue = root;
  let position = 0;
  for (; position < segments.length; position++) {
    const child = childOf(value, segments[position] as Segment);
    if (child === undefined) break;
    value = child;
  }
  const problem = Array.isArray(value) ? `the list has ${value.length} items` : "no such field";
  return new FieldPathError("NOT_FOUND", formatPath(segments.slice(0, position + 1)), problem);
}

/** The member or item a step leads to. What an object inherits is not a member. */
export function childOf(container: JsonValue, segment: Segment): JsonValue | undefined {
  if (Array.isArray(container)) return typeof segment === "number" ? container[segment] : undefined;
  if (typeof segment !== "string" || typeof container !== "object" || container === null) return undefined;
  return Object.hasOwn(container, segment) ? container[segment] : undefined;
}

/** A path with wildcards as the paths of everything it stands for, in the order of the object. Missing parts: none. */
export function expandPath(root: JsonObject, path: string): string[] {
  let found: { readonly path: Segment[]; readonly value: JsonValue }[] = [{ path: [], value: root }];
  for (const segment of parsePath(path)) {
    found = found.flatMap(({ path: at, value }) =>
      children(value, segment).map(([key, child]) => ({ path: [...at, key], value: child })),
    );
  }
  return found.map((one) => formatPath(one.path));
}

function children(value: JsonValue, segment: Segment): [Segment, JsonValue][] {
  if (segment === wildcard) {
    if (Array.isArray(value)) return value.map((item, index) => [index, item]);
    return isJsonObject(value) ? Object.entries(value) : [];
  }
  const child = childOf(value, segment);
  return child === undefined ? [] : [[segment, child]];
}

/** A word for the kind of a JSON value, with its article. */
export function kindOf(value: JsonValue): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "a list";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}

export function wildcardRefused(segments: readonly Segment[]): FieldPathError {
  const problem = "a wildcard can only be expanded, not read or written";
  return new FieldPathError("INVALID_PATH", formatPath(segments), problem);
}

export function notArray(path: string, value: JsonValue): FieldPathError {
  return new FieldPathError("NOT_ARRAY", path, `is ${kindOf(value)}, not a list`);
}

export function notObject(path: string, value: JsonValue): FieldPathError {
  return new FieldPathError("NOT_OBJECT", path, `is ${kindOf(value)}, not an object`);
}

/** Why a field path could not be followed. */
type FieldPathErrorCode = "INVALID_PATH" | "NOT_FOUND" | "NOT_OBJECT" | "NOT_ARRAY" | "WRONG_TYPE" | "INDEX_TOO_LARGE";

/** A field path that cannot be read as one, or does not fit the object. */
export class FieldPathError extends FunctionError {
  /** The path as far as it could be followed. */
  readonly path: string;

  constructor(code: FieldPathErrorCode, path: string, problem: string) {
    super(code, `${path === "" ? "field path" : path}: ${problem}`);
    this.name = "FieldPathError";
    this.path = path;
  }
}

/** Turns the value found at `path` into a type, or throws WRONG_TYPE. */
export type Reader<T> = (value: JsonValue, path: string) => T;

export const asString: Reader<string> = (value, path) => {
  if (typeof value !== "string") throw wrongType(path, value, "a string");
  return value;
};

export const asBoolean: Reader<boolean> = (value, path) => {
  if (typeof value !== "boolean") throw wrongType(path, value, "true or false");
  return value;
};

export const asNumber: Reader<number> = (value, path) => {
  if (typeof value !== "number") throw wrongType(path, value, "a number");
  return value;
};

/** All numbers travel as doubles, so an integer is any whole one. */
export const asInteger: Reader<number> = (value, path) => {
  const number = asNumber(value, path);
  if (!Number.isInteger(number)) throw new FieldPathError("WRONG_TYPE", path, `is ${number}, not an integer`);
  return number;
};

/** As the Go SDK reads integers: what follows the point is cut off. */
export const asTruncatedInteger: Reader<number> = (value, path) => Math.trunc(asNumber(value, path));

export const asObject: Reader<JsonObject> = (value, path) => {
  if (!isJsonObject(value)) throw wrongType(path, value, "an object");
  return value;
};

export const asArray: Reader<JsonValue[]> = (value, path) => {
  if (!Array.isArray(value)) throw wrongType(path, value, "a list");
  return value;
};

export const asStringArray: Reader<string[]> = (value, path) =>
  asArray(value, path).map((item, index) => asString(item, `${path}[${index}]`));

export const asStringObject: Reader<Record<string, string>> = (value, path) => {
  const object = asObject(value, path);
  for (const [key, member] of Object.entries(object)) asString(member, `${path}[${key}]`);
  return { ...object } as Record<string, string>;
};

function wrongType(path: string, value: JsonValue, expected: string): FieldPathError {
  return new FieldPathError("WRONG_TYPE", path, `is ${kindOf(value)}, not ${expected}`);
}

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

/** The container to continue with: the one that is there, or a new one of the kind the next step needs. */
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
