// SPDX-License-Identifier: Apache-2.0

import { attempt } from "@purlin/kube-controller";
import { isNotFound } from "@purlin/kube-objects/errors";
import { type KubeObject, memberAt } from "@purlin/kube-objects/object";
import { type PackageContext, steps } from "./package-context.ts";
import { type RevisionState, stateOf } from "./plan-states.ts";

/** What to do about old revisions in this reconcile. */
export type CollectionPlan =
  | { readonly action: "none" }
  | { readonly action: "delete"; readonly name: string }
  /** There are too many, and each is needed. */
  | { readonly action: "blocked" };

/** The revisions, and those that cannot be deleted. */
interface CollectionInput {
  readonly revisions: readonly RevisionState[];
  readonly current: string;
  /** How many old ones to keep; 0 keeps all. */
  readonly historyLimit: number;
  /** Revisions that compositions name. */
  readonly inUse: ReadonlySet<string>;
  /** Upstream deletes the lowest one in any case. A guarded collection never deletes an Active revision, nor one in use. */
  readonly isGuarded: boolean;
}

/** Deletes the oldest unused revision when there are more than the history limit. */
export async function collectRevisions(
  context: PackageContext,
  revisions: readonly KubeObject[],
  current: string,
): Promise<void> {
  const limit = memberAt(context.package, ["spec", "revisionHistoryLimit"]);
  const isGuarded = context.type.kind === "Function";
  const historyLimit = typeof limit === "number" ? limit : 0;
  const states = revisions.map(stateOf);
  const input = { revisions: states, current, historyLimit, isGuarded, inUse: new Set<string>() };
  if (planCollection(input).action === "none") return;
  const inUse = isGuarded
    ? (await context.revisionsInUse(revisions, context.signal)).union(await keptByRollouts(context))
    : input.inUse;
  const plan = planCollection({ ...input, inUse });
  if (plan.action === "blocked") {
    const message = "no old revision can be collected: each is active or named by a composition";
    context.emit({ type: "Warning", reason: steps.collect.reason, message });
  }
  if (plan.action !== "delete") return;
  const lowest = revisions.find(({ metadata }) => metadata.name === plan.name);
  if (lowest !== undefined) await attempt(steps.collect, () => remove(context, lowest, isGuarded));
}

/** The revisions that rollouts of the package need. */
export async function keptByRollouts(context: PackageContext): Promise<ReadonlySet<string>> {
  const { package: owner, type, rolloutRevisions, signal } = context;
  if (type.kind !== "Function" || rolloutRevisions === undefined) return new Set();
  return rolloutRevisions(owner.metadata.name ?? "", signal);
}

/** A guarded revision must be unchanged since it was read; the server refuses the deletion otherwise. */
async function remove(
  { client, type, signal }: PackageContext,
  { metadata }: KubeObject,
  isGuarded: boolean,
): Promise<void> {
  const { name = "", uid = "", resourceVersion = "" } = metadata;
  const preconditions = isGuarded ? { uid, resourceVersion } : { uid };
  try {
    await client.delete({ ...type.revision, name }, { preconditions, signal });
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}

/** At most one revision is deleted per reconcile: the lowest-numbered one that may be. */
export function planCollection(input: CollectionInput): CollectionPlan {
  const { revisions, current, historyLimit, inUse, isGuarded } = input;
  if (historyLimit <= 0 || revisions.length <= historyLimit + 1) return { action: "none" };
  const old = revisions.filter(({ name }) => name !== current).toSorted((a, b) => a.number - b.number);
  const eligible = isGuarded ? old.filter((one) => one.desiredState !== "Active" && !inUse.has(one.name)) : old;
  const [lowest] = eligible;
  return lowest === undefined ? { action: "blocked" } : { action: "delete", name: lowest.name };
}
