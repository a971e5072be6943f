// SPDX-License-Identifier: Apache-2.0
import type { JsonObject } from "@purlin/kube-objects/json";
import type { Plan, PlannedChange, PlannedComposite } from "../plan/plan.ts";
import { counted, findingLine, headline, notesOf } from "./plan-text.ts";

/** How diffs are printed. */
interface DiffTextOptions {
  /** Only three lines around each change. */
  readonly isCompact: boolean;
  readonly yaml: (value: JsonObject) => string;
  /** Only names changed Compositions. */
  readonly isCompositionMinimized?: boolean | undefined;
}

/** What the diffs of a plan do not show, one line each. */
export function planNotes(plan: Plan): string[] {
  return [...plan.findings.map(findingLine), ...notesOf(plan), ...endedForecasts(plan)];
}

function endedForecasts({ composites }: Plan): string[] {
  return composites.flatMap((one) =>
    one.incomplete === undefined ? [] : `${titleOf(one)}: beyond this point: ${one.incomplete}`,
  );
}

/** A plan in the form of crossplane-diff. */
export function diffText(plan: Plan, options: DiffTextOptions): string {
  const sections = [
    ...(plan.inputs.length > 0 ? [{ title: undefined, changes: plan.inputs }] : []),
    ...plan.composites.map((one) => ({ title: `=== ${one.kind}/${one.name} ===`, changes: one.changes })),
  ];
  const isTitled = plan.composites.length > 1;
  const shown = sections.flatMap(({ title, changes }) => [
    ...(isTitled && title !== undefined && changes.length > 0 ? [title, ""] : []),
    ...changes.flatMap((change) => [...objectDiff(change, options), "---"]),
  ]);
  const summary = summaryLine(plan, plan.composites);
  return summary === "" ? "" : `${[...shown, "", summary].join("\n")}\n`;
}

function summaryLine({ summary: { added, modified, removed } }: Plan, composites: readonly PlannedComposite[]): string {
  const parts = [
    [added, "added"],
    [modified, "modified"],
    [removed, "removed"],
  ].flatMap(([count, word]) => (count === 0 ? [] : `${count} ${word}`));
  if (parts.length === 0) return "";
  const changed = composites.filter(({ changes }) => changes.length > 0).length;
  return composites.length > 1
    ? `Total: ${parts.join(", ")} across ${composites.length} XRs (${changed} changed)`
    : `Summary: ${parts.join(", ")}`;
}

/** One object in the form of crossplane-diff. */
function objectDiff(change: PlannedChange, { isCompact, yaml, isCompositionMinimized }: DiffTextOptions): string[] {
  const { old, new: next, kind, name } = change;
  const sign = old === undefined ? "+++" : next === undefined ? "---" : "~~~";
  const shownName = change.isNameGenerated ? `${name} (generated)` : name;
  const head = `${sign} ${kind}/${shownName}`;
  if (isCompositionMinimized === true && kind === "Composition") return [head];
  if (change.class === "leave-behind") return [`--- ${kind}/${shownName} (left behind: not deleted)`];
  const refusal = change.refusal === undefined ? [] : [`refused: ${change.refusal.text}`];
  const [before, after] = [old === undefined ? [] : linesOf(yaml(old)), next === undefined ? [] : linesOf(yaml(next))];
  return [head, ...refusal, ...lineDiff(before, after, isCompact ? 3 : undefined), ...sensitiveNotes(change)];
}

/** Values that are not shown are equal in both texts. */
function sensitiveNotes({ fields }: PlannedChange): string[] {
  return fields.filter(({ sensitive }) => sensitive).map(({ path }) => `~ ${path}: (sensitive, changed)`);
}

function linesOf(text: string): string[] {
  return text.replace(/\n$/, "").split("\n");
}

/** Texts longer than this are not compared line by line: a longest common subsequence costs the product of their lengths. */
const most = 2000;

interface Line {
  readonly sign: "+" | "-" | " ";
  readonly text: string;
}

/** Two texts as one: lines begin with `+ `, `- ` or two blanks. With a context, only this many lines around changes, parted by `...`. */
export function lineDiff(before: readonly string[], after: readonly string[], context?: number | undefined): string[] {
  const lines = compareLines(before, after);
  if (context === undefined) return lines.map(printed);
  const shown = lines.map((_, at) =>
    lines.slice(Math.max(0, at - context), at + context + 1).some(({ sign }) => sign !== " "),
  );
  return lines.flatMap((line, at) => {
    if (shown[at]) return [printed(line)];
    return at > 0 && shown[at - 1] && shown.indexOf(true, at) !== -1 ? ["..."] : [];
  });
}

function printed({ sign, text }: Line): string {
  return `${sign} ${text}`;
}

function compareLines(before: readonly string[], after: readonly string[]): Line[] {
  let start = 0;
  while (start < before.length && start < after.length && before[start] === after[start]) start += 1;
  let end = 0;
  while (end < before.length - start && end < after.length - start && before.at(-1 - end) === after.at(-1 - end))
    end += 1;
  const middle = compareMiddle(before.slice(start, before.length - end), after.slice(start, after.length - end));
  const same = (text: string): Line => ({ sign: " ", text });
  return [...before.slice(0, start).map(same), ...middle, ...before.slice(before.length - end).map(same)];
}

function compareMiddle(before: readonly string[], after: readonly string[]): Line[] {
  const removed = (text: string): Line => ({ sign: "-", text });
  const added = (text: string): Line => ({ sign: "+", text });
  if (before.length > most || after.length > most) return [...before.map(removed), ...after.map(added)];
  const lengths = Array.from({ length: before.length + 1 }, () => new Uint16Array(after.length + 1));
  const at = (i: number, j: number): number => lengths[i]?.[j] ?? 0;
  for (let i = before.length - 1; i >= 0; i -= 1) {
    const row = lengths[i];
    for (let j = after.length - 1; j >= 0; j -= 1) {
      if (row !== undefined)
        row[j] = before[i] === after[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  const lines: Line[] = [];
  let [i, j] = [0, 0];
  while (i < before.length || j < after.length) {
    const [old, next] = [before[i], after[j]];
    if (old !== undefined && old === next) {
      lines.push({ sign: " ", text: old });
      i += 1;
      j += 1;
    } else if (old !== undefined && (next === undefined || at(i + 1, j) >= at(i, j + 1))) {
      lines.push(removed(old));
      i += 1;
    } else if (next !== undefined) {
      lines.push(added(next));
      j += 1;
    }
  }
  return lines;
}

/** A comment of a pull request. */
interface MarkdownOptions extends DiffTextOptions {
  /** By which a later run finds the comment that it updates. */
  readonly key: string;
}

const maxCommentCharacters = 60_000;

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
    ...noteLines(plan),
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

function noteLines(plan: Plan): string[] {
  const texts = planNotes(plan);
  return texts.length === 0 ? [] : [...texts.map((text) => `- ${oneLine(text)}`), ""];
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

function titleOf({ kind, namespace, name, isNameGenerated }: PlannedComposite): string {
  return `${kind} ${namespace ? `${namespace}/` : ""}${name}${isNameGenerated ? " (generated)" : ""}`;
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
    if (length > maxCommentCharacters)
      return [...lines, `${counted(blocks.length - at, "more XR")}, see the job's JSON`];
    lines.push(block);
  }
  return lines;
}
