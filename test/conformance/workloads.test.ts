// SPDX-License-Identifier: Apache-2.0
// The workload simulator against kube-controller-manager, kube-scheduler and kwok: the same manifests end in the same states, with the same
// conditions in the same order and the same reasons of events.
import { after, before, describe, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import type { KubeClient } from "@purlin/kube-client";
import type { JsonObject } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";
import type { Step } from "./workloads/case.ts";
import { type Comparison, compareClusters } from "./workloads/comparison.ts";
import { otherCases } from "./workloads/others.ts";
import { replicatedCases } from "./workloads/replicated.ts";
import { startTwoClusters, type TwoClusters } from "./workloads/two-clusters.ts";

const cases = [...replicatedCases, ...otherCases];
let clusters: TwoClusters;
let comparison: Comparison;

before(async () => {
  clusters = await startTwoClusters();
  comparison = compareClusters(clusters);
});
after(() => clusters[Symbol.asyncDispose]());

async function createNamespace(client: KubeClient, namespace: string): Promise<void> {
  await client.create({ apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } });
  // Pods cannot be created before.
  const account = { apiVersion: "v1", kind: "ServiceAccount" };
  while ((await client.list(account, { namespace })).items.length === 0) await delay(50);
}

async function create(client: KubeClient, namespace: string, objects: readonly JsonObject[]): Promise<void> {
  for (const object of objects) {
    const { metadata } = object as KubeObject;
    await client.create({ ...object, metadata: { ...metadata, namespace } } as KubeObject);
  }
}

async function change(client: KubeClient, namespace: string, { type, name, patch }: Step): Promise<void> {
  if (patch === undefined) await client.delete({ ...type, name, namespace }, { propagationPolicy: "Background" });
  else await client.patch({ ...type, name, namespace }, patch, { type: "merge" });
}

// With this many cases at a time each ends soon, also on a busy machine: events are written after everything else that controllers have to do.
const concurrency = 16;

describe("simulated workloads end as on a cluster", { concurrency }, () => {
  for (const [index, one] of cases.entries()) {
    test(one.title, async () => {
      const namespace = `case-${index}`;
      const both = [clusters.real, clusters.simulated];
      const { before = [], objects, clusterObjects = objects } = one;
      await Promise.all(both.map((client) => createNamespace(client, namespace)));
      if (before.length > 0) {
        await Promise.all(both.map((client) => create(client, namespace, before)));
        await comparison.untilEqual(namespace);
      }
      await Promise.all([
        create(clusters.real, namespace, clusterObjects),
        create(clusters.simulated, namespace, objects),
      ]);
      await comparison.untilEqual(namespace);
      for (const step of one.steps ?? []) {
        await Promise.all(both.map((client) => change(client, namespace, step)));
        await comparison.untilEqual(namespace);
      }
    });
  }
});
