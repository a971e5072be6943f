// SPDX-License-Identifier: Apache-2.0
import { annotationOf, type KubeObject, textAt } from "@purlin/kube-objects/object";
import { createdAt, phaseOf, readySince, restartsOf } from "./pod-state.ts";

const phaseRank: Readonly<Record<string, number>> = { Pending: 0, Unknown: 1, Running: 2 };

/** What decides which Pods go first when a ReplicaSet shrinks, most important first; the smaller value goes first. */
function ranks(pod: KubeObject, now: number): readonly number[] {
  const since = readySince(pod);
  return [
    textAt(pod, ["spec", "nodeName"]) === undefined ? 0 : 1,
    phaseRank[phaseOf(pod)] ?? 0,
    since === undefined ? 0 : 1,
    Number(annotationOf(pod, "controller.kubernetes.io/pod-deletion-cost") ?? 0) || 0,
    ageRank(since, now),
    -restartsOf(pod),
    ageRank(createdAt(pod), now),
  ];
}

/** Ages that differ by less than a factor of two count as equal, so that no age is preferred for ever. */
function ageRank(time: number | undefined, now: number): number {
  return time === undefined ? 0 : Math.floor(Math.log2(Math.max(1, now - time)));
}

/** The Pods in the order in which a ReplicaSet deletes them. */
export function deletionOrder(pods: readonly KubeObject[], now: number): readonly KubeObject[] {
  const ranked = pods.map((pod) => ({ pod, ranks: ranks(pod, now) }));
  return ranked.toSorted((a, b) => compareRanks(a.ranks, b.ranks) || compareUids(a.pod, b.pod)).map(({ pod }) => pod);
}

function compareRanks(a: readonly number[], b: readonly number[]): number {
  const at = a.findIndex((rank, index) => rank !== b[index]);
  return at < 0 ? 0 : (a[at] ?? 0) - (b[at] ?? 0);
}

function compareUids(a: KubeObject, b: KubeObject): number {
  return (a.metadata.uid ?? "") < (b.metadata.uid ?? "") ? -1 : 1;
}
