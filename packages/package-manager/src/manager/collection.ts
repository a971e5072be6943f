// SPDX-License-Identifier: Apache-2.0
import type { RevisionState } from "./activation.ts";

/** What to do about old revisions in this pass. */
export type CollectionPlan =
  | { readonly action: "none" }
  | { readonly action: "delete"; readonly name: string }
  /** There are too many, and each is needed. */
  | { readonly action: "blocked" };

/** Which revisions there are and which cannot go. */
export interface CollectionInput {
  readonly revisions: readonly RevisionState[];
  readonly current: string;
  /** How many old ones to keep; 0 keeps all. */
  readonly historyLimit: number;
  /** Revisions that compositions name. */
  readonly inUse: ReadonlySet<string>;
  /** As shipped, the lowest goes whatever it does. Ours never takes an Active one, nor one in use. */
  readonly isGuarded: boolean;
}

/** At most one revision goes a pass: the lowest-numbered one that may. */
export function planCollection(input: CollectionInput): CollectionPlan {
  const { revisions, current, historyLimit, inUse, isGuarded } = input;
  if (historyLimit <= 0 || revisions.length <= historyLimit + 1) return { action: "none" };
  const old = revisions.filter(({ name }) => name !== current).toSorted((a, b) => a.number - b.number);
  const eligible = isGuarded ? old.filter((one) => one.desiredState !== "Active" && !inUse.has(one.name)) : old;
  const [lowest] = eligible;
  return lowest === undefined ? { action: "blocked" } : { action: "delete", name: lowest.name };
}
