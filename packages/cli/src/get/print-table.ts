// SPDX-License-Identifier: Apache-2.0
import type { JsonValue } from "@purlin/kube-objects";
import { harmlessLine } from "../terminal/harmless.ts";

/** A Table as API servers make it of objects. */
interface Table {
  readonly columnDefinitions?: readonly { readonly name: string; readonly priority?: number }[];
  readonly rows?: readonly {
    readonly cells: readonly unknown[];
    readonly object?: { readonly metadata?: { readonly namespace?: string } };
  }[];
}

/** What is shown of a Table. */
export interface TableOptions {
  /** Also columns that are only for wide screens. */
  readonly isWide: boolean;
  readonly withNamespace: boolean;
  /** Put before each name where several types are shown: `configmap/`. */
  readonly prefix: string;
}

/** The titles of a Table's columns; undefined for a Table of a watch that leaves them out. */
export function titleCells(answer: JsonValue, options: TableOptions): string[] | undefined {
  const { columnDefinitions = [] } = answer as unknown as Table;
  if (columnDefinitions.length === 0) return undefined;
  const titles = shownColumns(answer, options).map((index) =>
    harmlessLine(columnDefinitions[index]?.name.toUpperCase() ?? ""),
  );
  return [...(options.withNamespace ? ["NAMESPACE"] : []), ...titles];
}

/** Which columns of a Table are shown, by index. */
export function shownColumns(answer: JsonValue, { isWide }: Pick<TableOptions, "isWide">): number[] {
  const { columnDefinitions = [] } = answer as unknown as Table;
  return columnDefinitions.flatMap(({ priority }, index) => (isWide || !priority ? [index] : []));
}

/** The rows of a Table, of the columns that are shown. */
export function rowCells(answer: JsonValue, columns: readonly number[], options: TableOptions): string[][] {
  const { rows } = answer as unknown as Table;
  return (rows ?? []).map(({ cells, object }) => [
    ...(options.withNamespace ? [object?.metadata?.namespace ?? ""] : []),
    ...columns.map((index) => `${index === 0 ? options.prefix : ""}${cellText(cells[index])}`),
  ]);
}

function cellText(cell: unknown): string {
  return cell === null || cell === undefined ? "" : harmlessLine(String(cell));
}
