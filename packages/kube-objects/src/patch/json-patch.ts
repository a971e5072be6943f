// SPDX-License-Identifier: Apache-2.0
// JSON patch (RFC 6902) with the habits of the library the reference server uses, see each operation.

import { patchNotApplicable } from "../errors/status-error-constructors.ts";
import { jsonEqual } from "../json/json-equal.ts";
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "../json/json-value.ts";
import { ownValue } from "../json/own-value.ts";
import { maxJsonDepth } from "../json/parse-json.ts";
import { printJson } from "../json/print-json.ts";
import { utf8Length } from "../json/utf8.ts";
import { PatchDocument, type Place } from "./patch-document.ts";
import { unmarkNumbers, type WrittenValue } from "./written-numbers.ts";

const isContainer = (value: JsonValue): boolean => typeof value === "object" && value !== null;

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

/** The same for a patch that was read from text: `test` compares numbers as they are written, and the result keeps their spelling. */
export function applyWrittenPatch(document: JsonValue, operations: readonly JsonPatchOperation[]): WrittenValue {
  return unmarkNumbers(applyJsonPatch(document, operations));
}

/** The same, with what the operations went into. */
export function runJsonPatch(document: JsonValue, operations: readonly JsonPatchOperation[]): PatchDocument {
  const target = new PatchDocument(document);
  const budget = { copied: 0 };
  for (const [index, operation] of operations.entries()) {
    try {
      run(target, operation, budget);
    } catch (error) {
      const text = error instanceof Error ? error.message : String(error);
      throw patchNotApplicable(new Error(`operation ${index}: ${text}`, { cause: error }));
    }
  }
  if (isDeeperThan(target.value, maxJsonDepth)) throw patchNotApplicable(new Error("the result nests too deep"));
  return target;
}

interface Budget {
  copied: number;
}

type Handler = (target: PatchDocument, operation: JsonPatchOperation, budget: Budget) => void;

const handlers: ReadonlyMap<JsonValue | undefined, Handler> = new Map<JsonValue | undefined, Handler>([
  ["add", (target, operation) => target.add(place(target, operation, "path"), wantedValue(operation))],
  ["remove", (target, operation) => target.remove(place(target, operation, "path"))],
  ["replace", replace],
  ["move", move],
  ["copy", copy],
  ["test", check],
]);

function run(target: PatchDocument, operation: JsonPatchOperation, budget: Budget): void {
  const kind = ownValue(operation, "op");
  const handler = handlers.get(kind);
  if (!handler) throw new Error(`unexpected kind ${JSON.stringify(kind)}: use ${[...handlers.keys()].join(", ")}`);
  handler(target, operation, budget);
}

// An operation without a value has the value null.
const wantedValue = (operation: JsonPatchOperation): JsonValue => ownValue(operation, "value") ?? null;

function pathOf(operation: JsonPatchOperation, field: "path" | "from"): string {
  const path = ownValue(operation, field);
  if (typeof path !== "string") throw new Error(`${field} is missing`);
  return path;
}

function place(target: PatchDocument, operation: JsonPatchOperation, field: "path" | "from"): Place {
  const path = pathOf(operation, field);
  const found = target.find(path);
  if (!found) throw new Error(`the document has no path ${JSON.stringify(path)}`);
  return found;
}

// Replacing a key of an object that is not there sets it; an item of a list has to exist.
function replace(target: PatchDocument, operation: JsonPatchOperation): void {
  const value = wantedValue(operation);
  if (pathOf(operation, "path") !== "") {
    target.set(place(target, operation, "path"), value);
    return;
  }
  if (!isJsonObject(value) && !isJsonArray(value)) {
    throw new Error("the whole document can only become an object or a list");
  }
  target.reset(value);
}

function move(target: PatchDocument, operation: JsonPatchOperation): void {
  const from = place(target, operation, "from");
  const value = target.get(from) ?? null;
  target.remove(from);
  target.add(place(target, operation, "path"), value);
}

// Copying a key that is not there copies null.
function copy(target: PatchDocument, operation: JsonPatchOperation, budget: Budget): void {
  const value = target.get(place(target, operation, "from"));
  const to = place(target, operation, "path");
  if (value !== undefined) budget.copied += utf8Length(printJson(value));
  if (budget.copied > maxJsonPatchCopyBytes) {
    throw new Error(
      `unable to complete the copy, the accumulated size increase of copy is ${budget.copied}, exceeding the limit ${maxJsonPatchCopyBytes}`,
    );
  }
  target.add(to, value === undefined ? null : structuredClone(value));
}

function check(target: PatchDocument, operation: JsonPatchOperation): void {
  const path = pathOf(operation, "path");
  const actual = path === "" ? target.value : (target.get(place(target, operation, "path")) ?? null);
  if (!jsonEqual(actual, wantedValue(operation))) throw new Error(`testing value ${path} failed`);
}

/** Whether objects and lists nest deeper than the limit. Does not recurse itself, so any depth is fine to ask about. */
export function isDeeperThan(value: JsonValue, limit: number): boolean {
  let level: JsonValue[] = [value];
  for (let depth = 0; depth <= limit; depth++) {
    const next: JsonValue[] = [];
    for (const item of level) {
      if (typeof item !== "object" || item === null) continue;
      for (const child of Object.values(item) as JsonValue[]) {
        if (typeof child === "object" && child !== null) next.push(child);
      }
    }
    if (next.length === 0) return level.some(isContainer) && depth + 1 > limit;
    level = next;
  }
  return true;
}
