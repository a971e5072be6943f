// SPDX-License-Identifier: Apache-2.0
import { builtinPrinter } from "../table/builtin-columns.ts";
import { column, type TablePrinter } from "../table/table.ts";

/** Scales of custom objects are shown as those of built-in ones, under columns that are described as those of custom kinds. */
export const customScalePrinter: TablePrinter = {
  columns: [
    column("Name", { format: "name" }),
    column("Desired", { type: "integer", description: "Number of desired replicas" }),
    column("Available", { type: "integer", description: "Number of actual replicas" }),
    column("Age", { type: "date" }),
  ],
  cells: (scale, now) => builtinPrinter("Scale").cells(scale, now),
};
