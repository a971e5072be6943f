// SPDX-License-Identifier: Apache-2.0
import { at, text } from "@purlin/kube-apiserver/kinds";
import type { JsonObject, JsonValue } from "@purlin/kube-objects/json";

const unknown = "<unknown>";
const shownMetrics = 2;

/** The metrics of a HorizontalPodAutoscaler as `current/target`: the first two, and how many more there are. */
export function targetsText(specs: readonly JsonObject[], statuses: readonly JsonObject[]): string {
  if (specs.length === 0) return "<none>";
  const all = specs.map((spec, index) => metricText(spec, statuses[index]));
  const rest = all.length - shownMetrics;
  return all.slice(0, shownMetrics).join(", ") + (rest > 0 ? ` + ${rest} more...` : "");
}

function metricText(spec: JsonObject, status: JsonObject | undefined): string {
  switch (text(spec, "type")) {
    case "External":
      return valueText(at(spec, "external", "target"), at(status, "external", "current"));
    case "Object":
      return valueText(at(spec, "object", "target"), at(status, "object", "current"));
    case "Pods": {
      const current = at(status, "pods", "current");
      return `${quantity(at(current, "averageValue"))}/${text(spec, "pods", "target", "averageValue") || "0"}`;
    }
    case "Resource":
      return resourceText(at(spec, "resource"), at(status, "resource", "current"));
    case "ContainerResource":
      return resourceText(at(spec, "containerResource"), at(status, "containerResource", "current"));
    default:
      return "<unknown type>";
  }
}

const quantity = (value: JsonValue | undefined): string => (typeof value === "string" ? value : unknown);

function valueText(target: JsonValue | undefined, current: JsonValue | undefined): string {
  const average = at(target, "averageValue");
  if (average !== undefined) return `${quantity(at(current, "averageValue"))}/${String(average)} (avg)`;
  return `${quantity(at(current, "value"))}/${text(target, "value") || "0"}`;
}

function resourceText(metric: JsonValue | undefined, current: JsonValue | undefined): string {
  const name = text(metric, "name");
  const average = at(metric, "target", "averageValue");
  if (average !== undefined) return `${name}: ${quantity(at(current, "averageValue"))}/${String(average)}`;
  const percent = (value: JsonValue | undefined, absent: string): string =>
    typeof value === "number" ? `${value}%` : absent;
  const target = percent(at(metric, "target", "averageUtilization"), "<auto>");
  return `${name}: ${percent(at(current, "averageUtilization"), unknown)}/${target}`;
}
