// SPDX-License-Identifier: Apache-2.0
import { finish, type Work } from "@purlin/base";
import {
  goNumber,
  isJsonArray,
  isJsonObject,
  isNumber,
  type JsonObject,
  type JsonValue,
  ownValue,
  printJson,
  sortedKeys,
} from "@purlin/kube-objects/json";
import { jsonPath } from "@purlin/kube-objects/json-path";
import { ageOf } from "@purlin/kube-objects/object";
import { inMetaOrder, metaOf, withMeta } from "../objects/object-members.ts";

/** A column of a Table. */
export interface TableColumn {
  readonly name: string;
  readonly type: string;
  readonly format: string;
  readonly description: string;
  readonly priority: number;
}

/** How objects of one kind become rows. */
export interface TablePrinter {
  readonly columns: readonly TableColumn[];
  /** The cells of one object, one for each column. */
  cells(object: JsonObject, now: number): JsonValue[];
  /** {@link TablePrinter.cells} in parts, where that may take long. */
  making?(object: JsonObject, now: number): Work<JsonValue[]>;
  /** What the row says about the object besides its cells. */
  conditions?(object: JsonObject): JsonObject[];
  /** Annotations that v1 shows and that rows do not have. */
  readonly hiddenAnnotations?: readonly string[];
}

/** How much of each object a Table carries. */
export type IncludeObject = "None" | "Metadata" | "Object";

/** A column; the format of the first one is `name` so that clients find the name again. */
export function column(name: string, change: Partial<TableColumn> = {}): TableColumn {
  return { name, type: "string", format: "", description: "", priority: 0, ...change };
}

/** What makes a Table of a list. */
interface TableOptions {
  readonly metadata: JsonObject;
  readonly include: IncludeObject;
  readonly now: number;
  /** False for all but the first event of a watch. */
  readonly withColumns: boolean;
}

/** A meta.k8s.io/v1 Table without rows. */
export function emptyTable(printer: TablePrinter, { metadata, withColumns }: TableOptions): JsonObject {
  const columns = withColumns ? printer.columns.map((one) => ({ ...one })) : null;
  return { kind: "Table", apiVersion: "meta.k8s.io/v1", metadata, columnDefinitions: columns, rows: [] };
}

/** A meta.k8s.io/v1 Table of one object. */
export function* makingTable(printer: TablePrinter, object: JsonObject, options: TableOptions): Work<JsonObject> {
  return { ...emptyTable(printer, options), rows: [yield* makingRow(printer, object, options)] };
}

/** The row of one object. */
export function* makingRow(
  printer: TablePrinter,
  object: JsonObject,
  { include, now }: TableOptions,
): Work<JsonObject> {
  const conditions = printer.conditions?.(object) ?? [];
  return {
    cells: printer.making === undefined ? printer.cells(object, now) : yield* printer.making(object, now),
    ...(conditions.length === 0 ? {} : { conditions }),
    object: rowObject(printer, object, include),
  };
}

/** Rows are made before an object becomes what its version shows. */
function withoutHidden(object: JsonObject, { hiddenAnnotations = [] }: TablePrinter): JsonObject {
  if (hiddenAnnotations.length === 0) return object;
  const shown = Object.entries(metaOf(object).annotations ?? {}).filter(([name]) => !hiddenAnnotations.includes(name));
  return withMeta(object, { annotations: shown.length === 0 ? undefined : Object.fromEntries(shown) });
}

function rowObject(printer: TablePrinter, object: JsonObject, include: IncludeObject): JsonValue {
  if (include === "None") return null;
  return include === "Object" ? object : toPartialMetadata(withoutHidden(object, printer));
}

/** An object reduced to its metadata. */
export function toPartialMetadata({ metadata }: JsonObject): JsonObject {
  return {
    kind: "PartialObjectMetadata",
    apiVersion: "meta.k8s.io/v1",
    metadata: inMetaOrder(isJsonObject(metadata) ? metadata : {}),
  };
}

/** The first column of every table. */
export const nameColumn: TableColumn = column("Name", { format: "name" });
/** The column with the time since an object was created. */
export const ageColumn: TableColumn = column("Age");

/** A column that `kubectl get -o wide` shows. */
export function wideColumn(title: string): TableColumn {
  return column(title, { priority: 1 });
}

/** A column of whole numbers. */
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
  return isNumber(value) ? Number(value) : 0;
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

const declaredAge: JsonObject = {
  name: "Age",
  type: "date",
  jsonPath: ".metadata.creationTimestamp",
};

/** Prints objects of a CRD: the name, then the columns the CRD declares, or the age when it declares none. */
export function customPrinter(declared: readonly JsonObject[]): TablePrinter {
  const columns = (declared.length === 0 ? [declaredAge] : declared).map(toColumn);
  const making = function* (object: JsonObject, now: number): Work<JsonValue[]> {
    const cells: JsonValue[] = [nameOf(object)];
    let left = mostCharacters;
    for (const { find, definition } of columns) {
      // As in the reference, the first of several values is shown.
      const [value] = find === undefined ? [] : yield* find(object, 1);
      // The text of a list or an object may be long.
      if (typeof value === "object") yield;
      const cell = printCell(value, definition.type, now);
      if (typeof cell === "string") left -= cell.length;
      cells.push(left < 0 ? null : cell);
    }
    return cells;
  };
  return {
    columns: [nameColumn, ...columns.map(({ definition }) => definition)],
    cells: (object, now) => finish(making(object, now)),
    making,
  };
}

/** Most characters of all cells of an object, as many as it may have: a kind could show all of it in each of hundreds of columns. */
const mostCharacters = 3 * 1024 * 1024;

function nameOf(object: JsonObject): JsonValue {
  const metadata = object["metadata"];
  return isJsonObject(metadata) ? (metadata["name"] ?? "") : "";
}

interface DeclaredColumn {
  readonly definition: TableColumn;
  readonly find: ReturnType<typeof jsonPath>;
}

function toColumn(declared: JsonObject): DeclaredColumn {
  const text = (name: string): string => {
    const value = ownValue(declared, name);
    return typeof value === "string" ? value : "";
  };
  const path = text("jsonPath");
  const priority = declared["priority"];
  const description = text("description") || `Custom resource definition column (in JSONPath format): ${path}`;
  return {
    definition: column(text("name"), {
      type: text("type"),
      format: text("format"),
      description,
      priority: typeof priority === "number" ? priority : 0,
    }),
    find: jsonPath(path),
  };
}

/** A cell of the column's type; a value of another type is left out. */
function printCell(value: JsonValue | undefined, type: string, now: number): JsonValue {
  if (value === undefined || value === null) return null;
  switch (type) {
    case "integer":
      if (typeof value === "bigint") return value;
      return typeof value === "number" ? Math.trunc(value) : null;
    case "number":
      return typeof value === "number" || typeof value === "bigint" ? value : null;
    case "boolean":
      return typeof value === "boolean" ? value : null;
    case "date":
      return typeof value === "string" ? ageOf(value, now) : null;
    default:
      return printText(value);
  }
}

function printText(value: JsonValue): string {
  if (typeof value === "string") return value;
  if (typeof value === "number" || typeof value === "bigint") return goNumber(value);
  return printJson(value);
}
