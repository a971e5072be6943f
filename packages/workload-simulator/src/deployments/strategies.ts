// SPDX-License-Identifier: Apache-2.0
import { annotationOf, type KubeObject, numberAt } from "@purlin/kube-objects/object";
import { kinds } from "../kinds.ts";
import { isFinished, replicasOf } from "../pods/pod.ts";
import {
  activeOf,
  allOf,
  bounds,
  byAge,
  countIn,
  isRolling,
  maxAnnotation,
  nextSize,
  type Rollout,
  scaleSet,
  wantedBy,
} from "./rollout.ts";

/** Takes the next step of a rolling update: first up, then down. */
export async function rollStep(rollout: Rollout): Promise<void> {
  const { deployment, current } = rollout;
  if (current !== undefined) {
    const [size, wanted] = [replicasOf(current), replicasOf(deployment)];
    const next = size > wanted ? wanted : nextSize(deployment, allOf(rollout), size);
    if (size !== wanted && (await scaleSet(rollout, current, { size: next }))) return;
  }
  await shrinkOld(rollout);
}

async function shrinkOld(rollout: Rollout): Promise<void> {
  const { deployment, current } = rollout;
  const old = rollout.old.toSorted(byAge);
  if (wantedBy(old) === 0) return;
  const minAvailable = replicasOf(deployment) - bounds(deployment).unavailable;
  const news = current === undefined ? [] : [current];
  const notServing = wantedBy(news) - countIn(news, "availableReplicas");
  const most = wantedBy(allOf(rollout)) - minAvailable - notServing;
  if (most <= 0) return;
  const sizes = await dropUnhealthy(rollout, old, most);
  const spare = countIn(allOf(rollout), "availableReplicas") - minAvailable;
  let left = spare;
  for (const set of old) {
    const size = sizes.get(set) ?? replicasOf(set);
    const down = Math.min(size, left);
    if (down <= 0) continue;
    await scaleSet(rollout, await newest(rollout, set), { size: size - down });
    left -= down;
  }
}

/** Gives up Pods of old ReplicaSets that do not serve: they cost no availability. */
async function dropUnhealthy(
  rollout: Rollout,
  old: readonly KubeObject[],
  most: number,
): Promise<ReadonlyMap<KubeObject, number>> {
  const sizes = new Map<KubeObject, number>();
  let left = most;
  for (const set of old) {
    const size = replicasOf(set);
    const down = Math.min(left, size - numberAt(set, ["status", "availableReplicas"]));
    if (size === 0 || down <= 0) continue;
    await scaleSet(rollout, set, { size: size - down });
    sizes.set(set, size - down);
    left -= down;
  }
  return sizes;
}

async function newest({ deps }: Rollout, set: KubeObject): Promise<KubeObject> {
  const { name = "", namespace } = set.metadata;
  return (await deps.client.get(kinds.replicaSet, { name, namespace })) ?? set;
}

/** Scales the old ReplicaSets to zero; says whether the new one must wait. */
export async function stopOld(rollout: Rollout): Promise<boolean> {
  let scaled = false;
  for (const set of activeOf(rollout.old)) scaled = (await scaleSet(rollout, set, { size: 0 })) || scaled;
  return scaled || (await oldPodsRun(rollout));
}

async function oldPodsRun({ deps, deployment, old }: Rollout): Promise<boolean> {
  if (countIn(old, "replicas") > 0) return true;
  for (const { metadata } of old) {
    const { namespace } = deployment.metadata;
    const pods = await deps.client.list(kinds.pod, { namespace, controller: metadata.uid ?? "" });
    if (pods.some((pod) => !isFinished(pod))) return true;
  }
  return false;
}

/** Follows a change of the size: the only active ReplicaSet takes it, several share it in proportion. */
export async function scaleDeployment(rollout: Rollout): Promise<void> {
  const { deployment, current, old } = rollout;
  const wanted = replicasOf(deployment);
  const active = activeOf(allOf(rollout));
  const only =
    active.length === 0 ? (current ?? old.toSorted(byAge).at(-1)) : active.length === 1 ? active[0] : undefined;
  if (only !== undefined) {
    await scaleSet(rollout, only, { size: wanted });
    return;
  }
  if (current !== undefined && isSaturated(deployment, current)) {
    for (const set of activeOf(old)) await scaleSet(rollout, set, { size: 0 });
    return;
  }
  if (isRolling(deployment))
    for (const [set, size] of shares(deployment, active)) await scaleSet(rollout, set, { size, always: true });
}

function isSaturated(deployment: KubeObject, current: KubeObject): boolean {
  const wanted = replicasOf(deployment);
  const desired = Number(annotationOf(current, "deployment.kubernetes.io/desired-replicas") ?? Number.NaN);
  return (
    replicasOf(current) === wanted &&
    desired === wanted &&
    numberAt(current, ["status", "availableReplicas"]) === wanted
  );
}

/** The new sizes of ReplicaSets that share a Deployment, in proportion to their sizes. Leftovers go to the largest. */
function shares(deployment: KubeObject, active: readonly KubeObject[]): ReadonlyMap<KubeObject, number> {
  const wanted = replicasOf(deployment);
  const allowed = wanted > 0 ? wanted + bounds(deployment).surge : 0;
  const toAdd = allowed - wantedBy(active);
  const direction = toAdd > 0 ? -1 : 1;
  const sorted = active.toSorted((a, b) => replicasOf(b) - replicasOf(a) || direction * byAge(a, b));
  const sizes = new Map<KubeObject, number>();
  let added = 0;
  for (const set of sorted) {
    const share = toAdd === 0 || toAdd === added ? 0 : proportion(deployment, set, toAdd - added);
    sizes.set(set, replicasOf(set) + share);
    added += share;
  }
  const [largest] = sorted;
  if (largest !== undefined && toAdd !== 0) sizes.set(largest, Math.max(0, (sizes.get(largest) ?? 0) + toAdd - added));
  return sizes;
}

function proportion(deployment: KubeObject, set: KubeObject, left: number): number {
  const wanted = replicasOf(deployment);
  const size = replicasOf(set);
  if (wanted === 0) return left > 0 ? Math.min(-size, left) : Math.max(-size, left);
  const before = Number(annotationOf(set, maxAnnotation) ?? 0) || numberAt(deployment, ["status", "replicas"]);
  if (before === 0) return 0;
  const share = Math.round((size * (wanted + bounds(deployment).surge)) / before) - size;
  return left > 0 ? Math.min(share, left) : Math.max(share, left);
}
