// SPDX-License-Identifier: Apache-2.0
import type { JsonObject } from "@purlin/kube-objects/json";
import { type KubeObject, memberAt, objectsAt, stringAt } from "@purlin/kube-objects/object";

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
export function invalidMetrics(autoscaler: KubeObject): readonly MetricFailure[] {
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
  const shown = selector === undefined ? "nil" : JSON.stringify(selector);
  const cause = `the server could not find the requested resource (get ${name}.external.metrics.k8s.io)`;
  const text = `unable to get external metric ${namespace}/${name}/${shown}: unable to fetch metrics from external metrics API: ${cause}`;
  return { reason: "FailedGetExternalMetric", text, error: `failed to get ${name} external metric value: ${text}` };
}
