// SPDX-License-Identifier: Apache-2.0
// JSON patch (RFC 6902) with the habits of the library the reference server uses, see each operation.
import { finish, isPartDone, type Work } from "@purlin/base";
import { patchNotApplicable } from "../errors/status-error-constructors.ts";
import { goJson, goJsonString } from "../json/go-text.ts";
import { maxJsonDepth, printJson } from "../json/json-text.ts";
import {
  isContainer,
  isJsonArray,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  jsonEqual,
  ownValue,
  setOwnValue,
  sortedKeys,
  utf8Length,
} from "../json/json-value.ts";
import { withoutNulls } from "./merge-patch.ts";
import { PatchDocument, type Place, unmarkingNumbers, type WrittenValue, writtenNumber } from "./patch-document.ts";

/** One operation as it came; what is missing or odd in it makes it fail when its turn comes. */
export type JsonPatchOperation = JsonObject;

/** All `copy` operations of a patch together may add this many bytes. */
const maxJsonPatchCopyBytes: number = 3 * 1024 * 1024;

/**
 * The document after all operations, the given one untouched. Throws a StatusError with code 422 and a fixed text when
 * one of them fails; which and why is in its cause.
 */
export function applyJsonPatch(document: JsonValue, operations: readonly JsonPatchOperation[]): JsonValue {
  return runJsonPatch(document, operations).value;
}

/** {@link applyJsonPatch} in parts. */
export function* applyingJsonPatch(document: JsonValue, operations: readonly JsonPatchOperation[]): Work<JsonValue> {
  return (yield* runningJsonPatch(document, operations)).value;
}

/**
 * The same in parts, for a patch that was read from text: `test` compares numbers as they are written, and the result keeps their spelling.
 */
export function* applyingWrittenPatch(
  document: JsonValue,
  operations: readonly JsonPatchOperation[],
): Work<WrittenValue> {
  const { value } = yield* runningJsonPatch(document, operations);
  yield;
  return yield* unmarkingNumbers(value);
}

/** {@link applyJsonPatch}, with what the operations went into. */
function runJsonPatch(document: JsonValue, operations: readonly JsonPatchOperation[]): PatchDocument {
  return finish(runningJsonPatch(document, operations));
}

function* runningJsonPatch(document: JsonValue, operations: readonly JsonPatchOperation[]): Work<PatchDocument> {
  const target = new PatchDocument(document);
  const budget = { copied: 0 };
  for (const [index, operation] of operations.entries()) {
    if (isPartDone()) yield;
    try {
      yield* run(target, operation, budget);
    } catch (error) {
      const text = error instanceof Error ? error.message : String(error);
      throw patchNotApplicable(new Error(`operation ${index}: ${text}`, { cause: error }));
    }
  }
  yield;
  if (yield* nestingDeeperThan(target.value, maxJsonDepth))
    throw patchNotApplicable(new Error("the result nests too deep"));
  return target;
}

interface Budget {
  copied: number;
}

type Handler = (target: PatchDocument, operation: JsonPatchOperation, budget: Budget) => Work<void>;

const handlers: ReadonlyMap<JsonValue | undefined, Handler> = new Map<JsonValue | undefined, Handler>([
  ["add", add],
  ["remove", remove],
  ["replace", replace],
  ["move", move],
  ["copy", copy],
  ["test", check],
]);

function* run(target: PatchDocument, operation: JsonPatchOperation, budget: Budget): Work<void> {
  const kind = ownValue(operation, "op");
  const handler = handlers.get(kind);
  if (!handler)
    throw new Error(
      `unexpected kind ${kind === undefined ? kind : printJson(kind)}: use ${[...handlers.keys()].join(", ")}`,
    );
  yield* handler(target, operation, budget);
}

// An operation without a value has the value null.
const wantedValue = (operation: JsonPatchOperation): JsonValue => ownValue(operation, "value") ?? null;

function pathOf(operation: JsonPatchOperation, field: "path" | "from"): string {
  const path = ownValue(operation, field);
  if (typeof path !== "string") throw new Error(`${field} is missing`);
  return path;
}

function* place(target: PatchDocument, operation: JsonPatchOperation, field: "path" | "from"): Work<Place> {
  const path = pathOf(operation, field);
  const found = yield* target.find(path);
  if (!found) throw new Error(`the document has no path ${JSON.stringify(path)}`);
  return found;
}

function* add(target: PatchDocument, operation: JsonPatchOperation): Work<void> {
  target.add(yield* place(target, operation, "path"), wantedValue(operation));
}

function* remove(target: PatchDocument, operation: JsonPatchOperation): Work<void> {
  target.remove(yield* place(target, operation, "path"));
}

// Replacing a key of an object that is not there sets it; an item of a list has to exist.
function* replace(target: PatchDocument, operation: JsonPatchOperation): Work<void> {
  const value = wantedValue(operation);
  if (pathOf(operation, "path") !== "") {
    target.set(yield* place(target, operation, "path"), value);
    return;
  }
  if (!isJsonObject(value) && !isJsonArray(value)) {
    throw new Error("the whole document can only become an object or a list");
  }
  target.reset(value);
}

function* move(target: PatchDocument, operation: JsonPatchOperation): Work<void> {
  const from = yield* place(target, operation, "from");
  const value = target.get(from) ?? null;
  target.remove(from);
  target.add(yield* place(target, operation, "path"), value);
}

// Copying a key that is not there copies null.
function* copy(target: PatchDocument, operation: JsonPatchOperation, budget: Budget): Work<void> {
  const value = target.get(yield* place(target, operation, "from"));
  const to = yield* place(target, operation, "path");
  yield;
  if (value !== undefined) budget.copied += utf8Length(printJson(value));
  if (budget.copied > maxJsonPatchCopyBytes) {
    throw new Error(
      `unable to complete the copy, the accumulated size increase of copy is ${budget.copied}, exceeding the limit ${maxJsonPatchCopyBytes}`,
    );
  }
  yield;
  target.add(to, value === undefined ? null : yield* copyingValue(value));
}

/** A deep copy. */
function* copyingValue(value: JsonValue): Work<JsonValue> {
  if (isJsonArray(value)) {
    const items: JsonValue[] = [];
    for (const item of value) {
      if (isPartDone()) yield;
      items.push(isContainer(item) ? yield* copyingValue(item) : item);
    }
    return items;
  }
  if (!isJsonObject(value)) return value;
  const copy: Record<string, JsonValue> = {};
  for (const key of Object.keys(value)) {
    if (isPartDone()) yield;
    const child = value[key] ?? null;
    setOwnValue(copy, key, isContainer(child) ? yield* copyingValue(child) : child);
  }
  return copy;
}

function* check(target: PatchDocument, operation: JsonPatchOperation): Work<void> {
  const path = pathOf(operation, "path");
  const actual = path === "" ? target.value : (target.get(yield* place(target, operation, "path")) ?? null);
  if (!jsonEqual(actual, wantedValue(operation))) throw new Error(`testing value ${path} failed`);
}

/** Whether objects and lists nest deeper than the limit. Does not recurse itself, so any depth is fine to ask about. */
export function isDeeperThan(value: JsonValue, limit: number): boolean {
  return finish(nestingDeeperThan(value, limit));
}

function* nestingDeeperThan(value: JsonValue, limit: number): Work<boolean> {
  let level: JsonValue[] = isContainer(value) ? [value] : [];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth >= limit) return true;
    const next: JsonValue[] = [];
    for (const item of level) yield* addContainers(item, next);
    level = next;
  }
  return false;
}

function* addContainers(value: JsonValue, into: JsonValue[]): Work<void> {
  if (isJsonArray(value)) {
    for (const item of value) {
      if (isPartDone()) yield;
      if (isContainer(item)) into.push(item);
    }
  } else if (isJsonObject(value)) {
    for (const key of Object.keys(value)) {
      if (isPartDone()) yield;
      const child = value[key] ?? null;
      if (isContainer(child)) into.push(child);
    }
  }
}

// A patched object as the reference quotes it in errors. Its patch library only opens what a patch goes into: that is
// printed by name, while everything else stands as the object was printed before.
// The reference quotes a strategic merge patch only after it has merged it, and merging uses the patch up: what has been
// dealt with is gone from it.

/** The text of a document after a merge patch. */
export function mergePatchedText(document: JsonObject, patch: JsonObject): string {
  const pairs = sortedKeys({ ...document, ...patch }).flatMap((key) => {
    const text = mergedMember(ownValue(document, key), ownValue(patch, key));
    return text === undefined ? [] : [`${goJsonString(key)}:${text}`];
  });
  return `{${pairs.join(",")}}`;
}

function mergedMember(current: JsonValue | undefined, change: JsonValue | undefined): string | undefined {
  if (change === null) return undefined;
  if (change === undefined) return inOrder(current ?? null);
  if (!isJsonObject(current)) return goJson(withoutNulls(change));
  return isJsonObject(change) ? mergePatchedText(current, change) : inOrder(change);
}

/** The text of a document after a JSON patch that applies to it. */
export function jsonPatchedText(document: JsonObject, operations: readonly JsonPatchOperation[]): string {
  const target = runJsonPatch(document, operations);
  return inOrder(target.value, (value) => value === target.value || target.isOpened(value));
}

/** The text of a value with its members as they come, but by name where it was opened. */
function inOrder(value: JsonValue, isOpened: (value: object) => boolean = () => false): string {
  if (isJsonArray(value)) return `[${value.map((item) => inOrder(item, isOpened)).join(",")}]`;
  if (!isJsonObject(value)) return writtenNumber(value) ?? goJson(value);
  const keys = isOpened(value) ? sortedKeys(value) : Object.keys(value);
  const pairs = keys.map((key) => `${goJsonString(key)}:${inOrder(ownValue(value, key) ?? null, isOpened)}`);
  return `{${pairs.join(",")}}`;
}

const orderPrefix = "$setElementOrder/";

/** What is left of a strategic merge patch when it has been merged into an object. */
export function consumedPatch(original: JsonObject, patch: JsonObject): JsonObject {
  const directive = ownValue(patch, "$patch");
  if (directive === "delete") return patch;
  const ordered = new Set(
    Object.keys(patch)
      .filter((key) => key.startsWith(orderPrefix))
      .map((key) => key.slice(orderPrefix.length)),
  );
  const left: Record<string, JsonValue> = {};
  for (const [key, value] of Object.entries(patch)) {
    if (key.startsWith(orderPrefix) || ordered.has(key) || key === "$retainKeys" || key === "$patch") continue;
    setOwnValue(left, key, directive === "replace" ? value : leftOf(ownValue(original, key), value));
  }
  return left;
}

// What is new has no use for nulls, so they are taken out of the patch itself.
function leftOf(original: JsonValue | undefined, value: JsonValue): JsonValue {
  if (isJsonObject(value)) return isJsonObject(original) ? consumedPatch(original, value) : withoutNulls(value);
  return original === undefined ? withoutNulls(value) : value;
}
