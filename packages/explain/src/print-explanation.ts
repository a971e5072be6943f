// SPDX-License-Identifier: Apache-2.0

import { listed, refText } from "./inspect/facts.ts";
import { type CauseCode, causeTable } from "./model/cause-table.ts";
import type { Cause, Explanation } from "./model/explanation.ts";

/** How to print. */
interface PrintOptions {
  /** All causes in full; otherwise the first one, and one line for each other. */
  readonly all?: boolean;
}

/** An explanation for people. */
export function explanationText(explanation: Explanation, { all = false }: PrintOptions = {}): string {
  const { object, verdict, causes, waiting, unknown, notes, notRead } = explanation;
  const title = refText(object);
  const lines: string[] = [];
  if (verdict === "healthy") lines.push(`${title} is healthy`);
  const [first, ...others] = causes;
  if (first !== undefined) lines.push(...fullCause(first));
  for (const one of others) lines.push(...(all ? ["", ...fullCause(one)] : [`Also:     ${one.code} ${one.sentence}`]));
  if (verdict === "waiting" || (causes.length === 0 && waiting.length > 0)) {
    lines.push(
      `${title} is not ready yet; ${verdict === "waiting" ? "no error was found" : "no cause was found, and it takes longer than usual"}`,
    );
    lines.push(...waiting.map((one) => `Waiting:  ${refText(one.object)}: ${one.text}`));
  } else if (verdict === "unknown" && unknown.length === 0) lines.push(`${title} is not healthy; no cause was found`);
  if (unknown.length > 0) {
    if (causes.length === 0) lines.push(`${title} is not healthy; the cause is unknown. What it reports:`);
    lines.push(...unknown.map((one) => `Seen:     ${[one.object, one.path].filter(Boolean).join(" ")}: ${one.text}`));
  }
  lines.push(
    ...[
      ...new Set(
        notes.map(
          (note) =>
            `Note:     ${refText(note.object)}: ${note.text}${note.code === undefined ? "" : ` (${note.code})`}`,
        ),
      ),
    ],
  );
  lines.push(...notRead.map((one) => `Not read: ${one}`));
  return `${lines.join("\n")}\n`;
}

function fullCause({ code, sentence, effects, evidence, next, since }: Cause): string[] {
  const [first = "", ...rest] = next;
  return [
    `Cause:    ${code} ${causeTable[code].name}: ${sentence}`,
    `Effect:   ${effects.join(" ← ")}`,
    ...evidence.map(
      (one) =>
        `Evidence: ${[one.object, one.path].filter(Boolean).join(" ")}: ${one.text}${one.time === undefined ? "" : ` (${one.time})`}`,
    ),
    ...(evidence.length === 0 && since !== undefined ? [`Since:    ${since}`] : []),
    `Next:     ${first}`,
    ...rest.flatMap((one) => one.split("\n").map((line) => `          ${line}`)),
  ];
}

/** Explanations with one cause. */
interface ExplanationGroup {
  readonly code: CauseCode | undefined;
  /** The first explanation of the group. */
  readonly example: Explanation;
  readonly objects: readonly Explanation["object"][];
}

/** Groups explanations by their first cause, the largest group first. */
export function groupByCause(explanations: readonly Explanation[]): readonly ExplanationGroup[] {
  const groups = Map.groupBy(explanations, groupKey);
  return [...groups.values()]
    .flatMap((all): ExplanationGroup[] => {
      const [example] = all;
      return example === undefined
        ? []
        : [{ code: example.causes[0]?.code, example, objects: all.map(({ object }) => object) }];
    })
    .toSorted((a, b) => b.objects.length - a.objects.length || ((a.code ?? "Z") < (b.code ?? "Z") ? -1 : 1));
}

/** Causes whose texts differ only in the name of the explained object, or in names that begin with it, are one cause. */
function groupKey({ object, causes, verdict }: Explanation): string {
  const [cause] = causes;
  const name = new RegExp(`(?<![\\w.-])${RegExp.escape(object.name)}(?!\\w)`, "g");
  return cause === undefined ? verdict : `${cause.code} ${cause.sentence.replace(name, "…")}`;
}

/** A group in a few lines. */
export function groupText({ code, example, objects }: ExplanationGroup): string {
  const [cause] = example.causes;
  const names = listed(objects.map(refText), 3);
  const count = objects.length === 1 ? names : `${objects.length} objects (${names})`;
  if (cause === undefined || code === undefined) {
    const why = example.unknown[0]?.text ?? example.waiting[0]?.text ?? "no cause was found";
    return `${count}: ${example.verdict}: ${why}\n`;
  }
  return `${count}: ${code} ${causeTable[code].name}: ${cause.sentence}\nNext:     ${cause.next[0] ?? ""}\n`;
}

/** The documentation of a cause. */
export function causeText(code: CauseCode): string {
  const { name, summary, signal, fix } = causeTable[code];
  return `${code} ${name}\n\n${summary}\n\nRecognized by: ${signal}\nTo fix it:     ${fix}\n`;
}
