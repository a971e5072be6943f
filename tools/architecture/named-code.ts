// SPDX-License-Identifier: Apache-2.0
// The architecture page names files and functions in tables; the pictures are drawn from them and a test holds them true.
import { readFileSync } from "node:fs";
import type { Tokens } from "marked";
import { parseMarkdown, plainText } from "../docs-site/markdown.ts";

/** The page that names the code. */
export const architecturePage = "docs/architecture.md";

/** A row of a table: code of this repository, or something outside of it that has no file. */
export interface NamedCode {
  /** Below `packages/`; undefined for what is outside. */
  readonly file: string | undefined;
  /** A function, or a method as `Class.method`; a text for what is outside. */
  readonly name: string;
  readonly does: string;
}

/** The rows of one table, under the heading before it. */
export interface CodeTable {
  readonly heading: string;
  readonly id: string;
  readonly rows: readonly NamedCode[];
}

/** The tables of the page with the columns File and Function, and what they do in the last column. */
export function readCodeTables(): readonly CodeTable[] {
  const page = parseMarkdown(readFileSync(architecturePage, "utf8"));
  let heading = { text: "", id: "" };
  return page.tokens.flatMap((token) => {
    const id = page.ids.get(token);
    if (id !== undefined) heading = { text: plainText((token as Tokens.Heading).tokens).trim(), id };
    if (token.type !== "table") return [];
    const rows = rowsOf(token as Tokens.Table);
    return rows === undefined ? [] : [{ heading: heading.text, id: heading.id, rows }];
  });
}

function rowsOf({ header, rows }: Tokens.Table): readonly NamedCode[] | undefined {
  const titles = header.map(({ tokens }) => plainText(tokens));
  const [file, name] = [titles.indexOf("File"), titles.indexOf("Function")];
  if (file === -1 || name === -1) return undefined;
  return rows.map((row) => {
    const cells = row.map(({ tokens }) => plainText(tokens).trim());
    const path = cells[file] ?? "";
    return { file: path === "" ? undefined : path, name: cells[name] ?? "", does: cells.at(-1) ?? "" };
  });
}

/** Whether a source declares a function, or a class and its method. */
export function declares(source: string, name: string): boolean {
  const [owner = "", method] = name.split(".");
  const declared = new RegExp(`^(?:export )?(?:async )?(?:function\\*?|const|class|interface) ${owner}\\b`, "m");
  if (!declared.test(source)) return false;
  if (method === undefined) return true;
  return new RegExp(`^ +(?:readonly |static |async |get |function |\\*)*#?${method}(?:\\(|<|\\?:|:| = )`, "m").test(
    source,
  );
}
