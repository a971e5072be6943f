// SPDX-License-Identifier: Apache-2.0

import { isServing, readRevision } from "@purlin/function-runner";
import { attempt } from "@purlin/kube-controller";
import { type KubeObject, memberAt, textAt, withMember } from "@purlin/kube-objects/object";
import { packageFieldManagers } from "../package-deps.ts";
import { secretName } from "./desired-revision.ts";
import { type PackageContext, steps } from "./package-context.ts";
import { type CurrentRevision, numberOf } from "./revision-identity.ts";

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
export function stateOf(revision: KubeObject): RevisionState {
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
