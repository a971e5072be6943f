// SPDX-License-Identifier: Apache-2.0
import type { Loose } from "./loose.ts";

const ages = new Set(["Age", "Last Seen", "First Seen", "Duration"]);

/** Which cells of a row with this many cells show an age: a watch names its columns with the first event only. */
export type AgeColumns = Map<number, readonly number[]>;

/** A table with the ages in its cells masked, and without the words about its columns: those are of built-in schemas. */
export function withoutAges(value: Loose, known: AgeColumns): Loose {
  if (value.kind !== "Table" || !Array.isArray(value.rows)) return value;
  const columns: readonly Loose[] = value.columnDefinitions ?? [];
  if (columns.length > 0) {
    known.set(
      columns.length,
      columns.flatMap(({ name }, index) => (ages.has(name) ? [index] : [])),
    );
  }
  const rows = value.rows.map((row: Loose) => withoutAgesInRow(row, known));
  if (value.columnDefinitions === undefined) return { ...value, rows };
  return { ...value, rows, columnDefinitions: columns.map(({ description: _, ...column }) => column) };
}

function withoutAgesInRow(row: Loose, known: AgeColumns): Loose {
  const masked = known.get(row.cells?.length) ?? [];
  const mask = (cell: unknown, index: number): unknown => (masked.includes(index) ? age(cell) : cell);
  return { ...row, cells: row.cells?.map(mask) };
}

function age(cell: unknown): unknown {
  return typeof cell === "string" && /^(\d+[smhdy])+$/.test(cell) ? "<age>" : cell;
}
