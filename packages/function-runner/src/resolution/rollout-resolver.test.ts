// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { createHash, randomUUID } from "node:crypto";
import { test } from "node:test";
import { deepFreeze } from "@purlin/kube-objects/object";
import type { CompositeSubject } from "../function-runner.ts";
import type { FunctionReference, FunctionResolver } from "./function-resolver.ts";
import { bucketOf, createRolloutResolver, isMember, readRollout } from "./rollout-resolver.ts";

interface Shape {
  readonly name?: string;
  readonly phase?: string;
  readonly threshold?: number;
  readonly shadowThreshold?: number;
  readonly cohorts?: readonly Readonly<Record<string, string>>[];
  readonly compositionLabels?: Readonly<Record<string, string>>;
  readonly created?: string;
  readonly candidate?: string;
  readonly stable?: string;
}

function rollout(shape: Shape = {}) {
  const {
    name = "r",
    phase = "Progressing",
    threshold = 0,
    shadowThreshold = 0,
    created = "2026-01-01T00:00:00Z",
  } = shape;
  const { candidate = "f-2", stable = "f-1", cohorts = [], compositionLabels } = shape;
  return deepFreeze({
    apiVersion: "pkg.crossplane.io/v1alpha1",
    kind: "FunctionRollout",
    metadata: { name, uid: `uid-${name}`, creationTimestamp: created },
    spec: {
      functionRef: { name: "f" },
      ...(compositionLabels && { compositionSelector: { matchLabels: compositionLabels } }),
    },
    status: {
      phase,
      functions: [{ name: "f", stableRevision: stable, ...(candidate && { candidateRevision: candidate }) }],
      membership: { threshold, shadowThreshold, cohorts: cohorts.map((matchLabels) => ({ matchLabels })) },
    },
  });
}

function subject(uid = "xr-1", labels: Record<string, string> = {}): CompositeSubject {
  return { uid, apiVersion: "a/v1", kind: "X", name: uid, labels, compositionLabels: { team: "a" } };
}

const newest: FunctionResolver = {
  resolve: async ({ functionName, functionRevisionRef, functionRevisionSelector }) => ({
    functionName,
    revisionName: functionRevisionRef?.name ?? (functionRevisionSelector === undefined ? "newest" : "selected"),
    packageRef: "",
    endpoint: "localhost:1",
    revision: 1,
  }),
};

async function resolved(rollouts: readonly ReturnType<typeof rollout>[], reference: Partial<FunctionReference> = {}) {
  const resolver = createRolloutResolver(newest, { rollouts: { list: async () => rollouts } });
  return resolver.resolve({ step: "s", functionName: "f", composite: subject(), ...reference });
}

test("a step is served by the stable revision below the threshold of its bucket, and by the candidate above it", async () => {
  const bucket = bucketOf("uid-r", "xr-1");
  assert.equal((await resolved([rollout({ threshold: bucket })])).revisionName, "f-1");
  assert.equal((await resolved([rollout({ threshold: bucket + 1 })])).revisionName, "f-2");
});

test("buckets are the whole digest modulo 10000, and spread evenly", () => {
  // sha256("uid-1" + "uid-2") as one big number.
  assert.equal(bucketOf("uid-1", "uid-2"), Number(BigInt(`0x${hash("uid-1uid-2")}`) % 10_000n));
  const members = Array.from({ length: 4000 }, () => randomUUID()).filter((uid) => bucketOf("r", uid) < 1000);
  assert.ok(members.length > 300 && members.length < 500, `${members.length} of 4000 are below 10 %`);
});

function hash(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

test("growth keeps every member", () => {
  const uids = Array.from({ length: 500 }, () => randomUUID());
  let before: ReadonlySet<string> = new Set();
  for (const threshold of [0, 1, 500, 1000, 5000, 9999, 10_000]) {
    const view = readRollout(rollout({ threshold }));
    const now: ReadonlySet<string> = new Set<string>(uids.filter((uid) => isMember(view, subject(uid))));
    assert.ok([...before].every((uid) => now.has(uid)));
    before = now;
  }
  assert.equal(before.size, uids.length);
});

test("a cohort is on the candidate whatever its bucket, and a cohort without labels is not everything", async () => {
  const cohort = rollout({ cohorts: [{ tier: "canary" }, {}] });
  assert.equal((await resolved([cohort], { composite: subject("xr-1", { tier: "canary" }) })).revisionName, "f-2");
  assert.equal((await resolved([cohort])).revisionName, "f-1");
});

test("a pinned step keeps its revision; a rollout wins over the selector of a step", async () => {
  const all = [rollout({ threshold: 10_000 })];
  assert.equal((await resolved(all, { functionRevisionRef: { name: "mine" } })).revisionName, "mine");
  const selector = { functionRevisionSelector: { matchLabels: { channel: "stable" } } };
  assert.equal((await resolved(all, selector)).revisionName, "f-2");
  assert.equal((await resolved([], selector)).revisionName, "selected");
});

test("functions, Compositions and callers that a rollout does not name are not concerned", async () => {
  const all = [rollout({ threshold: 10_000, compositionLabels: { team: "b" } })];
  assert.equal((await resolved(all)).revisionName, "newest");
  assert.equal((await resolved([rollout()], { functionName: "g" })).revisionName, "newest");
  assert.equal((await resolved([rollout()], { composite: undefined })).revisionName, "newest");
});

test("before there is a candidate, and after a rollback, all stay on the stable revision", async () => {
  assert.equal((await resolved([rollout({ phase: "Pending", candidate: "", threshold: 10_000 })])).revisionName, "f-1");
  assert.equal((await resolved([rollout({ phase: "RolledBack" })])).revisionName, "f-1");
});

test("a live rollout decides before one that has ended; of those that ended, the newest", async () => {
  const old = rollout({ name: "old", phase: "Succeeded", threshold: 10_000, candidate: "f-2" });
  const later = { name: "new", phase: "Succeeded", created: "2026-02-01T00:00:00Z", stable: "f-2", candidate: "f-3" };
  assert.equal((await resolved([old, rollout({ ...later, threshold: 10_000 })])).revisionName, "f-3");
  const live = rollout({ ...later, phase: "Progressing", created: "2025-01-01T00:00:00Z" });
  assert.equal((await resolved([old, live])).revisionName, "f-2");
});

test("one reconcile has one decision, also when the rollout moves on between its steps", async () => {
  let threshold = 0;
  const rollouts = { list: async () => [rollout({ threshold })] };
  const resolver = createRolloutResolver(newest, { rollouts });
  const composite = subject();
  const reference = { step: "s", functionName: "f", composite };
  const first = await resolver.resolve(reference);
  threshold = 10_000;
  assert.equal((await resolver.resolve({ ...reference, step: "t" })).revisionName, first.revisionName);
  assert.equal((await resolver.resolve({ ...reference, composite: subject() })).revisionName, "f-2");
});

test("a shadowed step is served by the stable revision and carries an order for the candidate", async () => {
  const target = await resolved([rollout({ shadowThreshold: 10_000 })]);
  assert.equal(target.revisionName, "f-1");
  assert.equal(target.shadow?.candidate.revisionName, "f-2");
  assert.deepEqual(target.shadow?.rollout, { uid: "uid-r", name: "r" });
  const moved = await resolved([rollout({ shadowThreshold: 10_000, threshold: 10_000 })]);
  assert.equal(moved.shadow, undefined);
  assert.equal((await resolved([rollout({ shadowThreshold: 10_000, phase: "RolledBack" })])).shadow, undefined);
});

test("a candidate that cannot be called fails the step with the name of the rollout, and is reported; a shadow is left out", async () => {
  const failing: FunctionResolver = {
    resolve: async (reference) => {
      if (reference.functionRevisionRef?.name === "f-2") throw new Error("not active");
      return newest.resolve(reference);
    },
  };
  const unresolved: string[] = [];
  const resolver = (shape: Shape) =>
    createRolloutResolver(failing, {
      rollouts: { list: async () => [rollout(shape)] },
      onUnresolved: (revision) => unresolved.push(revision),
    });
  const reference = { step: "s", functionName: "f", composite: subject() };
  await assert.rejects(resolver({ threshold: 10_000 }).resolve(reference), /FunctionRollout "r": not active/);
  assert.deepEqual(unresolved, ["f-2"]);
  assert.equal((await resolver({ shadowThreshold: 10_000 }).resolve(reference)).shadow, undefined);
});
