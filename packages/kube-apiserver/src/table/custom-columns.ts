// SPDX-License-Identifier: Apache-2.0
import {
  goNumber,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  ownValue,
  printJson,
} from "@purlin/kube-objects/json";
import { jsonPath } from "@purlin/kube-objects/json-path";
import { ageOf } from "@purlin/kube-objects/object";
import { column, type TableColumn, type TablePrinter } from "./table.ts";

const ageColumn: JsonObject = {
  name: "Age",
  type: "date",
  jsonPath: ".metadata.creationTimestamp",
};

/** Prints objects of a CRD: the name, then the columns the CRD declares, or the age when it declares none. */
export function customPrinter(declared: readonly JsonObject[]): TablePrinter {
  const columns = (declared.length === 0 ? [ageColumn] : declared).map(toColumn);
  return {
    columns: [nameColumn, ...columns.map(({ definition }) => definition)],
    cells: (object, now) => [nameOf(object), ...columns.map(({ cell }) => cell(object, now))],
  };
}

const nameColumn: TableColumn = column("Name", { format: "name" });

function nameOf(object: JsonObject): JsonValue {
  const metadata = object["metadata"];
  return isJsonObject(metadata) ? (metadata["name"] ?? "") : "";
}

interface DeclaredColumn {
  readonly definition: TableColumn;
  cell(object: JsonObject, now: number): JsonValue;
}

function toColumn(declared: JsonObject): DeclaredColumn {
  const text = (name: string): string => {
    const value = ownValue(declared, name);
    return typeof value === "string" ? value : "";
  };
  const path = text("jsonPath");
  const find = jsonPath(path);
  const priority = declared["priority"];
  const description = text("description") || `Custom resource definition column (in JSONPath format): ${path}`;
  return {
    definition: column(text("name"), {
      type: text("type"),
      format: text("format"),
      description,
      priority: typeof priority === "number" ? priority : 0,
    }),
    cell: (object, now) => printCell(find?.(object)[0], text("type"), now),
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
