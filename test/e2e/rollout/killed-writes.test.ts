// SPDX-License-Identifier: Apache-2.0
// The control plane dies at each write of a rollout's status, before or after the server has taken it, and another one continues: no step is skipped
// or taken twice, and no approval is lost.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { KubeTransport } from "@purlin/kube-client";
import { type KubeObject, objectsAt, stringAt, textsAt } from "@purlin/kube-objects/object";
import { conditionOf } from "../harness/plane.ts";
import { type BucketKey, type BucketScene, startBucketScene } from "./bucket-scene.ts";

const rolloutType = { apiVersion: "pkg.crossplane.io/v1alpha1", kind: "FunctionRollout" };
const buckets: readonly BucketKey[] = ["a", "b", "c"].map((name) => ({ namespace: "team-a", name }));

/** Writes of rollouts that the control plane still makes before it dies. */
let left = Number.POSITIVE_INFINITY;
let deaths = 0;
let restarted: Promise<void> = Promise.resolve();
let scene: BucketScene;

/** The transport of one process, which sends nothing after its death. */
function mortal(transport: KubeTransport): KubeTransport {
  let isDead = false;
  return {
    ...transport,
    async request(request) {
      const isWrite = request.method !== "GET";
      if (isDead && isWrite) throw new Error("this process is dead");
      if (!isWrite || !request.path.includes("/functionrollouts/") || --left >= 0) return transport.request(request);
      isDead = true;
      left = Number.POSITIVE_INFINITY;
      if (++deaths % 2 === 0) await transport.request(request);
      restarted = Promise.resolve().then(() => scene.restart(true));
      throw new Error("this process dies");
    },
  };
}

before(async () => {
  scene = await startBucketScene({ functionRevisionSelectors: true, functionRollouts: true, transport: mortal });
  await scene.publish("v1");
  await scene.install({ version: "v1" });
  await scene.serving("v1");
  await scene.compose("stable");
  for (const key of buckets) await scene.addBucket(key, "stable");
  await scene.well(...buckets);
});
after(async () => {
  await restarted;
  await scene[Symbol.asyncDispose]();
});

async function rolloutUntil(name: string, what: string, isSo: (rollout: KubeObject) => boolean): Promise<KubeObject> {
  const found = await scene.until(what, rolloutType, { name }, isSo);
  await restarted;
  return found;
}

/** Carries out one rollout of the Composition; the control plane dies at the given write. */
async function carryOut(at: number): Promise<KubeObject> {
  const name = `at-${at}`;
  const steps = [{ percent: 50, approval: "Manual" }, { percent: 100 }];
  left = at;
  await scene.apply({
    ...rolloutType,
    metadata: { name },
    spec: { compositionRef: { name: "buckets" }, steps },
  } as KubeObject);
  await rolloutUntil(name, "it waits for a revision", (one) => {
    return conditionOf(one, "Progressing")?.reason === "WaitingForCandidate";
  });
  const newer = await scene.compose("stable", { input: { apiVersion: "example.org/v1", kind: "Input", at } });
  await rolloutUntil(
    name,
    "the first wave has moved",
    (one) => stringAt(one, ["status", "awaitingApproval"]) === "step-1",
  );
  const annotations = { "pkg.crossplane.io/rollout-approve": "step-1" };
  await scene.users.patch({ ...rolloutType, name }, { metadata: { annotations } }, { type: "merge" });
  const ended = await rolloutUntil(name, "it succeeds", (one) => stringAt(one, ["status", "phase"]) === "Succeeded");
  for (const key of buckets) assert.equal((await scene.madeBy(key)).composition, newer, `${name}: ${key.name}`);
  return ended;
}

test("a rollout ends as one that is not interrupted, whichever write of it is the last one of a process", async () => {
  for (let at = 0; ; at++) {
    const before = deaths;
    const ended = await carryOut(at);
    const decisions = objectsAt(ended, ["status", "history"])
      .map((one) => stringAt(one, ["decision"]))
      .filter((one) => /^(RolloutStarted|WaitingForApproval|StepStarted|RolloutSucceeded)$/.test(one));
    assert.deepEqual(
      decisions,
      ["RolloutStarted", "WaitingForApproval", "StepStarted", "RolloutSucceeded"],
      `dying at write ${at}`,
    );
    assert.deepEqual(textsAt(ended, ["status", "approvedSteps"]), ["step-1"]);
    left = Number.POSITIVE_INFINITY;
    if (deaths === before) break;
  }
  assert.ok(deaths >= 5, `${deaths} deaths`);
});
