// SPDX-License-Identifier: Apache-2.0

import type { FieldChange } from "@purlin/kube-objects/difference";
import { type JsonValue, printJson } from "@purlin/kube-objects/json";
import type { Plan, PlannedChange, PlannedComposite } from "../plan/plan.ts";

/** What a plan for people shows. */
interface PlanTextOptions {
  readonly showsUnchanged: boolean;
  readonly showsPending: boolean;
  /** Shows changed Compositions without their fields. */
  readonly isCompositionMinimized?: boolean | undefined;
}

const longest = 120;

/** A plan for people. */
export function planText(plan: Plan, options: PlanTextOptions): string {
  const lines: string[] = [];
  for (const change of plan.inputs) {
    const isMinimized = options.isCompositionMinimized === true && change.kind === "Composition";
    lines.push(...changeLines(isMinimized ? { ...change, fields: [] } : change, ""));
  }
  for (const composite of plan.composites) lines.push(...compositeLines(composite, options));
  lines.push(...plan.findings.map(findingLine));
  lines.push(...pendingLines(plan, options));
  const isEmpty = lines.length === 0;
  lines.push(...notesOf(plan));
  return `${[...lines, ...(isEmpty ? [] : [""]), headline(plan)].join("\n")}\n`;
}

/** What a reader of the changes has to know besides them. */
export function notesOf({ warnings, composites }: Plan): string[] {
  const isUnknown = composites.some(({ changes }) => changes.some(({ external }) => external === "unknown"));
  return [
    ...warnings.map((warning) => `warning: ${warning}`),
    ...(isUnknown ? ["note: whether a provider replaces an external resource is not known here"] : []),
  ];
}

/** The objects of a definition that a change concerns. */
export function findingLine({ level, definition, path, text, objects }: Plan["findings"][number]): string {
  return `${level}: ${definition} ${path}: ${text}${objects.length === 0 ? "" : `: ${objects.join(", ")}`}`;
}

/** The last line of a plan. */
export function headline({ summary, composites, inputs, errors, examined }: Plan): string {
  const failed = composites.filter((one) => one.errors.length > 0).length;
  const problems = failed + errors.length === 0 ? "" : ` Failed: ${failed + errors.length}.`;
  const { added, modified, removed, refused, destructive } = summary;
  if (added + modified + removed + refused + destructive === 0) {
    // Of what failed it is not known whether it changes.
    const seen = failed === 0 ? "" : `${examined - failed} of `;
    return `No changes in ${seen}${counted(examined, "composite resource")}.${problems}`;
  }
  const changed = composites.filter(({ changes, isDeferred }) => changes.length > 0 && !isDeferred).length;
  const held = composites.filter((one) => one.held !== undefined).length;
  const where =
    examined === 0 && inputs.length > 0 ? "" : ` in ${changed} of ${counted(examined, "composite resource")}`;
  const more = [
    refused > 0 ? ` Refused: ${refused}.` : "",
    destructive > 0 ? ` Destructive: ${destructive}.` : "",
    held > 0 ? ` Held until approved: ${held}.` : "",
  ].join("");
  return `Plan: ${counts(added, modified, removed)}${where}.${more}${problems}`;
}

function counts(added: number, modified: number, removed: number): string {
  return `${added} to add, ${modified} to change, ${removed} to destroy`;
}

/** A number and a noun. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

function compositeLines(composite: PlannedComposite, { showsUnchanged }: PlanTextOptions): string[] {
  const { changes, errors, adoption, incomplete } = composite;
  const title = `${composite.kind} ${placeOf(composite)}${nameNote(composite)}`;
  const note = adoptionNote(composite);
  if (changes.length + errors.length === 0 && incomplete === undefined) {
    if (note !== "" && adoption !== "adopts") return [`${title}  ${note}`];
    return showsUnchanged ? [`${title}  unchanged`] : [];
  }
  const of = (...classes: readonly string[]): number =>
    changes.filter((one) => classes.includes(one.class) || (classes.includes("both") && one.class === "recreate"))
      .length;
  const replaced = changes.filter((one) => one.replaces !== undefined).length;
  const sums = counts(of("create", "both") + replaced, of("update", "adopt"), of("delete", "both") + replaced);
  const lines = [`${title}${usedComposition(composite)}  ${note === "" ? "" : `${note}  `}${sums}`];
  if (composite.held !== undefined) lines.push(`  held: ${composite.held.message}`);
  for (const error of errors) lines.push(`  ! ${error.text}`);
  for (const change of changes) lines.push(...changeLines(change, "  "));
  if (incomplete !== undefined) lines.push(`  beyond this point: ${incomplete}`);
  return lines;
}

function usedComposition({ composition, revision }: PlannedComposite): string {
  if (composition === undefined) return "";
  const { from, to } = revision ?? {};
  if (from === to || to === undefined)
    return `  (composition ${composition}${to === undefined ? "" : `, revision ${to}`})`;
  return `  (composition ${composition}, revision ${from === undefined ? to : `${from} -> ${to}`})`;
}

function adoptionNote({ adoption, revision, isDeferred, changes }: PlannedComposite): string {
  if (isDeferred) return "when its revision moves:";
  const on = revision?.from === undefined ? "" : ` to revision ${revision.from}`;
  switch (adoption) {
    case "pinned":
      return `pinned${on}: nothing happens until it moves (--include-manual)`;
    case "selector":
      return "its compositionRevisionSelector does not select the new revision: nothing happens";
    case "paused":
      return `paused: nothing ${changes.length === 0 ? "happens" : "is composed"} until it is resumed`;
    case "deleting":
      return `is being deleted: nothing ${changes.length === 0 ? "happens" : "is composed"}`;
    case "leaves":
      return "leaves its Composition";
    case "newly selects":
      return "newly selects the Composition";
    default:
      return "";
  }
}

function placeOf({ namespace, name }: { readonly namespace?: string | undefined; readonly name: string }): string {
  return namespace ? `${namespace}/${name}` : name;
}

function nameNote({ isNameGenerated }: { readonly isNameGenerated: boolean }): string {
  return isNameGenerated ? " (generated)" : "";
}

const signs: Readonly<Record<PlannedChange["class"], string>> = {
  create: "+",
  update: "~",
  adopt: "~",
  delete: "-",
  replace: "-/+",
  recreate: "-/+",
  "leave-behind": "<",
  refused: "!",
};

function changeLines(change: PlannedChange, indent: string): string[] {
  const { resource, kind, step, after } = change;
  const named = change.isNameGenerated ? generatedName(change) : placeOf(change);
  const title = `${kind} ${resource === undefined ? named : `${resource}  ${named}`}`;
  const notes = [
    step === undefined ? "" : `step "${step}"`,
    after === undefined ? "" : `after ${after}`,
    ...classNotes(change),
  ];
  const head = [`${indent}${signOf(change)} ${title}`, ...notes.filter((note) => note !== "")].join("  ");
  return [head, ...change.fields.map((field) => fieldLine(field, `${indent}    `))];
}

function signOf(change: PlannedChange): string {
  return signs[change.class];
}

/** The part of a generated name that is known, or a name that contains a generated one. */
function generatedName(change: PlannedChange): string {
  const { name, generatedFrom } = change;
  if (generatedFrom !== undefined) return `${placeOf(change)} (generated)`;
  return `${name.slice(0, name.lastIndexOf("-") + 1)}(known after apply)`;
}

function classNotes(change: PlannedChange): string[] {
  const { external, refusal, waitsFor = [], approximate, unstable = [] } = change;
  return [
    change.class === "leave-behind" ? "LEFT BEHIND: no longer referred to, and not deleted" : "",
    change.class === "recreate" ? "DELETED and created again" : "",
    change.class === "adopt" ? "gets a controller" : "",
    change.replaces === undefined ? "" : `replaces ${change.replaces}`,
    change.replacedBy === undefined ? "" : `replaced by ${change.replacedBy}`,
    external === "deleted" ? "DESTROYS the external resource" : "",
    external === "kept" ? "the external resource is kept" : "",
    waitsFor.length === 0 ? "" : `waits for ${waitsFor.join(", ")}`,
    refusal === undefined ? "" : `refused: ${refusal.text}`,
    approximate.length === 0 ? "" : `approximate: ${approximate.join(", ")}`,
    unstable.length === 0 ? "" : `unstable: ${unstable.join(", ")}`,
  ];
}

function fieldLine({ path, op, old, new: next, sensitive, unknown }: FieldChange, indent: string): string {
  const sign = op === "add" ? "+ " : op === "remove" ? "- " : "  ";
  const start = `${indent.slice(2)}${sign}${path}`;
  if (sensitive && old === undefined && next === undefined)
    return `${start}  ${op === "replace" ? "(sensitive, changed)" : "(sensitive)"}`;
  const shown = unknown ? "(known after apply)" : valueText(next);
  if (op === "add") return `${start}  ${shown}`;
  return op === "remove" ? `${start}  ${valueText(old)}` : `${start}  ${valueText(old)} -> ${shown}`;
}

function valueText(value: JsonValue | undefined): string {
  const text = printJson(value ?? null);
  return text.length <= longest ? text : `${text.slice(0, longest)}… (${text.length} characters)`;
}

function pendingLines({ composites }: Plan, { showsPending }: PlanTextOptions): string[] {
  const waiting = composites.filter(({ pending }) => pending.length > 0);
  if (!showsPending) {
    return waiting.map(
      (one) =>
        `Would happen anyway: ${counted(one.pending.length, "change")} to ${one.kind} ${placeOf(one)} (--show pending)`,
    );
  }
  return waiting.flatMap((one) => [
    `Would happen anyway: ${one.kind} ${placeOf(one)}`,
    ...one.pending.flatMap((change) => changeLines(change, "  ")),
  ]);
}
