// SPDX-License-Identifier: Apache-2.0
import type { Work } from "@purlin/base";
import { internalError, isStatusError } from "@purlin/kube-objects/errors";
import { isJsonObject, type JsonObject, type JsonValue } from "@purlin/kube-objects/json";
import { stringAt } from "@purlin/kube-objects/object";
import { applyingJsonPatch } from "@purlin/kube-objects/patch";

/**
 * An object after the JSON patch of a webhook, made in parts. Throws 500 with the text of the reference when the patch does not apply, or
 * when its result is not an object of the type.
 */
export function* patchedByWebhook(
  object: JsonObject,
  operations: readonly JsonObject[],
  decode: (object: JsonObject) => Work<JsonObject>,
): Work<JsonObject> {
  const patched = yield* applied(object, operations);
  try {
    return yield* decode(isJsonObject(patched) ? patched : {});
  } catch (error) {
    throw isStatusError(error) ? error : internalError(error);
  }
}

/** An object after the JSON patch of a policy; the same object when a test of the patch fails. */
export function* patchedByPolicy(object: JsonObject, operations: readonly JsonObject[]): Work<JsonValue> {
  try {
    return yield* applyingJsonPatch(object, operations);
  } catch (error) {
    const problem = yield* firstProblem(object, operations, error);
    if (problem.endsWith(testFailed)) return object;
    throw new Error(`JSON Patch: ${problem}`, { cause: error });
  }
}

const testFailed = " failed: test failed";

function* applied(object: JsonObject, operations: readonly JsonObject[]): Work<JsonValue> {
  try {
    return yield* applyingJsonPatch(object, operations);
  } catch (error) {
    throw internalError(yield* firstProblem(object, operations, error));
  }
}

/** The error says which operation failed: the first one that does not apply after those before it. */
function* firstProblem(object: JsonObject, operations: readonly JsonObject[], error: unknown): Work<string> {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause.message : "";
  const index = Number(/^operation (\d+): /.exec(cause)?.[1] ?? Number.NaN);
  const operation = operations[index];
  if (operation === undefined) return cause;
  return patchProblem(yield* applyingJsonPatch(object, operations.slice(0, index)), operation);
}

const missing = "missing value";

/** Why an operation does not apply to a document, in the words of the library that the reference uses. */
function patchProblem(document: JsonValue, operation: JsonObject): string {
  const [op, path, from] = [stringAt(operation, ["op"]), stringAt(operation, ["path"]), stringAt(operation, ["from"])];
  const isFrom = op === "move" || op === "copy";
  const source = isFrom ? from : path;
  const parent = parentOf(document, source);
  const key = decoded(source.split("/").at(-1) ?? "");
  switch (op) {
    case "add":
      return parent === undefined
        ? `add operation does not apply: doc is missing path: "${path}": ${missing}`
        : `error in add for path: '${path}': ${indexProblem(key)}`;
    case "remove":
      if (parent === undefined) return `remove operation does not apply: doc is missing path: "${path}": ${missing}`;
      return Array.isArray(parent)
        ? `error in remove for path: '${path}': ${indexProblem(key)}`
        : `error in remove for path: '${path}': Unable to remove nonexistent key: ${key}: ${missing}`;
    case "replace":
      return parent === undefined
        ? `replace operation does not apply: doc is missing path: ${path}: ${missing}`
        : `replace operation does not apply: doc is missing key: ${path}: ${missing}`;
    case "move":
    case "copy":
      return parent === undefined
        ? `${op} operation does not apply: doc is missing from path: ${from}: ${missing}`
        : `error in ${op} for path: '${key}': ${Array.isArray(parent) ? indexProblem(key) : `Unable to remove nonexistent key: ${key}: ${missing}`}`;
    case "test":
      return parent === undefined && path !== ""
        ? `test operation does not apply: is missing path: ${path}: ${missing}`
        : `testing value ${path}${testFailed}`;
    default:
      return `Unexpected kind: ${op}`;
  }
}

function indexProblem(key: string): string {
  return /^[+-]?\d+$/.test(key)
    ? `Unable to access invalid index: ${Number(key)}: invalid index referenced`
    : `strconv.Atoi: parsing ${JSON.stringify(key)}: invalid syntax`;
}

const decoded = (part: string): string => part.replace(/~[01]/g, (code) => (code === "~1" ? "/" : "~"));

function parentOf(document: JsonValue, pointer: string): JsonObject | readonly JsonValue[] | undefined {
  let current: JsonValue | undefined = document;
  for (const part of pointer.split("/").slice(1, -1).map(decoded)) {
    if (Array.isArray(current)) current = (current as readonly JsonValue[])[Number(part)];
    else if (isJsonObject(current)) current = Object.hasOwn(current, part) ? current[part] : undefined;
    else return undefined;
  }
  return isJsonObject(current) || Array.isArray(current) ? (current as JsonObject | readonly JsonValue[]) : undefined;
}
