// SPDX-License-Identifier: Apache-2.0
import { type Case, scenario } from "../harness/case.ts";
import type { Session } from "../harness/session.ts";
import type { KnownDifference } from "../harness/verdict.ts";

/** A row of docs/reference/compatibility.md, and a conversation that shows what both servers answer. */
export interface DocumentedDifference {
  /** The first cell of the row. */
  readonly topic: string;
  /** What the embedded server and the reference answer. The run fails when either changes. */
  readonly ours: string | number | boolean;
  readonly theirs: string | number | boolean;
  readonly run: (session: Session) => Promise<string | number | boolean>;
}

const asked = "the documented answer";

const titleOf = ({ topic }: DocumentedDifference): string => `documented: ${topic}`;

/** The case that asks both servers. */
export const caseOf = (difference: DocumentedDifference): Case =>
  scenario(titleOf(difference), async (s) => s.note(asked, await difference.run(s)));

/** What the case must find: exactly these two answers. */
export const knownDifferenceOf = (difference: DocumentedDifference): KnownDifference => ({
  case: caseOf(difference).title,
  asked,
  ours: difference.ours,
  theirs: difference.theirs,
  reason: `docs/reference/compatibility.md: ${difference.topic}`,
});
