// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { deploymentState } from "./kubernetes-runtime.ts";

const available = { type: "Available", status: "True" };
const all = { observedGeneration: 2, replicas: 2, updatedReplicas: 2, conditions: [available] };

const rows: Readonly<
  Record<
    string,
    { reason: string; status?: object; replicas?: number; problem?: string; serves: boolean; rolled: boolean }
  >
> = {
  New: {
    reason: "not reconciled yet",
    problem: 'function package deployment has no condition of type "Available" yet',
    serves: false,
    rolled: false,
  },
  Progressing: {
    reason: "other conditions do not count",
    status: { conditions: [{ type: "Progressing", status: "True" }] },
    problem: 'function package deployment has no condition of type "Available" yet',
    serves: false,
    rolled: false,
  },
  Unavailable: {
    reason: "the reason is reported",
    status: { ...all, conditions: [{ type: "Available", status: "False", message: "no Pods" }] },
    problem: "function package deployment is unavailable with message: no Pods",
    serves: false,
    rolled: false,
  },
  Ready: { reason: "all Pods are of the new kind", status: all, serves: true, rolled: true },
  Unseen: {
    reason: "what was asked for last was not looked at yet",
    status: { ...all, observedGeneration: 1 },
    serves: false,
    rolled: false,
  },
  Rolling: {
    reason: "some Pods are of the old kind",
    status: { ...all, replicas: 3, updatedReplicas: 1 },
    serves: true,
    rolled: false,
  },
  Begun: {
    reason: "a number that is 0 is not reported",
    status: { ...all, updatedReplicas: undefined },
    serves: true,
    rolled: false,
  },
  OldOneLeft: { reason: "an old Pod is still there", status: { ...all, replicas: 3 }, serves: true, rolled: false },
  Empty: {
    reason: "no Pods are wanted",
    status: { observedGeneration: 2, conditions: [available] },
    replicas: 0,
    serves: true,
    rolled: true,
  },
};
for (const [name, { reason, status = {}, replicas = 2, problem, serves, rolled }] of Object.entries(rows)) {
  test(`Deployment ${name}: ${reason}`, () => {
    const metadata = { name: "d", generation: 2 };
    const deployment = { apiVersion: "apps/v1", kind: "Deployment", metadata, spec: { replicas }, status };
    const want = {
      problem,
      isBroken: problem?.includes("unavailable") ?? false,
      isServing: serves,
      isRolledOut: rolled,
    };
    assert.deepEqual(deploymentState(deployment as never, "Function"), want);
  });
}
