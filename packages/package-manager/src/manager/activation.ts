// SPDX-License-Identifier: Apache-2.0

/** A revision as far as activation looks at it. */
export interface RevisionState {
  readonly name: string;
  readonly number: number;
  /** As stored; a user may have written anything. */
  readonly desiredState: string;
  /** Active, and it has answered since it was activated. One that crashed or is started again still counts. */
  readonly isServing: boolean;
}

/**
 * The revisions to keep Active under the policy Automatic: the highest numbers, up to the limit, and for as many of them as have not
 * served yet, the highest of the others that have. So a new revision is started before the one it replaces is stopped, and one that
 * never comes up replaces none. A further new revision takes its place only where the limit has no room for both. All other
 * revisions are to be Inactive.
 */
export function activeRevisions(revisions: readonly RevisionState[], limit: number): ReadonlySet<string> {
  const byNumber = revisions.toSorted((a, b) => b.number - a.number);
  const wanted = byNumber.slice(0, limit);
  const waiting = wanted.filter(({ isServing }) => !isServing).length;
  const holding = byNumber.slice(limit).filter(({ isServing }) => isServing);
  return new Set([...wanted, ...holding.slice(0, waiting)].map(({ name }) => name));
}
