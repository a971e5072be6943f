// SPDX-License-Identifier: Apache-2.0
import type { CacheChange } from "@purlin/kube-client";
import type { ReconcileContext, ReconcileResult, WatchingController } from "@purlin/kube-controller";
import { textOf } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import {
  conditionsOf,
  conditionTime,
  controllerOf,
  groupOf,
  isDeleted,
  type KubeObject,
  memberAt,
  type ObjectKey,
  textMapAt,
} from "@purlin/kube-objects/object";
import { formatLabelSelector, labelSelectorOf } from "@purlin/kube-objects/selector";
import { kinds } from "../kinds.ts";
import { listNamespace } from "../owned/claim-children.ts";
import { filterInTurns, selecting, selectorOf, selects } from "../owned/selection.ts";
import { isReady, replicasOf, scaledCount } from "../pods/pod.ts";
import { requeueAfter, simulatedController } from "../simulated-controller.ts";
import { type SimulatorDeps, storeStatus } from "../simulator-deps.ts";

// An eviction that did not delete its Pod in this time no longer counts.
const evictionMs = 120_000;

/** Keeps the status of PodDisruptionBudgets, by which evictions are allowed. */
export function disruptionController(deps: SimulatorDeps): WatchingController {
  return simulatedController(deps, {
    name: "controllermanager",
    type: kinds.disruptionBudget,
    watches: [{ type: "BudgetPod", object: kinds.pod, keys: (change) => budgetsOf(deps, change) }],
    reconcile,
  });
}

function budgetsOf({ informers }: SimulatorDeps, change: CacheChange): Iterable<ObjectKey | undefined> {
  const { object } = change;
  const budgets = listNamespace(informers, kinds.disruptionBudget, object.metadata.namespace ?? "");
  const pods = change.type === "updated" ? [object, change.previous] : [object];
  return selecting(budgets, pods);
}

async function reconcile(deps: SimulatorDeps, context: ReconcileContext): Promise<ReconcileResult> {
  const budget = context.stored.object;
  if (isDeleted(budget)) return {};
  const { namespace } = budget.metadata;
  const pods = await filterInTurns(await deps.client.list(kinds.pod, { namespace }), (pod) => selects(budget, pod));
  if (pods.length === 0) context.emit({ reason: "NoPods", message: "No matching pods found" });
  const now = deps.clock.now();
  const disrupted = disruptedPods(budget, pods, now);
  try {
    const { expected, desired } = await countsOf(deps, context, pods);
    const healthy = pods.filter(
      (pod) => !isDeleted(pod) && isReady(pod) && !Object.hasOwn(disrupted, pod.metadata.name ?? ""),
    ).length;
    const allowed = expected <= 0 ? 0 : Math.max(0, healthy - desired);
    const counts = { disruptionsAllowed: allowed, currentHealthy: healthy, desiredHealthy: desired };
    const condition: BudgetCondition =
      allowed > 0 ? { status: "True", reason: "SufficientPods" } : { status: "False", reason: "InsufficientPods" };
    await storeStatus(deps, budget, statusOf(budget, { ...counts, expectedPods: expected, disrupted, condition, now }));
  } catch (error) {
    const message = `Failed to calculate the number of expected pods: ${textOf(error)}`;
    context.emit({ type: "Warning", reason: "CalculateExpectedPodCountFailed", message });
    const condition = { status: "False", reason: "SyncFailed", message: textOf(error) } as const;
    const before = memberAt(budget, ["status"]) as JsonObject | undefined;
    const conditions = conditionsAfter(budget, condition, now);
    await storeStatus(deps, budget, { ...before, disruptionsAllowed: 0, conditions });
  }
  const times = Object.values(disrupted).map((time) => Date.parse(time) + evictionMs - now);
  return requeueAfter(times.length === 0 ? undefined : Math.max(1, Math.min(...times)));
}

/** Evictions whose Pod still exists, by its name. */
function disruptedPods(budget: KubeObject, pods: readonly KubeObject[], now: number): Readonly<Record<string, string>> {
  const noted = new Map(Object.entries(textMapAt(budget, ["status", "disruptedPods"]) ?? {}));
  const open = pods.filter((pod) => {
    const time = noted.get(pod.metadata.name ?? "");
    return time !== undefined && !isDeleted(pod) && Date.parse(time) + evictionMs > now;
  });
  return Object.fromEntries(open.map(({ metadata: { name = "" } }) => [name, noted.get(name) ?? ""]));
}

interface Counts {
  readonly expected: number;
  readonly desired: number;
}

async function countsOf(deps: SimulatorDeps, context: ReconcileContext, pods: readonly KubeObject[]): Promise<Counts> {
  const budget = context.stored.object;
  const most = memberAt(budget, ["spec", "maxUnavailable"]);
  const least = memberAt(budget, ["spec", "minAvailable"]);
  if (typeof least === "number") return { expected: pods.length, desired: least };
  const expected = await expectedPods(deps, context, pods);
  if (most === undefined) return { expected, desired: scaledCount(least, expected, "up") };
  return { expected, desired: Math.max(0, expected - scaledCount(most, expected, "up")) };
}

/** The sum of the sizes of all workloads that the Pods belong to. */
async function expectedPods(
  deps: SimulatorDeps,
  context: ReconcileContext,
  pods: readonly KubeObject[],
): Promise<number> {
  const sizes = new Map<string, number>();
  const isUnmanaged = pods.some((pod) => controllerOf(pod) === undefined);
  for (const pod of pods) {
    const owner = await workloadOf(deps, pod);
    if (owner !== undefined) sizes.set(owner.metadata.uid ?? "", replicasOf(owner));
  }
  if (isUnmanaged) {
    const selector = selectorText(context.stored.object);
    const message = `Pods selected by this PodDisruptionBudget (selector: ${selector}) were found to be unmanaged. As a result, the status of the PDB cannot be calculated correctly, which may result in undefined behavior. To account for these pods please set ".spec.minAvailable" field of the PDB to an integer value.`;
    context.emit({ type: "Warning", reason: "UnmanagedPods", message });
  }
  return [...sizes.values()].reduce((sum, size) => sum + size, 0);
}

/** As much of a selector as fits into the message of an event. */
function selectorText(budget: KubeObject): string {
  const { matchLabels, matchExpressions } = selectorOf(budget) ?? {};
  const labels = Object.fromEntries(Object.entries(matchLabels ?? {}).slice(0, shownRequirements));
  const shown = { matchLabels: labels, matchExpressions: (matchExpressions ?? []).slice(0, shownRequirements) };
  return formatLabelSelector(labelSelectorOf(shown)).slice(0, shownCharacters);
}

const shownRequirements = 200;
const shownCharacters = 1000;

/** The Deployment, ReplicaSet, ReplicationController or StatefulSet of a Pod; undefined when nothing controls it. */
async function workloadOf({ client }: SimulatorDeps, pod: KubeObject): Promise<KubeObject | undefined> {
  const { namespace } = pod.metadata;
  const reference = controllerOf(pod);
  if (reference === undefined) return undefined;
  const type = [kinds.replicaSet, kinds.replicationController, kinds.statefulSet].find(
    ({ kind }) => kind === reference.kind,
  );
  if (type === undefined) {
    const group = groupOf(reference.apiVersion);
    throw new Error(`${reference.kind.toLowerCase()}s.${group} does not implement the scale subresource`);
  }
  const owner = await client.get(type, { namespace, name: reference.name });
  const above = owner && controllerOf(owner);
  if (above?.kind !== kinds.deployment.kind) return owner;
  return client.get(kinds.deployment, { namespace, name: above.name });
}

interface BudgetCondition {
  readonly status: "True" | "False";
  readonly reason: string;
  readonly message?: string;
}

interface BudgetState {
  readonly disruptionsAllowed: number;
  readonly currentHealthy: number;
  readonly desiredHealthy: number;
  readonly expectedPods: number;
  readonly disrupted: Readonly<Record<string, string>>;
  readonly condition: BudgetCondition;
  readonly now: number;
}

function statusOf(budget: KubeObject, { disrupted, condition, now, ...counts }: BudgetState): JsonObject {
  return {
    observedGeneration: budget.metadata.generation ?? 1,
    ...(Object.keys(disrupted).length > 0 && { disruptedPods: disrupted }),
    ...counts,
    conditions: conditionsAfter(budget, condition, now),
  };
}

function conditionsAfter(budget: KubeObject, condition: BudgetCondition, now: number): readonly JsonObject[] {
  const type = "DisruptionAllowed";
  const before = conditionsOf(budget);
  const current = before.find((one) => one.type === type);
  const lastTransitionTime = current?.status === condition.status ? current.lastTransitionTime : conditionTime(now);
  const observedGeneration = budget.metadata.generation ?? 1;
  const next = { type, message: "", ...condition, observedGeneration, lastTransitionTime };
  return current === undefined ? [...before, next] : before.map((one) => (one === current ? next : one));
}
