// SPDX-License-Identifier: Apache-2.0
import { items, metaOf, type VersionConversions, withMeta } from "@purlin/kube-apiserver/kinds";
import {
  isJsonArray,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  parseJson,
  printJson,
} from "@purlin/kube-objects/json";
import { memberAt, objectAt, stringAt } from "@purlin/kube-objects/object";
import { inTypedOrder } from "@purlin/kube-objects/typed";

// The behavior of a HorizontalPodAutoscaler in an annotation of autoscaling/v1, where all members begin with a capital letter.

const directions = ["scaleUp", "scaleDown"] as const;
const ruleMembers = ["stabilizationWindowSeconds", "selectPolicy", "policies", "tolerance"] as const;
const policyMembers = ["type", "value", "periodSeconds"] as const;

const capital = (name: string): string => name.slice(0, 1).toUpperCase() + name.slice(1);

/** The text of a behavior; members that are not set are null. */
function behaviorText(behavior: JsonObject): string {
  return printJson(written(behavior, directions, (rules) => written(rules, ruleMembers, policies)));
}

const policies = (value: JsonObject): JsonValue => written(value, policyMembers, (one) => one);

function written(object: JsonObject, members: readonly string[], write: (value: JsonObject) => JsonValue): JsonObject {
  const value = (member: JsonValue | undefined): JsonValue => {
    if (isJsonArray(member)) return member.map((one) => (isJsonObject(one) ? write(one) : one));
    return isJsonObject(member) ? write(member) : (member ?? null);
  };
  return Object.fromEntries(members.map((name) => [capital(name), value(memberAt(object, [name]))]));
}

/** The behavior in an annotation; undefined when the annotation does not hold one. */
function behaviorFromText(text: string | undefined): JsonObject | undefined {
  if (text === undefined) return undefined;
  try {
    const value = parseJson(text);
    const read = isJsonObject(value) ? readMembers(value) : {};
    return Object.keys(read).length === 0 ? undefined : read;
  } catch {
    return undefined;
  }
}

function readMembers(object: JsonObject): JsonObject {
  const members = Object.entries(object).filter(([, value]) => value !== null);
  return Object.fromEntries(
    members.map(([name, value]) => [name.slice(0, 1).toLowerCase() + name.slice(1), readValue(value)]),
  );
}

function readValue(value: JsonValue): JsonValue {
  if (isJsonArray(value)) return value.map(readValue);
  return isJsonObject(value) ? readMembers(value) : value;
}

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

/** A HorizontalPodAutoscaler of version 1 in its stored form. A new one without a metric gets the default. */
export function toSecondVersion(served: JsonObject): JsonObject {
  const stored = converted(served);
  const spec = objectAt(stored, ["spec"]);
  return spec["metrics"] === undefined
    ? { ...stored, spec: { ...spec, metrics: [cpuMetric(defaultUtilization)] } }
    : stored;
}

/** How the owners of fields see a HorizontalPodAutoscaler in the other version: without defaults. */
export const autoscalerConversions: VersionConversions = {
  "autoscaling/v1": { "autoscaling/v2": (object) => inTypedOrder(converted(object)) },
  "autoscaling/v2": { "autoscaling/v1": toFirstVersion },
};

function converted(served: JsonObject): JsonObject {
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
      ...(metrics.length > 0 && { metrics }),
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

// Metrics as annotations of autoscaling/v1 write them, and as autoscaling/v2 does.

type Names = Readonly<Record<string, string>>;

const targetNames: Names = {
  averageUtilization: "targetAverageUtilization",
  averageValue: "targetAverageValue",
  value: "targetValue",
};
const objectTargetNames: Names = { value: "targetValue", averageValue: "averageValue" };
const currentNames: Names = {
  averageUtilization: "currentAverageUtilization",
  averageValue: "currentAverageValue",
  value: "currentValue",
};
const objectCurrentNames: Names = { value: "currentValue", averageValue: "averageValue" };

interface Shape {
  readonly member: "target" | "current";
  readonly names: (type: string) => Names;
}

const specShape: Shape = {
  member: "target",
  names: (type) => (type === "object" ? objectTargetNames : targetNames),
};
const statusShape: Shape = {
  member: "current",
  names: (type) => (type === "object" ? objectCurrentNames : currentNames),
};

const memberOf = (type: string): string => type.slice(0, 1).toLowerCase() + type.slice(1);
const defined = (members: Record<string, JsonValue | undefined>): JsonObject =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as JsonObject;

/** The metric with its name, selector and values as members of one object. */
function flattened(metric: JsonObject, { member, names }: Shape): JsonObject {
  const type = memberOf(stringAt(metric, ["type"]));
  const source = objectAt(metric, [type]);
  const values = objectAt(source, [member]);
  const selector = type === "external" ? "metricSelector" : "selector";
  const flat = defined({
    target: type === "object" ? memberAt(source, ["describedObject"]) : undefined,
    name: memberAt(source, ["name"]),
    container: memberAt(source, ["container"]),
    metricName: memberAt(source, ["metric", "name"]),
    ...Object.fromEntries(Object.entries(names(type)).map(([own, flatName]) => [flatName, values[own]])),
    [selector]: memberAt(source, ["metric", "selector"]),
  });
  return { type: stringAt(metric, ["type"]), [type]: flat };
}

function nested(metric: JsonObject, { member, names }: Shape): JsonObject {
  const type = memberOf(stringAt(metric, ["type"]));
  const flat = objectAt(metric, [type]);
  const own = names(type);
  const values = defined(Object.fromEntries(Object.entries(own).map(([name, flatName]) => [name, flat[flatName]])));
  const selector = memberAt(flat, [type === "external" ? "metricSelector" : "selector"]);
  const metricName = memberAt(flat, ["metricName"]);
  const source = defined({
    describedObject: type === "object" ? memberAt(flat, ["target"]) : undefined,
    name: memberAt(flat, ["name"]),
    container: memberAt(flat, ["container"]),
    metric: metricName === undefined ? undefined : defined({ name: metricName, selector }),
    [member]: member === "target" ? { type: targetType(values), ...values } : values,
  });
  return { type: stringAt(metric, ["type"]), [type]: source };
}

function targetType(values: JsonObject): string {
  if (values["averageUtilization"] !== undefined) return "Utilization";
  return values["averageValue"] === undefined ? "Value" : "AverageValue";
}

/** A metric of autoscaling/v2 as annotations write it. */
function toFirstMetric(metric: JsonObject): JsonObject {
  return flattened(metric, specShape);
}

/** A metric of an annotation as autoscaling/v2 writes it. */
function fromFirstMetric(metric: JsonObject): JsonObject {
  return nested(metric, specShape);
}

/** The value of a metric of autoscaling/v2 as annotations write it. */
function toFirstStatus(metric: JsonObject): JsonObject {
  const flat = flattened(metric, statusShape);
  const type = memberOf(stringAt(metric, ["type"]));
  const own = objectAt(flat, [type]);
  const needsValue = (type === "resource" || type === "containerResource") && own["currentAverageValue"] === undefined;
  // Its type has no missing amounts.
  return needsValue ? { ...flat, [type]: { ...own, currentAverageValue: "0" } } : flat;
}

/** The value of a metric in an annotation as autoscaling/v2 writes it. */
function fromFirstStatus(metric: JsonObject): JsonObject {
  const type = memberOf(stringAt(metric, ["type"]));
  const { currentAverageValue, ...own } = objectAt(metric, [type]);
  const isMade = (type === "resource" || type === "containerResource") && currentAverageValue === "0";
  return nested(isMade ? { ...metric, [type]: own } : metric, statusShape);
}
