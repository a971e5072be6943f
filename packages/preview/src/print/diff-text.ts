// SPDX-License-Identifier: Apache-2.0
import type { JsonObject } from "@purlin/kube-objects/json";
import type { Plan, PlannedChange, PlannedComposite } from "../plan/plan.ts";
import { lineDiff } from "./line-diff.ts";

/** How diffs are printed. */
export interface DiffTextOptions {
  /** Only three lines around each change. */
  readonly isCompact: boolean;
  readonly yaml: (value: JsonObject) => string;
  /** Only names changed Compositions. */
  readonly isCompositionMinimized?: boolean | undefined;
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
export function objectDiff(
  change: PlannedChange,
  { isCompact, yaml, isCompositionMinimized }: DiffTextOptions,
): string[] {
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
