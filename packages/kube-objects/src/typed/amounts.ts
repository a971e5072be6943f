// SPDX-License-Identifier: Apache-2.0
// Maps of amounts of resources by name: limits, requests, capacities. Each amount is checked by many rules, several of which look at all of
// them, so a map has a limit.
import { isPartDone, type Work } from "@purlin/base";
import { childPath, type FieldPath, indexPath } from "../errors/field-error.ts";
import { requestEntityTooLarge } from "../errors/status-error-constructors.ts";
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue, ownValue } from "../json/json-value.ts";
import { type FieldType, type ProtobufField, standingFields } from "../protobuf/protobuf-fields.ts";
import { typeName } from "./typed-form.ts";

/** Most amounts in one map of a new object. */
const mostAmounts = 10_000;

/** A map with more amounts than a new object may have. */
interface LargeMap {
  readonly path: FieldPath;
  readonly count: number;
}

/**
 * Throws 413 when a map of an object of a built-in kind has too many amounts. An object that was stored with as many, before there was a
 * limit, can be changed: its maps may be as many and as large as in the `old` object.
 */
export function* requiringFewAmounts(object: JsonObject, old: JsonObject | undefined): Work<void> {
  const large = yield* findingLarge(object);
  if (large.length === 0) return;
  const before = old === undefined ? [] : yield* findingLarge(old);
  const grown = large.find(({ count }, index) => count > (before[index]?.count ?? 0));
  if (grown !== undefined) throw requestEntityTooLarge(`${grown.path} may have at most ${mostAmounts} amounts`);
}

/** The largest first. */
function* findingLarge(object: JsonObject): Work<readonly LargeMap[]> {
  const name = typeName(String(object["apiVersion"]), String(object["kind"]));
  const found: LargeMap[] = [];
  if (amountFields(name).length > 0) yield* lookingInMessage(name, object, { path: "", found });
  return found.sort((a, b) => b.count - a.count);
}

interface Place {
  readonly path: FieldPath;
  readonly found: LargeMap[];
}

function* lookingInMessage(name: string, value: JsonObject, { path, found }: Place): Work<void> {
  for (const field of amountFields(name)) {
    const member = ownValue(value, field.name);
    if (typeof member === "object" && member !== null) {
      yield* looking(field.type, member, { path: childPath(path, field.name), found });
    }
  }
}

function* looking(type: FieldType, value: JsonValue, { path, found }: Place): Work<void> {
  if (isPartDone()) yield;
  if (type.kind === "message" && isJsonObject(value)) yield* lookingInMessage(type.name, value, { path, found });
  if (type.kind === "list" && isJsonArray(value)) {
    for (const [index, item] of value.entries()) yield* looking(type.of, item, { path: indexPath(path, index), found });
  }
  if (type.kind !== "map" || !isJsonObject(value)) return;
  const keys = Object.keys(value);
  if (!isAmount(type.of)) {
    for (const key of keys) yield* looking(type.of, value[key] ?? null, { path: childPath(path, key), found });
  } else if (keys.length > mostAmounts) found.push({ path, count: keys.length });
}

const known = new Map<string, readonly ProtobufField[]>();

/** The fields of a message that are maps of amounts, or hold some. */
function amountFields(name: string): readonly ProtobufField[] {
  const before = known.get(name);
  if (before !== undefined) return before;
  // A message that holds itself does not hold amounts for that alone.
  known.set(name, []);
  const fields = standingFields(name).inOrder.filter(({ type }) => holdsAmounts(type));
  known.set(name, fields);
  return fields;
}

function holdsAmounts(type: FieldType): boolean {
  if (type.kind === "scalar") return false;
  if (type.kind === "message") return amountFields(type.name).length > 0;
  return (type.kind === "map" && isAmount(type.of)) || holdsAmounts(type.of);
}

function isAmount(type: FieldType): boolean {
  return type.kind === "message" && type.name === "resource.Quantity";
}
