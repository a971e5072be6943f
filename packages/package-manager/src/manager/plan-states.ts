// SPDX-License-Identifier: Apache-2.0
import { isServing, readRevision } from "@purlin/function-runner";
import { attempt, type ReconcileContext } from "@purlin/kube-controller";
import { isNotFound } from "@purlin/kube-objects/errors";
import { type KubeObject, memberAt, textAt, withMember } from "@purlin/kube-objects/object";
import { type PackageDeps, packageFieldManagers } from "../package-deps.ts";
import type { PackageType } from "../package-kinds.ts";
import { type CurrentRevision, numberOf, secretName } from "./package-revision.ts";

/** The event reason and message prefix of each step that can fail. */
export const steps = {
  list: { reason: "ListRevision", text: "cannot list revisions for package" },
  unpack: { reason: "UnpackPackage", text: "cannot unpack package" },
  build: { reason: "BuildPackage", text: "cannot build package" },
  transition: { reason: "TransitionRevision", text: "cannot transition package revision" },
  collect: { reason: "GarbageCollect", text: "cannot garbage collect old package revision" },
  install: { reason: "InstallPackageRevision", text: "cannot apply package revision" },
} as const;

/** One reconcile of one package. */
export interface PackageContext extends PackageDeps, ReconcileContext {
  readonly type: PackageType;
  readonly package: KubeObject;
  /** Several revisions of this package may be active. */
  readonly isRollout: boolean;
  readonly isFunction: boolean;
}

/** The states of the revisions of a package. */
interface StatePlan {
  /** The desired state of the current revision. */
  readonly current: string;
  /** Older revisions that are to be Active, highest number first. */
  readonly active: readonly string[];
  /** Older revisions that are to be Inactive. */
  readonly inactive: readonly string[];
}

/** The package, its current revision, and all its revisions. */
interface StateInput {
  readonly package: KubeObject;
  readonly revisions: readonly KubeObject[];
  readonly current: CurrentRevision;
  readonly number: number;
  readonly isRollout: boolean;
  readonly isFunction: boolean;
  /** Revisions that rollouts need. */
  readonly kept?: ReadonlySet<string> | undefined;
}

/** Functions under Automatic are started before others are stopped; under the rollout, Manual ones are left alone. */
export function handsOver({
  isFunction,
  isRollout,
  package: owner,
}: Omit<StateInput, "revisions" | "current" | "number">): boolean {
  return isFunction && (isRollout || isAutomatic(owner));
}

/** Whether the manager decides which revisions are active. */
export function isAutomatic(owner: KubeObject): boolean {
  const policy = textAt(owner, ["spec", "revisionActivationPolicy"]);
  return policy === undefined || policy === "Automatic";
}

/** Decides the state of every revision of a package. */
export function planStates(input: StateInput): StatePlan {
  const { package: owner, revisions, current, number, isRollout } = input;
  const older = revisions.filter(({ metadata }) => metadata.name !== current.name).map(stateOf);
  const own = current.existing && textAt(current.existing, ["spec", "desiredState"]);
  if (!isAutomatic(owner)) {
    // Under the rollout, users decide: what is Active stays so.
    const chosen = older
      .filter(({ desiredState }) => desiredState === "Active")
      .toSorted((a, b) => b.number - a.number);
    if (isRollout) return { current: own ?? "Inactive", active: chosen.map(({ name }) => name), inactive: [] };
    return { current: own ?? "", active: [], inactive: older.map(({ name }) => name) };
  }
  if (!handsOver(input)) return { current: "Active", active: [], inactive: older.map(({ name }) => name) };
  const limit = isRollout ? limitOf(owner) : 1;
  const existing = current.existing && stateOf(current.existing);
  const newest = { name: current.name, desiredState: "", isServing: false, ...existing, number };
  const active = new Set([...activeRevisions([newest, ...older], limit), ...(input.kept ?? [])]);
  return {
    current: "Active",
    active: older
      .filter(({ name }) => active.has(name))
      .toSorted((a, b) => b.number - a.number)
      .map(({ name }) => name),
    inactive: older.filter(({ name }) => !active.has(name)).map(({ name }) => name),
  };
}

function limitOf(owner: KubeObject): number {
  const limit = memberAt(owner, ["spec", "activeRevisionLimit"]);
  return typeof limit === "number" && limit >= 1 ? limit : 1;
}

/** The facts of a revision for activation and collection. */
function stateOf(revision: KubeObject): RevisionState {
  return {
    name: revision.metadata.name ?? "",
    number: numberOf(revision),
    desiredState: textAt(revision, ["spec", "desiredState"]) ?? "",
    isServing: isServing(readRevision(revision)),
  };
}

/** The facts of a revision that activation depends on. */
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

/** Sets Active revisions to Inactive. */
export async function deactivate(
  context: PackageContext,
  revisions: readonly KubeObject[],
  names: readonly string[],
): Promise<void> {
  for (const name of names) {
    const revision = revisions.find(({ metadata }) => metadata.name === name);
    if (revision !== undefined && textAt(revision, ["spec", "desiredState"]) === "Active") {
      await setState(context, revision, "Inactive");
    }
  }
}

/** Activates the older revisions of the plan, then deactivates the others. */
export async function transition(
  context: PackageContext,
  revisions: readonly KubeObject[],
  plan: StatePlan,
): Promise<void> {
  for (const name of plan.active) {
    const revision = revisions.find(({ metadata }) => metadata.name === name);
    if (
      revision !== undefined &&
      !(isNamed(context, revision) && textAt(revision, ["spec", "desiredState"]) === "Active")
    ) {
      await setState(context, withOwnSecret(context, revision), "Active");
    }
  }
  await deactivate(context, revisions, plan.inactive);
}

/** Where several revisions are active each has a certificate of its own, also one that was made when there was only one. */
function withOwnSecret(context: PackageContext, revision: KubeObject): KubeObject {
  if (isNamed(context, revision)) return revision;
  const name = secretName(revision.metadata.name ?? "", "-tls-server");
  return withMember(revision, ["spec", "tlsServerSecretName"], name);
}

function isNamed({ isRollout, hasRuntime }: PackageContext, revision: KubeObject): boolean {
  if (!isRollout || !hasRuntime.Function) return true;
  const own = secretName(revision.metadata.name ?? "", "-tls-server");
  return textAt(revision, ["spec", "tlsServerSecretName"]) === own;
}

async function setState({ client, signal }: PackageContext, revision: KubeObject, state: string): Promise<void> {
  const changed = withMember(revision, ["spec", "desiredState"], state);
  await attempt(steps.transition, () => client.update(changed, { fieldManager: packageFieldManagers.update, signal }));
}

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
