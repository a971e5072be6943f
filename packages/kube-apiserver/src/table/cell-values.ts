// SPDX-License-Identifier: Apache-2.0
import {
  isJsonArray,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  ownValue,
  sortedKeys,
} from "@purlin/kube-objects/json";
import { ageOf } from "@purlin/kube-objects/object";
import { column, type TableColumn, type TablePrinter } from "./table.ts";

export const nameColumn: TableColumn = column("Name", { format: "name" });
export const ageColumn: TableColumn = column("Age");

/** A column that `kubectl get -o wide` shows. */
export function wideColumn(title: string): TableColumn {
  return column(title, { priority: 1 });
}

export function integerColumn(title: string): TableColumn {
  return column(title, { type: "integer" });
}

/** The cell of {@link nameColumn}. */
export function nameOfObject(object: JsonObject): string {
  return text(object, "metadata", "name");
}

/** The cell of {@link ageColumn}. */
export function ageOfObject(object: JsonObject, now: number): string {
  return ageOf(at(object, "metadata", "creationTimestamp"), now);
}

/** A member somewhere inside an object, or undefined. */
export function at(object: JsonValue | undefined, ...names: readonly string[]): JsonValue | undefined {
  let value = object;
  for (const name of names) value = isJsonObject(value) ? ownValue(value, name) : undefined;
  return value ?? undefined;
}

/** A text member, or the empty string. */
export function text(object: JsonValue | undefined, ...names: readonly string[]): string {
  const value = at(object, ...names);
  return typeof value === "string" ? value : "";
}

/** A number member, or zero. */
export function number(object: JsonValue | undefined, ...names: readonly string[]): number {
  const value = at(object, ...names);
  return typeof value === "number" ? value : 0;
}

/** The items of a list member that are objects. */
export function items(object: JsonValue | undefined, ...names: readonly string[]): JsonObject[] {
  const value = at(object, ...names);
  return isJsonArray(value) ? value.filter(isJsonObject) : [];
}

/** How many members or items a member has. */
export function count(object: JsonValue | undefined, ...names: readonly string[]): number {
  const value = at(object, ...names);
  if (isJsonArray(value)) return value.length;
  return isJsonObject(value) ? Object.keys(value).length : 0;
}

/** Labels as `a=b,c=d`, sorted, or `<none>`. */
export function labelText(labels: JsonValue | undefined): string {
  if (!isJsonObject(labels) || Object.keys(labels).length === 0) return "<none>";
  return sortedKeys(labels)
    .map((key) => `${key}=${labels[key]}`)
    .join(",");
}

/** A LabelSelector as kubectl prints it. */
export function selectorText(selector: JsonValue | undefined): string {
  if (!isJsonObject(selector)) return "<none>";
  const equal = isJsonObject(selector["matchLabels"]) ? labelText(selector["matchLabels"]) : "";
  const expressions = items(selector, "matchExpressions").map(expressionText);
  const parts = [equal === "<none>" ? "" : equal, ...expressions].filter((part) => part !== "");
  return parts.length === 0 ? "<none>" : parts.join(",");
}

function expressionText(expression: JsonObject): string {
  const key = text(expression, "key");
  const values = at(expression, "values");
  const list = isJsonArray(values) ? `(${values.toSorted().join(",")})` : "()";
  switch (text(expression, "operator")) {
    case "In":
      return `${key} in ${list}`;
    case "NotIn":
      return `${key} notin ${list}`;
    case "Exists":
      return key;
    default:
      return `!${key}`;
  }
}

/** Prints a kind without columns of its own: the name and the creation time. */
export const plainPrinter: TablePrinter = {
  columns: [nameColumn, column("Created At", { type: "date" })],
  cells: (object) => [nameOfObject(object), text(object, "metadata", "creationTimestamp")],
};
