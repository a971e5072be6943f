// SPDX-License-Identifier: Apache-2.0
import { type CacheChange, type KubeClient, resourcePath } from "@purlin/kube-client";
import type { ReconcileContext, ReconcileResult, WatchingController } from "@purlin/kube-controller";
import { textOf } from "@purlin/kube-objects/errors";
import { type JsonObject, printJson } from "@purlin/kube-objects/json";
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
  objectsAt,
  stringAt,
  textAt,
} from "@purlin/kube-objects/object";
import { kinds } from "../kinds.ts";
import { listNamespace } from "../owned/claim-children.ts";
import { replicasOf } from "../pods/pod.ts";
import { simulatedController } from "../simulated-controller.ts";
import { type SimulatorDeps, storeStatus } from "../simulator-deps.ts";

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

/** Why a metric has no value. */
interface MetricFailure {
  readonly reason: string;
  /** The text of the event and of the condition. */
  readonly text: string;
  /** The same with what was tried, as the number of replicas cannot be computed. */
  readonly error: string;
}

const noResources =
  "unable to fetch metrics from resource metrics API: the server could not find the requested resource (get pods.metrics.k8s.io)";
const noCustom =
  "unable to fetch metrics from custom metrics API: no custom metrics API (custom.metrics.k8s.io) registered";
/** What the autoscaler reports about its metrics on a cluster without a metrics server: none of them can be read. */
function invalidMetrics(autoscaler: KubeObject): readonly MetricFailure[] {
  const { namespace = "" } = autoscaler.metadata;
  return objectsAt(autoscaler, ["spec", "metrics"]).map((metric) => failureOf(metric, namespace));
}

function failureOf(metric: JsonObject, namespace: string): MetricFailure {
  switch (stringAt(metric, ["type"])) {
    case "Resource":
      return resourceFailure(metric, { member: "resource", reason: "FailedGetResourceMetric" });
    case "ContainerResource":
      return resourceFailure(metric, { member: "containerResource", reason: "FailedGetContainerResourceMetric" });
    case "Pods":
      return customFailure("FailedGetPodsMetric", "pods", stringAt(metric, ["pods", "metric", "name"]));
    case "Object":
      return customFailure("FailedGetObjectMetric", "object", stringAt(metric, ["object", "metric", "name"]));
    default:
      return externalFailure(metric, namespace);
  }
}

function resourceFailure(
  metric: JsonObject,
  { member, reason }: { readonly member: string; readonly reason: string },
): MetricFailure {
  const name = stringAt(metric, [member, "name"]);
  const isUtilization = memberAt(metric, [member, "target", "averageUtilization"]) !== undefined;
  const what = isUtilization ? `failed to get ${name} utilization` : `failed to get ${name} usage`;
  const text = `${what}: unable to get metrics for resource ${name}: ${noResources}`;
  const kind = member === "resource" ? "resource" : "container";
  return { reason, text, error: `failed to get ${name} ${kind} metric value: ${text}` };
}

function customFailure(reason: string, kind: string, name: string): MetricFailure {
  const text = `unable to get metric ${name}: ${noCustom}`;
  return { reason, text, error: `failed to get ${kind} metric value: ${text}` };
}

function externalFailure(metric: JsonObject, namespace: string): MetricFailure {
  const name = stringAt(metric, ["external", "metric", "name"]);
  const selector = memberAt(metric, ["external", "metric", "selector"]);
  const shown = selector === undefined ? "nil" : printJson(selector);
  const cause = `the server could not find the requested resource (get ${name}.external.metrics.k8s.io)`;
  const text = `unable to get external metric ${namespace}/${name}/${shown}: unable to fetch metrics from external metrics API: ${cause}`;
  return { reason: "FailedGetExternalMetric", text, error: `failed to get ${name} external metric value: ${text}` };
}
