// SPDX-License-Identifier: Apache-2.0
import { exactly, type Range, unionRanges } from "../library/range.ts";
import type { Expr } from "../syntax/ast.ts";
import { textSize } from "../values/text.ts";

/** The sizes of what a list or map holds. */
export interface EntrySize {
  readonly container: "list" | "map";
  readonly key: Range;
  readonly value: Range;
}

/** The sizes of what either holds, if both are known. */
export function unionEntries(a: EntrySize | undefined, b: EntrySize | undefined): EntrySize | undefined {
  if (!a || !b) return undefined;
  return { container: a.container, key: unionRanges(a.key, b.key), value: unionRanges(a.value, b.value) };
}

/** The size of what is written out in the expression. */
export function literalSize(expr: Expr): Range | undefined {
  switch (expr.kind) {
    case "list":
      return exactly(expr.elements.length);
    case "map":
      return exactly(expr.entries.length);
    case "literal":
      if (typeof expr.value === "string") return exactly(textSize(expr.value));
      return exactly(expr.value instanceof Uint8Array ? expr.value.length : 1);
    default:
      return undefined;
  }
}
