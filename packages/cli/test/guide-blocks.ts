// SPDX-License-Identifier: Apache-2.0
import { readFileSync } from "node:fs";

/** A block of commands in a guide, and what its output is said to contain. */
export interface GuideBlock {
  /**
   * The word after `sh`: `test` exits with 0, `warns` as well with messages on standard error, `fails` does not; `serve` runs until it is
   * stopped; `registry…` needs npm.
   */
  readonly kind: string;
  readonly commands: readonly string[];
  /** Lines that appear in the output, in this order. */
  readonly output: readonly string[];
  readonly line: number;
}

/** The marked blocks of a Markdown file. A `text output` block belongs to the commands before it. */
export function guideBlocks(file: URL): GuideBlock[] {
  const text = readFileSync(file, "utf8");
  const blocks: { kind: string; commands: string[]; output: string[]; line: number }[] = [];
  for (const match of text.matchAll(/^```(sh|text) (\S+)\n([\s\S]*?)^```$/gm)) {
    const [, language, kind = "", body = ""] = match;
    const lines = body.trimEnd().split("\n");
    const line = text.slice(0, match.index).split("\n").length;
    if (language === "sh") blocks.push({ kind, commands: lines, output: [], line });
    else blocks.at(-1)?.output.push(...lines);
  }
  return blocks;
}

/** The first of the expected lines that is missing from the output; undefined when all are there, in order. */
export function missingLine(output: string, expected: readonly string[]): string | undefined {
  const lines = output.split("\n");
  let from = 0;
  for (const line of expected) {
    const at = lines.indexOf(line, from);
    if (at === -1) return line;
    from = at + 1;
  }
  return undefined;
}
