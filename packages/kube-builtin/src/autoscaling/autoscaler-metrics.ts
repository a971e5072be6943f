// SPDX-License-Identifier: Apache-2.0
// Metrics as annotations of autoscaling/v1 write them, and as autoscaling/v2 does.
import type { JsonObject, JsonValue } from "@purlin/kube-objects/json";
import { memberAt, objectAt, stringAt } from "@purlin/kube-objects/object";

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
export function toFirstMetric(metric: JsonObject): JsonObject {
  return flattened(metric, specShape);
}

/** A metric of an annotation as autoscaling/v2 writes it. */
export function fromFirstMetric(metric: JsonObject): JsonObject {
  return nested(metric, specShape);
}

/** The value of a metric of autoscaling/v2 as annotations write it. */
export function toFirstStatus(metric: JsonObject): JsonObject {
  const flat = flattened(metric, statusShape);
  const type = memberOf(stringAt(metric, ["type"]));
  const own = objectAt(flat, [type]);
  const needsValue = (type === "resource" || type === "containerResource") && own["currentAverageValue"] === undefined;
  // Its type has no missing amounts.
  return needsValue ? { ...flat, [type]: { ...own, currentAverageValue: "0" } } : flat;
}

/** The value of a metric in an annotation as autoscaling/v2 writes it. */
export function fromFirstStatus(metric: JsonObject): JsonObject {
  const type = memberOf(stringAt(metric, ["type"]));
  const { currentAverageValue, ...own } = objectAt(metric, [type]);
  const isMade = (type === "resource" || type === "containerResource") && currentAverageValue === "0";
  return nested(isMade ? { ...metric, [type]: own } : metric, statusShape);
}
