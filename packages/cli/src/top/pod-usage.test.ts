// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { forbidden, notFound } from "@purlin/kube-objects/errors";
import type { JsonValue } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";
import { TestIo } from "../../test/test-io.ts";
import type { Cluster } from "../cluster/cluster-client.ts";
import { type PodUsage, podSummary, podTable, podUsage } from "./usage.ts";

const pod = (name: string, labels?: Record<string, string>): KubeObject => ({
  ...{ apiVersion: "v1", kind: "Pod", metadata: { name, ...(labels && { labels }) } },
});
const measured = (
  name: string,
  ...usage: readonly { readonly cpu?: string; readonly memory?: string }[]
): JsonValue => ({
  metadata: { name },
  containers: usage.map((one) => ({ name: "c", usage: one })),
});

function cluster(pods: readonly KubeObject[], metrics: JsonValue | Error): Cluster {
  const raw = async ({ path }: { readonly path: string }): Promise<JsonValue> => {
    assert.equal(path, "/apis/metrics.k8s.io/v1beta1/namespaces/crossplane-system/pods");
    if (metrics instanceof Error) throw metrics;
    return metrics;
  };
  return { client: { raw, list: async () => ({ items: pods }) } } as unknown as Cluster;
}
const usageOf = (pods: readonly KubeObject[], metrics: JsonValue | Error): Promise<PodUsage[]> =>
  podUsage(cluster(pods, metrics), "crossplane-system", new TestIo());

test("Pods of the control plane, of providers and of functions are listed with the sum of their containers", async () => {
  const pods = [
    pod("core", { "app.kubernetes.io/part-of": "crossplane" }),
    pod("own", { "app.kubernetes.io/name": "purlin" }),
    pod("fn", { "pkg.crossplane.io/function": "fn", "app.kubernetes.io/part-of": "crossplane" }),
    pod("prov", { "pkg.crossplane.io/provider": "prov" }),
    pod("other", { app: "shop" }),
    pod("plain"),
  ];
  const items = [
    measured("core", { cpu: "1500u", memory: "10Mi" }, { cpu: "2m", memory: "1Mi" }),
    measured("fn", { cpu: "100n" }),
    measured("other", { cpu: "1" }),
  ];
  const place = { namespace: "crossplane-system" };
  assert.deepEqual(await usageOf(pods, { items }), [
    { type: "crossplane", ...place, name: "core", milliCpus: 4, memoryBytes: 11 * 2 ** 20 },
    { type: "purlin", ...place, name: "own", milliCpus: 0, memoryBytes: 0 },
    { type: "function", ...place, name: "fn", milliCpus: 1, memoryBytes: 0 },
    { type: "provider", ...place, name: "prov", milliCpus: 0, memoryBytes: 0 },
  ]);
  assert.deepEqual(await usageOf([pod("plain")], {}), []);
});

test("a cluster without a metrics API says what to install; other errors stay as they are", async () => {
  await assert.rejects(usageOf([], notFound({ group: "", resource: "pods" }, "x")), {
    message: "the cluster has no metrics API: install the metrics server (metrics.k8s.io)",
  });
  const refused = forbidden({ group: "metrics.k8s.io", resource: "pods" }, "x", "no");
  await assert.rejects(usageOf([], refused), (error) => error === refused);
});

const usage: readonly PodUsage[] = [
  { type: "function", namespace: "ns", name: "fn", milliCpus: 12, memoryBytes: 1.5 * 2 ** 20 },
  { type: "purlin", namespace: "", name: "plane", milliCpus: null, memoryBytes: null },
];

test("the table has the columns of crossplane cluster top; what was not measured is a dash", () => {
  assert.equal(
    podTable(usage).replaceAll(/ +$/gm, ""),
    [
      "TYPE      NAMESPACE  NAME   CPU(cores)  MEMORY",
      "function  ns         fn     12m         2Mi",
      "purlin    -          plane  -           -",
    ].join("\n"),
  );
  const more = podTable(usage, { titles: ["PHASE"], cells: (index) => [`p${index}`] }).split("\n");
  assert.deepEqual(
    more.map((line) => line.trimEnd().split(/\s+/).at(-1)),
    ["PHASE", "p0", "p1"],
  );
});

test("the summary counts by type, and sums what was measured", () => {
  assert.equal(
    podSummary(usage, "processes"),
    "Nr of processes: 2\nFunction: 1\nPurlin: 1\nMemory: 2Mi\nCPU(cores): 12m\n\n",
  );
  assert.equal(podSummary([], "Crossplane pods"), "Nr of Crossplane pods: 0\nMemory: 0Mi\nCPU(cores): 0m\n\n");
});
