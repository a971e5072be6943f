// SPDX-License-Identifier: Apache-2.0
// Simulated workloads whose lists, maps and texts are as long as a request allows, many of them, and workloads that ask for billions of Pods.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { eventually } from "@purlin/kube-controller/testing";
import type { JsonObject } from "@purlin/kube-objects/json";
import { stringAt } from "@purlin/kube-objects/object";
import { sendJson } from "./attacked-kind.ts";
import { pathOf, startAttackedWorkloads } from "./attacked-workloads.ts";

const workloads = await startAttackedWorkloads();
after(() => workloads[Symbol.asyncDispose]());

const many = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => make(index));
const map = (count: number, make: (index: number) => readonly [string, string]): Readonly<Record<string, string>> =>
  Object.fromEntries(many(count, make));
const container: JsonObject = { name: "c", image: "i" };
const labels = { app: "web" };
const template: JsonObject = { metadata: { labels }, spec: { containers: [container] } };

function pod(name: string, { spec = {}, ...metadata }: JsonObject = {}): JsonObject {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, labels, ...metadata },
    spec: { containers: [container], ...(spec as JsonObject) },
  };
}

const named = (type: readonly [apiVersion: string, kind: string], name: string, spec: JsonObject): JsonObject => ({
  apiVersion: type[0],
  kind: type[1],
  metadata: { name },
  spec,
});
const replicaSet = ["apps/v1", "ReplicaSet"] as const;
const budget = ["policy/v1", "PodDisruptionBudget"] as const;
const service = ["v1", "Service"] as const;
const simulation = ["simulation.purlin.dev/v1alpha1", "Simulation"] as const;

const absent = (count: number): JsonObject[] =>
  many(count, (index) => ({ key: `k${index}`, operator: "DoesNotExist" }));

/** Attacks by objects alone. */
const attacks: Readonly<Record<string, () => readonly JsonObject[]>> = {
  "a budget that selects by 60,000 labels": () => [
    named(budget, "long", { selector: { matchLabels: map(60_000, (index) => [`k${index}`, "v"]) }, maxUnavailable: 1 }),
    ...many(20, (index) => pod(`p${index}`)),
  ],
  "a ReplicaSet that selects by 30,000 absent labels, and 300 Pods": () => [
    ...many(300, (index) => pod(`p${index}`)),
    named(replicaSet, "long", {
      replicas: 1,
      selector: { matchLabels: { a: "b" }, matchExpressions: absent(30_000) },
      template: { ...template, metadata: { labels: { a: "b" } } },
    }),
  ],
  "a Simulation of patterns that match almost, and an image of megabytes": () => [
    named(simulation, "long", { match: { images: many(64, () => `*${"a".repeat(509)}b`) } }),
    pod("p", { spec: { containers: [{ name: "c", image: "a".repeat(2_900_000) }] } }),
  ],
  "130,000 names in an annotation, and 4,096 containers": () => [
    pod("p", {
      annotations: { "simulation.purlin.dev/containers": "a,".repeat(130_000) },
      spec: { containers: many(4096, (index) => ({ name: `c${index}`, image: "i" })) },
    }),
  ],
  "a Service of 9,000 named ports, and Pods of 30,000 ports": () => [
    named(service, "long", {
      selector: labels,
      ports: many(9000, (index) => ({ name: `p${index}`, port: index + 1, targetPort: `t${index}` })),
    }),
    ...many(3, (index) => {
      const ports = many(30_000, (number) => ({ containerPort: number + 1 }));
      return pod(`p${index}`, { spec: { containers: [{ ...container, ports }] } });
    }),
  ],
};

for (const [what, objects] of Object.entries(attacks)) test(what, () => workloads.attack(what, objects()));

test("20 budgets that select by the 40,000 labels of a Pod, which is evicted", async () => {
  const long = map(40_000, (index) => [`k${index}`, "v"]);
  const budgets = many(20, (index) =>
    named(budget, `long${index}`, { selector: { matchLabels: long }, maxUnavailable: 1 }),
  );
  const labeled = pod("p", { labels: long });
  await workloads.attack("20 budgets that select by all labels of a Pod", [...budgets, labeled], async () => {
    // One that does not run yet is evicted without a look at budgets.
    await eventually(
      "the Pod runs",
      async () => stringAt(await workloads.get(labeled), ["status", "phase"]) === "Running",
    );
    const body = { apiVersion: "policy/v1", kind: "Eviction", metadata: { name: "p" } };
    const { code, text } = await sendJson(workloads.server.target, ["POST", `${pathOf(labeled)}/p/eviction`], body);
    assert.equal(code, 500, text.slice(0, 500));
    assert.match(text, /This pod has more than one PodDisruptionBudget/);
  });
});
