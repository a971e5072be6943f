// SPDX-License-Identifier: Apache-2.0
import { type Case, scenario } from "../harness/case.ts";
import { core, inGroup, ownGroup, ownWidgets, withCrd } from "../harness/fixtures.ts";
import type { Loose } from "../harness/loose.ts";
import type { Session } from "../harness/session.ts";
import { smallCrd } from "../harness/small-crd.ts";

/** A version that shares one field with the others. */
function version(name: string, fields: Loose, more: Loose = {}): Loose {
  const properties = { spec: { type: "object", properties: fields } };
  const schema = { openAPIV3Schema: { type: "object", properties } };
  return { name, served: true, storage: false, schema, ...more };
}

const text = (more: Loose = {}): Loose => ({ type: "string", ...more });

function crdOf(s: Session): Loose {
  const versions = [
    version("v1", { shared: text({ default: "one" }), first: text() }, { storage: true }),
    version("v2", { shared: text({ default: "two" }), second: text({ default: "2" }) }, { deprecated: true }),
    version("v1alpha1", { shared: text() }, { deprecated: true }),
    version("v1beta1", { shared: text() }, { deprecated: true, deprecationWarning: "say goodbye" }),
  ];
  return smallCrd(s, {}, { versions });
}

const object = (s: Session, name: string, { v, spec }: { v: string; spec: Loose }): Loose => ({
  apiVersion: `${ownGroup(s)}/${v}`,
  kind: "Widget",
  metadata: { name },
  spec,
});

const memoryMetric: Loose = {
  type: "Resource",
  resource: { name: "memory", target: { type: "Utilization", averageUtilization: 70 } },
};
const behavior: Loose = { scaleDown: { stabilizationWindowSeconds: 5 } };

function autoscaler(version: string, name: string, spec: Loose): Loose {
  const scaleTargetRef = { apiVersion: "apps/v1", kind: "Deployment", name: "d" };
  const whole = { scaleTargetRef, maxReplicas: 5, ...spec };
  return { apiVersion: `autoscaling/${version}`, kind: "HorizontalPodAutoscaler", metadata: { name }, spec: whole };
}

export const severalVersionsCases: readonly Case[] = [
  scenario("defaults and fields of several versions", async (s) => {
    await withCrd(s, crdOf(s));
    await s.post(ownWidgets(s), object(s, "a", { v: "v1", spec: { first: "x" } }));
    await s.post(ownWidgets(s, "", "v2"), object(s, "b", { v: "v2", spec: { second: "y" } }));
    await s.post(ownWidgets(s, "", "v2"), object(s, "c", { v: "v2", spec: {} }));
    for (const v of ["v1", "v2", "v1beta1", "v1alpha1"]) {
      await s.get(ownWidgets(s, "a", v));
      await s.get(ownWidgets(s, "b", v));
      await s.get(ownWidgets(s, "", v));
    }
    await s.patch(ownWidgets(s, "a", "v2"), "merge", { metadata: { labels: { seen: "yes" } } });
    await s.put(ownWidgets(s, "a", "v2"), object(s, "a", { v: "v1", spec: {} }));
  }),

  scenario("owners of a HorizontalPodAutoscaler in both of its versions", async (s) => {
    const at = (v: string, manager: string, name = ""): string =>
      `${inGroup(s, `autoscaling/${v}/horizontalpodautoscalers`, name)}?fieldManager=${manager}`;
    await s.post(at("v2", "two"), autoscaler("v2", "a", { minReplicas: 2, metrics: [memoryMetric], behavior }));
    await s.patch(at("v1", "one", "a"), "merge", { spec: { minReplicas: 3 } });
    await s.patch(at("v1", "one", "a"), "merge", { spec: { targetCPUUtilizationPercentage: 50 } });
    await s.patch(at("v2", "two", "a"), "merge", { spec: { maxReplicas: 7 } });
    await s.patch(at("v2", "two", "a"), "merge", { spec: { metrics: [memoryMetric] } });
    await s.get(inGroup(s, "autoscaling/v1/horizontalpodautoscalers", "a"));
    await s.get(inGroup(s, "autoscaling/v2/horizontalpodautoscalers", "a"));

    await s.patch(at("v1", "one", "b"), "apply", autoscaler("v1", "b", { targetCPUUtilizationPercentage: 40 }));
    await s.patch(at("v2", "two", "b"), "apply", autoscaler("v2", "b", { maxReplicas: 6 }));
    await s.patch(`${at("v2", "two", "b")}&force=true`, "apply", autoscaler("v2", "b", { maxReplicas: 6, behavior }));
    await s.patch(`${at("v1", "other", "b/status")}`, "merge", { status: { currentCPUUtilizationPercentage: 9 } });
    await s.get(inGroup(s, "autoscaling/v2/horizontalpodautoscalers", "b"));

    await s.post(at("v1", "one"), autoscaler("v1", "c", { targetCPUUtilizationPercentage: 40 }));
    const { body } = await s.get(inGroup(s, "autoscaling/v2/horizontalpodautoscalers", "c"), { quiet: true });
    await s.put(at("v2", "two", "c"), { ...body, spec: { ...body.spec, metrics: [memoryMetric], minReplicas: 4 } });
    await s.patch(at("v1", "three", "c"), "strategic", { metadata: { labels: { a: "b" } }, spec: { minReplicas: 5 } });
    await s.get(inGroup(s, "autoscaling/v1/horizontalpodautoscalers", "c"));
  }),

  scenario(
    "an applier of a HorizontalPodAutoscaler gives up a field while another one applies in the other version",
    async (s) => {
      const at = (v: string, manager: string): string =>
        `${inGroup(s, `autoscaling/${v}/horizontalpodautoscalers`, "a")}?fieldManager=${manager}`;
      await s.patch(at("v1", "one"), "apply", autoscaler("v1", "a", { targetCPUUtilizationPercentage: 40 }));
      await s.patch(at("v2", "two"), "apply", autoscaler("v2", "a", { behavior }));
      await s.patch(at("v1", "one"), "apply", autoscaler("v1", "a", {}), { title: "the target is given up" });
    },
  ),

  scenario("owners of an Event in both of its groups", async (s) => {
    const coreAt = (manager: string, name = ""): string => `${core(s, "events", name)}?fieldManager=${manager}`;
    const ownAt = (manager: string, name = ""): string =>
      `${inGroup(s, "events.k8s.io/v1/events", name)}?fieldManager=${manager}`;
    const involvedObject = { kind: "Pod", name: "p", namespace: s.namespace };
    const event = { apiVersion: "v1", kind: "Event", metadata: { name: "a" }, involvedObject, message: "x", count: 1 };
    await s.post(coreAt("one"), event);
    await s.patch(ownAt("two", "a"), "merge", { metadata: { labels: { a: "b" } } });
    await s.patch(coreAt("one", "a"), "merge", { message: "y", count: 2 });
    await s.patch(coreAt("three", "a"), "apply", { ...event, message: "z" });
    await s.patch(`${coreAt("three", "a")}&force=true`, "apply", { ...event, message: "z" });
    await s.get(inGroup(s, "events.k8s.io/v1/events", "a"));
    await s.patch(ownAt("four", "a"), "merge", { metadata: { labels: { a: "c" } } });
    await s.get(core(s, "events", "a"));
  }),
];
