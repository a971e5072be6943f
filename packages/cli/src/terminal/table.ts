// SPDX-License-Identifier: Apache-2.0
import { stripVTControlCharacters } from "node:util";

/** Rows in columns as kubectl prints them: two spaces apart, no lines, nothing after the last column. */
export function formatTable(rows: readonly (readonly string[])[]): string {
  const widths: number[] = [];
  widen(widths, rows);
  return rows.map((row) => formatRow(row, widths)).join("\n");
}

/** A table that gets its rows little by little: columns are as wide as the widest cell so far. */
export function growingTable(): (rows: readonly (readonly string[])[]) => string {
  const widths: number[] = [];
  return (rows) => {
    widen(widths, rows);
    return rows.map((row) => `${formatRow(row, widths)}\n`).join("");
  };
}

function widen(widths: number[], rows: readonly (readonly string[])[]): void {
  for (const row of rows) {
    for (const [column, cell] of row.entries()) widths[column] = Math.max(widths[column] ?? 0, visibleLength(cell));
  }
}

function formatRow(row: readonly string[], widths: readonly number[]): string {
  const cells = row.map((cell, column) => cell + " ".repeat((widths[column] ?? 0) - visibleLength(cell)));
  return cells.join("  ").trimEnd();
}

function visibleLength(text: string): number {
  return stripVTControlCharacters(text).length;
}
