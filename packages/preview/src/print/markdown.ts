// SPDX-License-Identifier: Apache-2.0
import type { Plan, PlannedComposite } from "../plan/plan.ts";
import { type DiffTextOptions, objectDiff } from "./diff-text.ts";
import { counted, headline } from "./plan-text.ts";

/** A comment of a pull request. */
interface MarkdownOptions extends DiffTextOptions {
  /** By which a later run finds the comment that it updates. */
  readonly key: string;
}

const most = 60_000;

/** A plan as a comment: a headline, a table, and the diff of each composite resource folded away. */
export function planMarkdown(plan: Plan, options: MarkdownOptions): string {
  const head = [
    `<!-- purlin-diff:${options.key} -->`,
    `### ${headline(plan)}`,
    "",
    ...(plan.summary.destructive > 0
      ? [
          "> [!WARNING]",
          `> ${counted(plan.summary.destructive, "destructive change")}: read the diff before you apply it.`,
          "",
        ]
      : []),
    ...errorLines(plan),
    ...tableOf(plan),
  ];
  const blocks = [
    ...(plan.inputs.length === 0
      ? []
      : [
          detailsOf(
            "Files",
            plan.inputs.flatMap((change) => objectDiff(change, options)),
          ),
        ]),
    ...plan.composites
      .filter(({ changes }) => changes.length > 0)
      .map((one) =>
        detailsOf(
          titleOf(one),
          one.changes.flatMap((change) => objectDiff(change, options)),
        ),
      ),
  ];
  return `${cut(head, blocks).join("\n")}\n`;
}

function errorLines(plan: Plan): string[] {
  const texts = [
    ...plan.errors.map(({ text }) => text),
    ...plan.composites.flatMap((one) => one.errors.map(({ text }) => `${titleOf(one)}: ${text}`)),
  ];
  return texts.length === 0 ? [] : ["> [!CAUTION]", ...texts.map((text) => `> ${oneLine(text)}`), ""];
}

function tableOf({ composites }: Plan): string[] {
  if (composites.length === 0) return [];
  const rows = composites.map((one) => {
    const count = (...classes: readonly string[]): number =>
      one.changes.filter((change) => classes.includes(change.class)).length;
    const adoption = one.adoption === "unaffected" ? "" : one.adoption;
    const note = one.errors.length > 0 ? "failed" : one.held !== undefined ? "held until approved" : adoption;
    return `| ${oneLine(titleOf(one))} | ${count("create", "replace", "recreate")} | ${count("update", "adopt")} | ${count("delete", "replace", "recreate")} | ${note} |`;
  });
  return ["| XR | + | ~ | - | note |", "|---|---|---|---|---|", ...rows, ""];
}

function titleOf({ kind, namespace, name }: PlannedComposite): string {
  return `${kind} ${namespace ? `${namespace}/` : ""}${name}`;
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, " ").replaceAll("|", "\\|").replaceAll("<", "&lt;");
}

/** The fence is longer than any run of backticks in the text. */
function detailsOf(title: string, lines: readonly string[]): string {
  const runs = lines.join("\n").match(/`+/g) ?? [];
  const fence = "`".repeat(Math.max(3, ...runs.map((run) => run.length + 1)));
  return [`<details><summary>${oneLine(title)}</summary>`, "", `${fence}diff`, ...lines, fence, "", "</details>"].join(
    "\n",
  );
}

/** Leaves out what is too long for a comment, whole composite resources at a time. */
function cut(head: readonly string[], blocks: readonly string[]): string[] {
  const lines = [...head];
  let length = lines.join("\n").length;
  for (const [at, block] of blocks.entries()) {
    length += block.length + 1;
    if (length > most) return [...lines, `${counted(blocks.length - at, "more XR")}, see the job's JSON`];
    lines.push(block);
  }
  return lines;
}
