// SPDX-License-Identifier: Apache-2.0
import { type CacheChange, type KubeClient, resourcePath } from "@purlin/kube-client";
import type { ReconcileContext, ReconcileResult, WatchingController } from "@purlin/kube-controller";
import { textOf } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import {
  type Condition,
  conditionsOf,
  conditionTime,
  isDeleted,
  type KubeObject,
  keyOf,
  memberAt,
  numberAt,
  type ObjectKey,
  objectAt,
  stringAt,
  textAt,
} from "@purlin/kube-objects/object";
import { kinds } from "../kinds.ts";
import { listNamespace } from "../owned/wake-owner.ts";
import { replicasOf } from "../pods/new-pod.ts";
import { simulatedController } from "../simulated-controller.ts";
import { type SimulatorDeps, storeStatus } from "../simulator-deps.ts";
import { invalidMetrics } from "./missing-metrics.ts";

/** What autoscalers are simulated with. */
interface AutoscalerDeps extends SimulatorDeps {
  readonly kube: Pick<KubeClient, "raw" | "mapper">;
}

/** Keeps the targets of HorizontalPodAutoscalers between their bounds. There are no metrics to scale by. */
export function autoscalerController(deps: AutoscalerDeps): WatchingController {
  const targets = [kinds.deployment, kinds.replicaSet, kinds.replicationController, kinds.statefulSet];
  return simulatedController(deps, {
    name: "horizontal-pod-autoscaler",
    type: kinds.autoscaler,
    watches: targets.map((type) => ({
      type: `Scaled${type.kind}`,
      object: type,
      keys: (change) => autoscalersOf(deps, change),
    })),
    reconcile,
  });
}

/** The autoscalers of a workload whose size changed. */
function autoscalersOf({ informers }: SimulatorDeps, change: CacheChange): readonly ObjectKey[] {
  const { object } = change;
  if (change.type === "updated" && replicasOf(change.previous) === replicasOf(object)) return [];
  const all = listNamespace(informers, kinds.autoscaler, object.metadata.namespace ?? "");
  return all
    .filter((one) => {
      const target = targetOf(one);
      return target.kind === object.kind && target.name === object.metadata.name;
    })
    .map(keyOf);
}

interface Target extends ObjectKey {
  readonly apiVersion: string;
  readonly kind: string;
}

function targetOf(autoscaler: KubeObject): Target {
  const reference = objectAt(autoscaler, ["spec", "scaleTargetRef"]);
  return {
    apiVersion: stringAt(reference, ["apiVersion"]),
    kind: stringAt(reference, ["kind"]),
    name: stringAt(reference, ["name"]),
    namespace: autoscaler.metadata.namespace,
  };
}

/** One reconcile of an autoscaler. Conditions are set in it as they become known. */
interface Scaling {
  readonly deps: AutoscalerDeps;
  readonly context: ReconcileContext;
  readonly autoscaler: KubeObject;
  conditions: readonly JsonObject[];
}

async function reconcile(deps: AutoscalerDeps, context: ReconcileContext): Promise<ReconcileResult> {
  const autoscaler = context.stored.object;
  if (isDeleted(autoscaler)) return {};
  const scaling: Scaling = { deps, context, autoscaler, conditions: conditionsOf(autoscaler) };
  const target = await readTarget(scaling);
  if (target !== undefined) await follow(scaling, target);
  else await store(scaling, objectAt(autoscaler, ["status"]));
  return {};
}

interface ScaleTarget {
  readonly path: string;
  readonly scale: JsonObject;
}

/** Reads the scale of the target; undefined when that fails, which a condition says. */
async function readTarget(scaling: Scaling): Promise<ScaleTarget | undefined> {
  const { deps, context, autoscaler } = scaling;
  const target = targetOf(autoscaler);
  try {
    const path = `${resourcePath(await deps.kube.mapper.mapping(target), target)}/scale`;
    const scale = (await deps.kube.raw({ method: "GET", path })) as JsonObject;
    const message = "the HPA controller was able to get the target's current scale";
    setCondition(scaling, "AbleToScale", { status: "True", reason: "SucceededGetScale", message });
    return { path, scale };
  } catch (error) {
    const message = `the HPA controller was unable to get the target's current scale: ${textOf(error)}`;
    context.emit({ type: "Warning", reason: "FailedGetScale", message: textOf(error) });
    setCondition(scaling, "AbleToScale", { status: "False", reason: "FailedGetScale", message });
    return undefined;
  }
}

/** Brings the size of the target between the bounds, or says that it cannot be computed. */
async function follow(scaling: Scaling, { path, scale }: ScaleTarget): Promise<void> {
  const { autoscaler } = scaling;
  const current = numberAt(scale, ["spec", "replicas"]);
  const minimum = memberAt(autoscaler, ["spec", "minReplicas"]);
  const min = typeof minimum === "number" ? minimum : 1;
  const max = numberAt(autoscaler, ["spec", "maxReplicas"]);
  const counts = (desired: number): JsonObject => ({ currentReplicas: current, desiredReplicas: desired });
  if (current === 0 && min !== 0) {
    const message = "scaling is disabled since the replica count of the target is zero";
    setCondition(scaling, "ScalingActive", { status: "False", reason: "ScalingDisabled", message });
    await store(scaling, counts(0));
  } else if (current > max) {
    await resize(scaling, { path, scale, size: max, reason: "Current number of replicas above Spec.MaxReplicas" });
  } else if (current < min) {
    await resize(scaling, { path, scale, size: min, reason: "Current number of replicas below Spec.MinReplicas" });
  } else {
    const currentMetrics = reportMetrics(scaling);
    await store(scaling, { ...counts(numberAt(autoscaler, ["status", "desiredReplicas"])), currentMetrics });
  }
}

interface Resize extends ScaleTarget {
  readonly size: number;
  readonly reason: string;
}

async function resize(scaling: Scaling, { path, scale, size, reason }: Resize): Promise<void> {
  const { deps, context } = scaling;
  const current = numberAt(scale, ["spec", "replicas"]);
  const body = { ...scale, spec: { ...objectAt(scale, ["spec"]), replicas: size } };
  await deps.kube.raw({ method: "PUT", path, body });
  context.emit({ reason: "SuccessfulRescale", message: `New size: ${size}; reason: ${reason}` });
  const message = `the HPA controller was able to update the target scale to ${size}`;
  setCondition(scaling, "AbleToScale", { status: "True", reason: "SucceededRescale", message });
  const lastScaleTime = conditionTime(deps.clock.now());
  await store(scaling, { currentReplicas: current, desiredReplicas: size, lastScaleTime });
}

/** Reports that no metrics server answers, as on a cluster without one. Each metric has an empty status. */
function reportMetrics(scaling: Scaling): readonly JsonObject[] {
  const { context, autoscaler } = scaling;
  const failures = invalidMetrics(autoscaler);
  const [first] = failures;
  if (first === undefined) return [];
  for (const { reason, text } of failures) context.emit({ type: "Warning", reason, message: text });
  const invalid = `invalid metrics (${failures.length} invalid out of ${failures.length}), first error is: ${first.error}`;
  context.emit({ type: "Warning", reason: "FailedComputeMetricsReplicas", message: invalid });
  const message = `the HPA was unable to compute the replica count: ${first.text}`;
  setCondition(scaling, "ScalingActive", { status: "False", reason: first.reason, message });
  return failures.map(() => ({ type: "" }));
}

async function store({ deps, autoscaler, conditions }: Scaling, fields: JsonObject): Promise<void> {
  const lastScaleTime = textAt(autoscaler, ["status", "lastScaleTime"]);
  const status = {
    ...(lastScaleTime !== undefined && { lastScaleTime }),
    desiredReplicas: 0,
    currentMetrics: null,
    ...fields,
    conditions,
  };
  await storeStatus(deps, autoscaler, status);
}

/** Sets a condition in its place; a new one goes to the end. */
function setCondition(scaling: Scaling, type: string, said: Pick<Condition, "status" | "reason" | "message">): void {
  const current = scaling.conditions.find((one) => one["type"] === type);
  const isSame = current?.["status"] === said.status;
  const lastTransitionTime = isSame ? (current["lastTransitionTime"] ?? "") : conditionTime(scaling.deps.clock.now());
  const next = { type, status: said.status, lastTransitionTime, reason: said.reason, message: said.message ?? "" };
  scaling.conditions =
    current === undefined
      ? [...scaling.conditions, next]
      : scaling.conditions.map((one) => (one === current ? next : one));
}
