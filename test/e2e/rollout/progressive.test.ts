// SPDX-License-Identifier: Apache-2.0
// A Function with a rolloutPolicy: a new version moves buckets in steps by itself, and a version that cannot start moves none; and a Composition by the
// same machine; and two functions of one Composition that move together.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { eventually } from "@purlin/kube-controller/testing";
import { isInvalid } from "@purlin/kube-objects/errors";
import { annotationOf, type KubeObject, objectsAt, stringAt } from "@purlin/kube-objects/object";
import { conditionOf } from "../harness/plane.ts";
import { type BucketKey, type BucketScene, bucketComposition, functionName, startBucketScene } from "./bucket-scene.ts";
import { compositeText, functionRevisionType, functionType, isServing } from "./kinds.ts";

const rolloutType = { apiVersion: "pkg.crossplane.io/v1alpha1", kind: "FunctionRollout" };
const templateType = { apiVersion: "pkg.crossplane.io/v1alpha1", kind: "FunctionRolloutTemplate" };
const buckets: readonly BucketKey[] = ["a", "b", "c", "d", "e", "f"].map((name) => ({ namespace: "team-a", name }));
const policy = { rolloutPolicy: { templateRef: { name: "careful" } }, revisionHistoryLimit: 5 };

let scene: BucketScene;

before(async () => {
  scene = await startBucketScene({ functionRevisionSelectors: true, functionRollouts: true });
  await scene.publish("v1");
  await scene.install({ version: "v1", spec: policy });
  await scene.serving("v1");
  await scene.compose("stable");
  for (const key of buckets) await scene.addBucket(key, "stable");
  await scene.well(...buckets);
});
after(() => scene[Symbol.asyncDispose]());

const phaseOf = (rollout: KubeObject): string => stringAt(rollout, ["status", "phase"]);

async function allMadeBy(revision: string): Promise<void> {
  for (const key of buckets) assert.equal((await scene.madeBy(key)).function, revision);
}

const nameOf = async (version: string): Promise<string> => (await scene.revisionOf(version)).metadata.name ?? "";

test("a policy whose template does not exist holds the new version back and says so", async () => {
  await scene.publish("v2");
  await scene.install({ version: "v2", spec: policy });
  const owner = await scene.until("it says so", functionType, { name: functionName }, (one) => {
    return conditionOf(one, "RolloutStarted")?.reason === "TemplateNotFound";
  });
  assert.match(conditionOf(owner, "RolloutStarted")?.message ?? "", /FunctionRolloutTemplate "careful" does not exist/);
  await scene.look(...buckets);
  await allMadeBy(await nameOf("v1"));
});

test("with its template the rollout starts, and all buckets end on the new version", async () => {
  await scene.apply({
    ...templateType,
    metadata: { name: "careful" },
    spec: { steps: [{ shadow: true }, { percent: 20 }, { percent: 100 }] },
  } as KubeObject);
  const name = await nameOf("v2");
  const rollout = await scene.until(
    "the rollout succeeds",
    rolloutType,
    { name },
    (one) => phaseOf(one) === "Succeeded",
  );
  assert.equal(stringAt(rollout, ["status", "stableRevision"]), await nameOf("v1"));
  assert.equal(conditionOf(rollout, "Ready")?.status, "True");
  const decisions = objectsAt(rollout, ["status", "history"]).map((one) => stringAt(one, ["decision"]));
  assert.deepEqual(
    decisions.filter((one) => one === "RolloutStarted" || one === "StepStarted" || one === "RolloutSucceeded"),
    ["RolloutStarted", "StepStarted", "StepStarted", "RolloutSucceeded"],
  );
  await allMadeBy(name);
  await scene.until("the revision is released", functionRevisionType, { name }, (one) => {
    return annotationOf(one, "pkg.crossplane.io/withheld") === undefined;
  });
});

test("rollouts that make no sense are refused, and others held with a reason", async () => {
  const create = (name: string, spec: object): Promise<KubeObject> =>
    scene.users.create({
      ...rolloutType,
      metadata: { name },
      spec: { functionRef: { name: functionName }, ...spec },
    } as KubeObject);
  const all = [{ percent: 100 }];
  const refused: readonly (readonly [string, object])[] = [
    ["percentages that shrink", { steps: [{ percent: 50 }, { percent: 10 }, { percent: 100 }] }],
    ["a rollout that never reaches all", { steps: [{ percent: 50 }] }],
    ["no steps", { steps: [] }],
    ["a step without content", { steps: [{}, ...all] }],
    [
      "the same revision twice",
      { steps: all, stable: { functionRevisionRef: { name: "x" } }, candidate: { functionRevisionRef: { name: "x" } } },
    ],
    ["a deadline of zero", { steps: all, progressDeadline: "0s" }],
    ["a negative deadline", { steps: all, progressDeadline: "-1h" }],
    ["a deadline that cannot be met", { steps: [{ percent: 100, minDuration: "3h" }], progressDeadline: "1h" }],
    ["a gate without its limit", { steps: all, healthGates: [{ type: "FunctionErrors" }] }],
    ["a comparison without a shadow step", { steps: all, healthGates: [{ type: "DesiredDiff" }] }],
    ["a function and a Composition", { steps: all, compositionRef: { name: "buckets" } }],
    [
      "two steps of one name",
      {
        steps: [
          { name: "x", percent: 1 },
          { name: "x", percent: 100 },
        ],
      },
    ],
  ];
  for (const [reason, spec] of refused) await assert.rejects(create("refused", spec), isInvalid, reason);
  const held: readonly (readonly [string, object])[] = [
    ["RevisionNotFound", { steps: all, candidate: { functionRevisionRef: { name: "nothing" } } }],
    ["RevisionNotFound", { steps: all, candidate: { functionRevisionSelector: { matchLabels: { channel: "none" } } } }],
    ["WaitingForCandidate", { steps: all }],
    ["InvalidSpec", { steps: [{ percent: 100, window: { schedule: "61 * * * *", duration: "1h" } }] }],
  ];
  // One that waits, and another one of the same function beside others.
  await create("first", { steps: all });
  await scene.until("the first waits", rolloutType, { name: "first" }, (one) => {
    return conditionOf(one, "Progressing")?.reason === "WaitingForCandidate";
  });
  const both = { functionRef: undefined, functionRefs: [{ name: functionName }, { name: "another" }], steps: all };
  await create("second", both);
  const second = await scene.until("the second is held", rolloutType, { name: "second" }, (one) => {
    return conditionOf(one, "Progressing")?.reason === "Conflict";
  });
  assert.match(
    conditionOf(second, "Stalled")?.message ?? "",
    /FunctionRollout "first" came first for a Function of this rollout/,
  );
  for (const name of ["first", "second"]) await scene.users.delete({ ...rolloutType, name });
  for (const [reason, spec] of held) {
    await create("held", spec);
    await scene.until(`it is held: ${reason}`, rolloutType, { name: "held" }, (one) => {
      return phaseOf(one) === "Pending" && conditionOf(one, "Progressing")?.reason === reason;
    });
    await scene.users.delete({ ...rolloutType, name: "held" });
  }
  await scene.look(...buckets);
  await allMadeBy(await nameOf("v2"));
});

test("a Composition rolls out in steps, and a second rollout of it waits", async () => {
  const before = (await scene.madeBy(buckets[0] as BucketKey)).composition;
  const spec = { compositionRef: { name: "buckets" }, steps: [{ percent: 10, approval: "Manual" }, { percent: 100 }] };
  await scene.apply({ ...rolloutType, metadata: { name: "buckets" }, spec } as KubeObject);
  await scene.until("it waits for a revision", rolloutType, { name: "buckets" }, (one) => {
    return (
      conditionOf(one, "Progressing")?.reason === "WaitingForCandidate" &&
      stringAt(one, ["status", "stableRevision"]) === before
    );
  });
  await scene.apply({ ...rolloutType, metadata: { name: "rival" }, spec } as KubeObject);
  await scene.until(
    "the second one waits",
    rolloutType,
    { name: "rival" },
    (one) => conditionOf(one, "Progressing")?.reason === "Conflict",
  );
  const newer = await scene.compose("stable", { input: { apiVersion: "example.org/v1", kind: "Input" } });
  assert.notEqual(newer, before);
  const waiting = await scene.until("the first wave has moved", rolloutType, { name: "buckets" }, (one) => {
    return stringAt(one, ["status", "awaitingApproval"]) === "step-1";
  });
  const made = await Promise.all(buckets.map(async (key) => (await scene.madeBy(key)).composition));
  const moved = made.filter((one) => one === newer).length;
  assert.ok(moved >= 1 && moved < buckets.length, `${moved} have moved`);
  assert.equal((waiting["status"] as { composites: { moved: number } }).composites.moved, moved);
  const annotations = { "pkg.crossplane.io/rollout-approve": "step-1" };
  await scene.users.patch({ ...rolloutType, name: "buckets" }, { metadata: { annotations } }, { type: "merge" });
  await scene.until("the rollout succeeds", rolloutType, { name: "buckets" }, (one) => phaseOf(one) === "Succeeded");
  for (const key of buckets) assert.equal((await scene.madeBy(key)).composition, newer);
});

test("gates that can never pass: without composite resources a rollout waits, without its metric it ends at the deadline", async () => {
  const metric = { type: "Prometheus", url: "http://127.0.0.1:9", query: "up", min: "1" };
  const compositionSelector = { matchLabels: { team: "none" } };
  const spec = { steps: [{ percent: 20 }, { percent: 100 }], compositionSelector, healthGates: [metric] };
  await scene.apply({
    ...templateType,
    metadata: { name: "careful" },
    spec: { ...spec, progressDeadline: "5s" },
  } as KubeObject);
  await scene.publish("v3");
  await scene.install({ version: "v3", spec: policy });
  const name = await nameOf("v3");
  await scene.until("it says that nothing matches", rolloutType, { name }, (one) => {
    return conditionOf(one, "Stalled")?.reason === "NoComposites";
  });
  await scene.users.patch({ ...rolloutType, name }, { spec: { compositionSelector: null } }, { type: "merge" });
  const ended = await scene.until("it ends", rolloutType, { name }, (one) => phaseOf(one) === "RolledBack");
  assert.equal(conditionOf(ended, "RolledBack")?.reason, "ProgressDeadlineExceeded");
  assert.match(conditionOf(ended, "RolledBack")?.message ?? "", /gate Prometheus: /);
  await scene.look(...buckets);
  await allMadeBy(await nameOf("v2"));
});

test("two functions of one Composition move together", async () => {
  const other = "function-label";
  const revisionOf = async (name: string, version: string): Promise<string> => {
    const found = await eventually(`${name} ${version} serves`, async () => {
      const image = scene.packageOf(version, name);
      return (await scene.revisions(name)).find((one) => isServing(one) && stringAt(one, ["spec", "image"]) === image);
    });
    return found.metadata.name ?? "";
  };
  const ran = async (key: BucketKey): Promise<string> =>
    (compositeText(await scene.bucket(key)).status?.crossplane?.functionRevisions ?? [])
      .map((one) => one.functionRevision)
      .join(" ");
  // They would hold the buckets on the revision of the Composition that they have.
  for (const name of ["rival", "buckets"]) await scene.users.delete({ ...rolloutType, name });
  const kept = { revisionHistoryLimit: 5 };
  await scene.publish("v1", { function: other });
  await scene.install({ version: "v1", name: other, spec: kept });
  const before = `${await nameOf("v2")} ${await revisionOf(other, "v1")}`;
  const step = { step: "label", functionRef: { name: other } };
  const composition = bucketComposition("stable");
  const { pipeline, ...rest } = composition["spec"] as { readonly pipeline: readonly object[] };
  await scene.apply({ ...composition, spec: { ...rest, pipeline: [...pipeline, step] } } as KubeObject);
  for (const key of buckets) await eventually(`${key.name} has both`, async () => (await ran(key)) === before);
  const functionRefs = [{ name: functionName }, { name: other }];
  const steps = [{ percent: 20, approval: "Manual" }, { percent: 100 }];
  await scene.apply({ ...rolloutType, metadata: { name: "both" }, spec: { functionRefs, steps } } as KubeObject);
  await scene.until("it waits for both", rolloutType, { name: "both" }, (one) => {
    return conditionOf(one, "Progressing")?.reason === "WaitingForCandidate";
  });
  for (const name of [functionName, other]) {
    await scene.publish("v4", { function: name });
    await scene.install({ version: "v4", name, spec: kept });
  }
  const after = `${await revisionOf(functionName, "v4")} ${await revisionOf(other, "v4")}`;
  await scene.until("the first wave has moved", rolloutType, { name: "both" }, (one) => {
    return stringAt(one, ["status", "awaitingApproval"]) === "step-1";
  });
  const pairs = await Promise.all(buckets.map(ran));
  const moved = pairs.filter((one) => one === after).length;
  assert.ok(moved >= 1 && moved < buckets.length, `${moved} have moved`);
  assert.equal(pairs.filter((one) => one === before).length, buckets.length - moved, "no bucket has one of each");
  const annotations = { "pkg.crossplane.io/rollout-approve": "step-1" };
  await scene.users.patch({ ...rolloutType, name: "both" }, { metadata: { annotations } }, { type: "merge" });
  await scene.until("the rollout succeeds", rolloutType, { name: "both" }, (one) => phaseOf(one) === "Succeeded");
  for (const key of buckets) assert.equal(await ran(key), after, "succeeded means that all have moved");
});
