// SPDX-License-Identifier: Apache-2.0
import { isDeepStrictEqual } from "node:util";
import type { Difference } from "./compare.ts";

/** A difference that is known and stays, or is not built yet. */
export interface KnownDifference {
  /** The case, by name. */
  readonly case: string;
  /** Which of its differences: a part of what was asked and of the path, both when given; all of them otherwise. */
  readonly asked?: string;
  readonly path?: string;
  /** The two answers, where they are always the same; another answer is a new difference. */
  readonly ours?: unknown;
  readonly theirs?: unknown;
  readonly reason: string;
}

/** The outcome for the differences of one case. */
export interface Verdict {
  /** Differences that are not listed. */
  readonly unexpected: readonly Difference[];
  /** Known differences that no longer exist and must be removed from the list. */
  readonly outdated: readonly KnownDifference[];
}

/** Sorts the differences of a case into known and unexpected ones. */
export function judge(differences: readonly Difference[], known: readonly KnownDifference[]): Verdict {
  const unexpected = differences.filter((difference) => !known.some((entry) => covers(entry, difference)));
  const outdated = known.filter((entry) => !differences.some((difference) => covers(entry, difference)));
  return { unexpected, outdated };
}

function covers(entry: KnownDifference, difference: Difference): boolean {
  const { asked = "", path = "" } = entry;
  const isSame = (side: "ours" | "theirs"): boolean =>
    entry[side] === undefined || isDeepStrictEqual(entry[side], difference[side]);
  return difference.asked.includes(asked) && difference.path.includes(path) && isSame("ours") && isSame("theirs");
}
