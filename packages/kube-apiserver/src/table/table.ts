// SPDX-License-Identifier: Apache-2.0
import { isJsonObject, type JsonObject, type JsonValue } from "@purlin/kube-objects/json";
import { inMetaOrder } from "../objects/member-order.ts";
import { metaOf, withMeta } from "../objects/object-meta.ts";

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

/** A meta.k8s.io/v1 Table of objects. */
export function toTable(printer: TablePrinter, objects: readonly JsonObject[], options: TableOptions): JsonObject {
  const columns = options.withColumns ? printer.columns.map((one) => ({ ...one })) : null;
  return {
    kind: "Table",
    apiVersion: "meta.k8s.io/v1",
    metadata: options.metadata,
    columnDefinitions: columns,
    rows: objects.map((object) => toRow(printer, object, options)),
  };
}

/** The row of one object. */
export function toRow(printer: TablePrinter, object: JsonObject, { include, now }: TableOptions): JsonObject {
  const conditions = printer.conditions?.(object) ?? [];
  return {
    cells: printer.cells(object, now),
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
