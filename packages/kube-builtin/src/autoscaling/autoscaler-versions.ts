// SPDX-License-Identifier: Apache-2.0
import { items, metaOf, withMeta } from "@purlin/kube-apiserver/kinds";
import { isJsonObject, type JsonObject, type JsonValue, parseJson, printJson } from "@purlin/kube-objects/json";
import { memberAt, objectAt, stringAt } from "@purlin/kube-objects/object";
import { inTypedOrder } from "@purlin/kube-objects/typed";
import { behaviorFromText, behaviorText } from "./autoscaler-behavior.ts";
import { fromFirstMetric, fromFirstStatus, toFirstMetric, toFirstStatus } from "./autoscaler-metrics.ts";

const prefix = "autoscaling.alpha.kubernetes.io";
const metricsKey = `${prefix}/metrics`;
const statusesKey = `${prefix}/current-metrics`;
const conditionsKey = `${prefix}/conditions`;
const behaviorKey = `${prefix}/behavior`;
const roundTripKeys = [
  metricsKey,
  statusesKey,
  conditionsKey,
  behaviorKey,
  `${prefix}/scale-up-tolerance`,
  `${prefix}/scale-down-tolerance`,
];

/** The target of a new HorizontalPodAutoscaler that has no metric. */
const defaultUtilization = 80;

function cpuMetric(averageUtilization: JsonValue): JsonObject {
  return { type: "Resource", resource: { name: "cpu", target: { type: "Utilization", averageUtilization } } };
}

function isCpuUtilization(metric: JsonObject): boolean {
  return (
    stringAt(metric, ["type"]) === "Resource" &&
    stringAt(metric, ["resource", "name"]) === "cpu" &&
    memberAt(metric, ["resource", "target", "averageUtilization"]) !== undefined
  );
}

function withoutRoundTrip(object: JsonObject): JsonObject {
  const annotations = metaOf(object).annotations ?? {};
  if (!roundTripKeys.some((key) => key in annotations)) return object;
  const kept = Object.entries(annotations).filter(([key]) => !roundTripKeys.includes(key));
  return withMeta(object, { annotations: kept.length === 0 ? undefined : Object.fromEntries(kept) });
}

/** A stored HorizontalPodAutoscaler as version 1 shows it. */
export function toFirstVersion(stored: JsonObject): JsonObject {
  const own = withoutRoundTrip(stored);
  const { metrics: _metrics, behavior: _behavior, ...spec } = objectAt(own, ["spec"]);
  const { currentMetrics: _current, conditions: _conditions, ...status } = objectAt(own, ["status"]);
  const target = items(own, "spec", "metrics").find(isCpuUtilization);
  const current = items(own, "status", "currentMetrics").findLast(
    (one) =>
      stringAt(one, ["resource", "name"]) === "cpu" &&
      memberAt(one, ["resource", "current", "averageUtilization"]) !== undefined,
  );
  const percent = memberAt(target ?? {}, ["resource", "target", "averageUtilization"]);
  const currentPercent = memberAt(current ?? {}, ["resource", "current", "averageUtilization"]);
  const shown: JsonObject = {
    ...own,
    apiVersion: "autoscaling/v1",
    spec: { ...spec, ...(percent !== undefined && { targetCPUUtilizationPercentage: percent }) },
    status: {
      currentReplicas: 0,
      ...status,
      ...(currentPercent !== undefined && { currentCPUUtilizationPercentage: currentPercent }),
    },
  };
  const added = roundTripAnnotations(own);
  return inTypedOrder(
    Object.keys(added).length === 0
      ? shown
      : withMeta(shown, { annotations: { ...metaOf(shown).annotations, ...added } }),
  );
}

/** The annotations that carry what version 1 has no fields for. */
function roundTripAnnotations(stored: JsonObject): Record<string, string> {
  const metrics = items(stored, "spec", "metrics").filter((metric) => !isCpuUtilization(metric));
  const statuses = items(stored, "status", "currentMetrics");
  const conditions = items(stored, "status", "conditions");
  const behavior = memberAt(stored, ["spec", "behavior"]);
  return {
    ...(metrics.length > 0 && { [metricsKey]: printJson(metrics.map(toFirstMetric)) }),
    ...(statuses.length > 0 && { [statusesKey]: printJson(statuses.map(toFirstStatus)) }),
    ...(isJsonObject(behavior) && { [behaviorKey]: behaviorText(behavior) }),
    ...(conditions.length > 0 && { [conditionsKey]: printJson(conditions) }),
  };
}

/** The list in an annotation; undefined when the annotation does not hold one. */
function listIn(text: string | undefined): JsonObject[] | undefined {
  if (text === undefined) return undefined;
  try {
    const value = parseJson(text);
    return Array.isArray(value) ? value.filter(isJsonObject) : undefined;
  } catch {
    return undefined;
  }
}

/** A HorizontalPodAutoscaler of version 1 in its stored form. */
export function toSecondVersion(served: JsonObject): JsonObject {
  const annotations = metaOf(served).annotations ?? {};
  const { targetCPUUtilizationPercentage: percent, ...spec } = objectAt(served, ["spec"]);
  const { currentCPUUtilizationPercentage: current, ...status } = objectAt(served, ["status"]);
  const others = listIn(annotations[metricsKey])?.map(fromFirstMetric) ?? [];
  const named = percent === undefined || percent === null ? [] : [cpuMetric(percent)];
  const metrics = [...others, ...named];
  const behavior = behaviorFromText(annotations[behaviorKey]);
  const conditions = listIn(annotations[conditionsKey]);
  const statuses =
    listIn(annotations[statusesKey])?.map(fromFirstStatus) ??
    (typeof current === "number" ? [cpuStatus(current)] : undefined);
  return {
    ...withoutRoundTrip(served),
    apiVersion: "autoscaling/v2",
    spec: {
      ...spec,
      metrics: metrics.length === 0 ? [cpuMetric(defaultUtilization)] : metrics,
      ...(behavior && { behavior }),
    },
    status: {
      ...(status["currentReplicas"] === 0 ? withoutReplicas(status) : status),
      currentMetrics: statuses ?? null,
      ...(conditions && conditions.length > 0 && { conditions }),
    },
  };
}

function withoutReplicas({ currentReplicas: _replicas, ...status }: JsonObject): JsonObject {
  return status;
}

function cpuStatus(averageUtilization: number): JsonObject {
  return { type: "Resource", resource: { name: "cpu", current: { averageUtilization } } };
}
