// SPDX-License-Identifier: Apache-2.0
import type { Exchange } from "./session.ts";

/** One place where two transcripts differ. */
export interface Difference {
  /** Which exchange of the conversation, counted from 1. */
  readonly step: number;
  readonly asked: string;
  /** The path inside the answer, such as `.body.metadata.labels.a`. */
  readonly path: string;
  readonly ours: unknown;
  readonly theirs: unknown;
}

/** What stands for a value one side does not have. */
export const absent = "(absent)";

/** Every place where our conversation went differently from theirs. */
export function compareTranscripts(ours: readonly Exchange[], theirs: readonly Exchange[]): Difference[] {
  const found: Difference[] = [];
  for (let step = 0; step < Math.max(ours.length, theirs.length); step += 1) {
    const [mine, other] = [ours[step], theirs[step]];
    const asked = other?.asked ?? mine?.asked ?? "";
    const report = (path: string, one: unknown, two: unknown): void => {
      found.push({ step: step + 1, asked, path, ours: one, theirs: two });
    };
    if (mine?.asked !== other?.asked) {
      report("(the conversation)", mine?.asked ?? absent, other?.asked ?? absent);
      return found;
    }
    compareValues(mine?.answer, other?.answer, { path: "", report });
  }
  return found;
}

interface Place {
  readonly path: string;
  readonly report: (path: string, ours: unknown, theirs: unknown) => void;
}

function compareValues(ours: unknown, theirs: unknown, place: Place): void {
  if (Object.is(ours, theirs)) return;
  if (!isContainer(ours) || !isContainer(theirs) || Array.isArray(ours) !== Array.isArray(theirs)) {
    place.report(place.path, shownOr(ours), shownOr(theirs));
    return;
  }
  for (const key of new Set([...Object.keys(theirs), ...Object.keys(ours)])) {
    const path = place.path + step(key, Array.isArray(theirs));
    compareValues(ours[key], theirs[key], { ...place, path });
  }
}

function isContainer(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}

function shownOr(value: unknown): unknown {
  return value === undefined ? absent : value;
}

function step(key: string, inArray: boolean): string {
  if (inArray) return `[${key}]`;
  return /^[A-Za-z_][\w-]*$/.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`;
}

/** Differences as a person reads them, the first ones only. */
export function describeDifferences(differences: readonly Difference[], limit = 40): string {
  const shown = differences.slice(0, limit).map(({ step: number, asked, path, ours, theirs }) => {
    return `  ${number}. ${asked}\n     ${path || "(the answer)"}\n       ours:   ${text(ours)}\n       theirs: ${text(theirs)}`;
  });
  const more = differences.length - shown.length;
  return [...shown, ...(more > 0 ? [`  … and ${more} more`] : [])].join("\n");
}

function text(value: unknown): string {
  const json = JSON.stringify(value, (_, member) => (typeof member === "bigint" ? `${member}n` : (member as unknown)));
  return json.length > 1500 ? `${json.slice(0, 1500)}… (${json.length} characters)` : json;
}
