// SPDX-License-Identifier: Apache-2.0
import { isDeepStrictEqual } from "node:util";
import { printJson } from "../../packages/kube-objects/src/json/index.ts";
import type { Entry, Recording } from "./recording.ts";

/** A generator of numbers in [0, 1) that a seed determines (mulberry32). */
function random(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** A random share of the entries, in their order: at least one. The same seed chooses the same ones. */
export function sampleOf(entries: readonly Entry[], share: number, seed: number): Entry[] {
  if (share === 1) return [...entries];
  const next = random(seed);
  const chosen = entries.filter(() => next() < share);
  if (chosen.length > 0) return chosen;
  return entries.slice(0, 1);
}

const shown = (value: unknown): string => (printJson((value ?? null) as Entry) ?? "absent").slice(0, 1_000);

const isContainer = (value: unknown): value is Entry => typeof value === "object" && value !== null;

/** Where two values differ, down to the members that do. */
function differences(was: unknown, is: unknown, path: string): string[] {
  if (isDeepStrictEqual(was, is)) return [];
  if (!isContainer(was) || !isContainer(is)) {
    return [`    ${path}\n      recorded ${shown(was)}\n      now      ${shown(is)}`];
  }
  const names = new Set([...Object.keys(was), ...Object.keys(is)]);
  return [...names].flatMap((name) => differences(was[name], is[name], `${path}.${name}`));
}

/** What differs between two lists of entries, each as a text to print. */
export function compareEntries(recording: Recording, before: readonly Entry[], after: readonly Entry[]): string[] {
  if (before.length !== after.length) return [`${before.length} entries became ${after.length}`];
  const comparable = recording.comparable ?? ((entry: Entry): unknown => entry);
  return before.flatMap((entry, index) => {
    const [was, is] = [comparable(entry), comparable(after[index] ?? {})];
    return isDeepStrictEqual(was, is)
      ? []
      : [`  entry ${index}: ${shown(entry).slice(0, 160)}\n${differences(was, is, "").join("\n")}`];
  });
}
