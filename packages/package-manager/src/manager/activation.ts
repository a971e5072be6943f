// SPDX-License-Identifier: Apache-2.0

/** A revision as far as activation looks at it. */
export interface RevisionState {
  readonly name: string;
  readonly number: number;
  /** As stored; a user may have written anything. */
  readonly desiredState: string;
  /** Active, answers calls, and what it can do is known. */
  readonly isServing: boolean;
}

/**
 * Which revisions shall be Active under the policy Automatic: the highest numbers, up to the limit, and for as many of them as do
 * not serve yet, the highest of the others that do. So a newcomer is started before the one it replaces is stopped, and one that
 * never comes up replaces nobody. Another newcomer takes its place only where the limit has none for both: within the limit it may
 * still come up, and whoever names it is served then. Whoever is not named shall be Inactive.
 */
export function activeRevisions(revisions: readonly RevisionState[], limit: number): ReadonlySet<string> {
  const byNumber = revisions.toSorted((a, b) => b.number - a.number);
  const wanted = byNumber.slice(0, limit);
  const waiting = wanted.filter(({ isServing }) => !isServing).length;
  const holding = byNumber.slice(limit).filter(({ isServing }) => isServing);
  return new Set([...wanted, ...holding.slice(0, waiting)].map(({ name }) => name));
}
