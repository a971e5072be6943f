// SPDX-License-Identifier: Apache-2.0
// What an ended rollout means for the revisions that come after it.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { EventRecorder } from "@purlin/kube-controller";
import type { JsonObject } from "@purlin/kube-objects/json";
import { conditionOf, conditionsOf, type KubeObject, stringAt } from "@purlin/kube-objects/object";
import { compositionRevision, functionRevision, memoryCluster, rolloutOf } from "../test/memory-cluster.ts";

const steps = [{ percent: 50, minDuration: "1h" }, { percent: 100 }];
const composition = { compositionRef: { name: "apps" }, steps };
type Cluster = ReturnType<typeof memoryCluster>;

/** A rollout that ended, of revision 1 to revision 2. */
function ended(name: string, phase: "Succeeded" | "RolledBack", spec: JsonObject): KubeObject {
  const prefix = "compositionRef" in spec ? "apps" : "f";
  const sides = { stableRevision: `${prefix}-1`, candidateRevision: `${prefix}-2` };
  const status = {
    phase,
    startedAt: "2026-01-01T00:00:00Z",
    ...sides,
    ...(prefix === "f" && { functions: [{ name: "f", ...sides }] }),
    membership: { threshold: phase === "Succeeded" ? 10_000 : 0, shadowThreshold: 0, cohorts: [] },
  };
  return { ...rolloutOf(name, spec), status };
}

const sidesOf = (cluster: Cluster, name: string): string => {
  const status = cluster.get("FunctionRollout", name) ?? {};
  return `${stringAt(status, ["status", "stableRevision"])} to ${stringAt(status, ["status", "candidateRevision"])}`;
};

test("a rollout of a Composition after one that was rolled back leaves composite resources where they are", async () => {
  const cluster = memoryCluster(2);
  const reconcile = cluster.controller();
  cluster.put(ended("bad", "RolledBack", composition));
  cluster.put(rolloutOf("next", composition));
  await reconcile("next");
  // The rejected revision is the newest one, and must neither be taken for the stable one nor be tried again.
  assert.equal(sidesOf(cluster, "next"), "apps-1 to ");
  cluster.put(compositionRevision(3));
  await reconcile("next");
  assert.equal(sidesOf(cluster, "next"), "apps-1 to apps-3");
});

test("a rollout of a Composition after one that succeeded starts from its candidate, also when a newer revision exists", async () => {
  const cluster = memoryCluster(2);
  const reconcile = cluster.controller();
  cluster.put(ended("good", "Succeeded", composition));
  cluster.put(compositionRevision(3));
  cluster.put(rolloutOf("next", composition));
  await reconcile("next");
  assert.equal(sidesOf(cluster, "next"), "apps-2 to apps-3");
});

const kinds: Readonly<
  Record<string, { spec: JsonObject; newer: KubeObject; left: string; owner: string; next: string }>
> = {
  Function: {
    spec: { steps },
    newer: functionRevision(3),
    left: "f-2",
    owner: "Function/f",
    next: "purlin rollout start f",
  },
  Composition: {
    spec: composition,
    newer: compositionRevision(3),
    left: "apps-2",
    owner: "Composition/apps",
    next: "purlin rollout start apps --composition",
  },
};

for (const [kind, { spec, newer, left, owner, next }] of Object.entries(kinds)) {
  test(`a succeeded rollout of a ${kind} says that it keeps composite resources from a newer revision`, async () => {
    const events: string[] = [];
    const recorder: EventRecorder = {
      event: (object, { type, reason }) =>
        void events.push(`${object.kind}/${object.metadata.name ?? ""} ${type} ${reason}`),
      with: () => recorder,
    };
    const cluster = memoryCluster(2);
    const reconcile = cluster.controller({ events: recorder });
    const condition = () => conditionOf(conditionsOf(cluster.get("FunctionRollout", "old") ?? {}), "Superseded");
    cluster.put(ended("old", "Succeeded", spec));
    await reconcile("old");
    assert.equal(condition().status, "Unknown", "there is no such condition");
    cluster.put(newer);
    await reconcile("old");
    await reconcile("old");
    const name = newer.metadata.name ?? "";
    assert.deepEqual([condition().status, condition().reason], ["True", "NewerRevision"]);
    assert.equal(
      condition().message,
      `${newer.kind} "${name}" is newer than "${left}", where this rollout keeps composite resources until it is deleted: start another rollout (${next}), or delete this one to move all at once`,
    );
    const warning = "Warning NewerRevision";
    assert.deepEqual(events, [`FunctionRollout/old ${warning}`, `${owner} ${warning}`], "once");
    // Another rollout takes over.
    cluster.put({
      ...rolloutOf("new", spec),
      metadata: { ...rolloutOf("new", spec).metadata, creationTimestamp: "2026-02-01T00:00:00Z" },
    });
    await reconcile("new");
    await reconcile("old");
    assert.equal(condition().status, "False");
  });
}

test("a rejected revision does not supersede the rollout that rejected it", async () => {
  const cluster = memoryCluster(2);
  const reconcile = cluster.controller();
  cluster.put(ended("bad", "RolledBack", composition));
  await reconcile("bad");
  const conditions = (): readonly string[] =>
    conditionsOf(cluster.get("FunctionRollout", "bad") ?? {}).map(({ type, status }) => `${type} ${status}`);
  assert.ok(conditions().every((one) => !one.startsWith("Superseded")));
  cluster.put(compositionRevision(3));
  await reconcile("bad");
  assert.ok(conditions().includes("Superseded True"));
});
