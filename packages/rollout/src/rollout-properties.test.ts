// SPDX-License-Identifier: Apache-2.0
// Random rollouts, with failures, restarts, label edits, jumps of the clock and people who pause, approve and abort.
import assert from "node:assert/strict";
import { test } from "node:test";
import { bucketOf, isMember, readRollout } from "@purlin/function-runner";
import type { JsonObject } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";
import { createCallSamples } from "./call-samples.ts";
import { type CompositeRow, factsOf } from "./composites.ts";
import { decide } from "./decide.ts";
import { readPlan } from "./plan.ts";
import { withState } from "./report.ts";
import { isEnded, type RolloutState, readState } from "./state.ts";

/** Numbers that a seed decides. */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

interface Composite {
  readonly uid: string;
  labels: Record<string, string>;
  revision: string;
  isSynced: boolean;
}

const sides = [{ name: "f", stable: "f-1", candidate: "f-2" }];

/** One rollout in a simulated world; each look is a reconcile of the controller, and some composite resources reconcile in between. */
class World {
  readonly #random: () => number;
  readonly composites: Composite[];
  rollout: KubeObject;
  samples = createCallSamples(() => this.now);
  now = 1_800_000_000_000;
  isCandidateBroken = false;
  annotations: { approvals: string[]; abort: boolean; resume: string | undefined } = {
    approvals: [],
    abort: false,
    resume: undefined,
  };

  constructor(seed: number) {
    this.#random = randomOf(seed);
    const count = 1 + this.pick(40);
    this.composites = Array.from({ length: count }, (_, index) => ({
      uid: `${seed}-${index}`,
      labels: this.chance(0.2) ? { tier: "canary" } : {},
      revision: "f-1",
      isSynced: true,
    }));
    this.rollout = this.#create(seed);
  }

  pick(below: number): number {
    return Math.floor(this.#random() * below);
  }

  chance(share: number): boolean {
    return this.#random() < share;
  }

  #create(seed: number): KubeObject {
    const percents = Array.from({ length: this.pick(4) }, () => 1 + this.pick(99)).sort((a, b) => a - b);
    const steps = [...percents, 100].map((percent) => ({
      percent,
      ...(this.chance(0.3) && { approval: "Manual" }),
      ...(this.chance(0.5) && { minDuration: `${1 + this.pick(9)}m` }),
    }));
    const spec = {
      functionRef: { name: "f" },
      ...(this.chance(0.3) && { compositeSelector: { matchLabels: { tier: "canary" } } }),
      steps,
      failurePolicy: this.chance(0.7) ? "Rollback" : "Pause",
      progressDeadline: "3h",
      ...(this.chance(0.3) && { bakeTime: "5m" }),
    };
    return {
      apiVersion: "v1",
      kind: "FunctionRollout",
      metadata: { name: "r", uid: `r-${seed}`, generation: 1 },
      spec,
    };
  }

  get state(): RolloutState {
    return readState(this.rollout);
  }

  setPaused(paused: boolean): void {
    this.rollout = { ...this.rollout, spec: { ...(this.rollout["spec"] as JsonObject), paused } };
  }

  rows(): readonly CompositeRow[] {
    return this.composites.map(({ uid, labels, revision, isSynced }) => ({
      object: {
        apiVersion: "v1",
        kind: "X",
        metadata: { name: uid, uid, labels },
        status: { conditions: [{ type: "Synced", status: isSynced ? "True" : "False" }] },
      } as unknown as KubeObject,
      uid,
      key: { name: uid },
      controller: "c",
      bucket: bucketOf(this.rollout.metadata.uid ?? "", uid),
      isMovable: true,
      isSynced,
      isOnCandidate: revision === "f-2",
      isObserved: revision === "f-2",
    }));
  }

  /** The controller looks at the rollout once, and stores what it decides. */
  look(jumpMs = 0): void {
    const { now } = this;
    const plan = readPlan(this.rollout);
    const state = this.state;
    const facts = factsOf(this.rows(), state.startedAt === undefined ? { ...state, frozen: sides } : state);
    const outcome = decide(plan, state, {
      now,
      jumpMs,
      sides: { found: sides, isServing: true, waitingFor: "" },
      lost: [],
      composites: facts.numbers,
      lowestBucket: facts.lowestBucket,
      leftBehind: facts.leftBehind.length,
      approvals: this.annotations.approvals,
      resumeToken: this.annotations.resume,
      isAborted: this.annotations.abort,
      samples: {
        now,
        members: facts.members.length,
        pendingMoves: facts.pendingMoves,
        pendingShadows: 0,
        candidateCalls: (since) => this.samples.numbers(["f-2"], since),
        stableCalls: (since) => this.samples.numbers(["f-1"], since),
        moved: facts.moved,
        stayed: facts.stayed,
        shadow: undefined,
        watchedMs: 1_000_000,
        runtime: { status: "True", forMs: 0, message: "", outages: () => ({ candidate: 0, stable: 0 }) },
        external: () => undefined,
      },
    });
    this.#check(state, outcome.state, plan.steps.length);
    this.rollout = withState(this.rollout, outcome.state, { plan, clock: { now: () => now } });
  }

  #check(before: RolloutState, after: RolloutState, steps: number): void {
    if (isEnded(before)) assert.equal(after.phase, before.phase, "an ended rollout stays as it ended");
    const isBack = after.phase === "RollingBack" || after.phase === "RolledBack" || after.phase === "Failed";
    if (isBack) assert.equal(after.threshold, 0);
    else assert.ok(after.threshold >= before.threshold, "membership only grows");
    assert.ok(after.currentStep - before.currentStep <= 1 && after.currentStep < steps, "no step is skipped");
    const hasAdvanced = after.currentStep > before.currentStep || after.phase === "Succeeded";
    if (hasAdvanced && before.phase !== after.phase) return;
    if (after.currentStep > before.currentStep) {
      const since = before.stepStartedAt ?? 0;
      const { calls, errors } = this.samples.numbers(["f-2"], Math.max(since, this.now - 600_000));
      assert.ok(calls > 0 && errors / calls <= 0.01, `a step was left with ${errors} errors of ${calls} calls`);
    }
  }

  /** A composite resource is reconciled: the resolver's rule decides its revision. */
  reconcile(composite: Composite): void {
    const view = readRollout(this.rollout);
    const isOnCandidate = view.functions.size > 0 && isMember(view, composite);
    const revision = isOnCandidate ? "f-2" : "f-1";
    const fails = isOnCandidate && this.isCandidateBroken;
    this.samples.record(revision, {
      at: this.now,
      result: fails ? "error" : "ok",
      ms: 5,
      functionName: "f",
      composite: composite.uid,
    });
    composite.isSynced = !fails;
    if (!fails) composite.revision = revision;
  }

  /** Whatever may happen, does. */
  disturb(): void {
    for (const composite of this.composites) if (this.chance(0.5)) this.reconcile(composite);
    if (this.chance(0.03)) this.isCandidateBroken = !this.isCandidateBroken;
    // A restart forgets the samples.
    if (this.chance(0.05)) this.samples = createCallSamples(() => this.now);
    if (this.chance(0.05)) this.setPaused(this.chance(0.5));
    if (this.chance(0.3)) this.annotations.approvals = [this.state.awaitingApproval ?? "nothing"];
    if (this.chance(0.2)) this.annotations.resume = this.state.pauseToken;
    if (this.chance(0.005)) this.annotations.abort = true;
    const edited = this.composites[this.pick(this.composites.length)];
    if (edited !== undefined && this.chance(0.1)) edited.labels = this.chance(0.5) ? { tier: "canary" } : {};
  }

  /** Time continues; now and then the clock jumps as well. */
  pass(): void {
    this.now += 20_000 + this.pick(60_000);
    const jump = this.chance(0.03) ? (this.chance(0.5) ? 1 : -1) * this.pick(10_000_000) : 0;
    this.now += jump;
    this.look(jump);
  }
}

test("random rollouts obey the rules, end, and leave every composite resource where the outcome says", () => {
  const phases = new Map<string, number>();
  for (let seed = 1; seed <= 400; seed++) {
    const world = new World(seed);
    for (let index = 0; index < 120 && !isEnded(world.state); index++) {
      world.pass();
      world.disturb();
    }
    // From now on nothing fails, nothing is paused, everything is approved.
    world.isCandidateBroken = false;
    world.setPaused(false);
    for (let index = 0; index < 400 && !isEnded(world.state); index++) {
      world.annotations.approvals = [world.state.awaitingApproval ?? ""];
      world.annotations.resume = world.state.pauseToken;
      world.now += 30_000;
      world.look();
      for (const composite of world.composites) world.reconcile(composite);
    }
    const { phase } = world.state;
    assert.ok(isEnded(world.state), `seed ${seed} is still ${phase}: ${world.state.message}`);
    phases.set(phase, (phases.get(phase) ?? 0) + 1);
    for (const composite of world.composites) world.reconcile(composite);
    const wanted = phase === "Succeeded" ? "f-2" : "f-1";
    assert.ok(
      world.composites.every(({ revision }) => revision === wanted),
      `seed ${seed}: not all are on ${wanted}`,
    );
  }
  assert.ok((phases.get("Succeeded") ?? 0) > 20 && (phases.get("RolledBack") ?? 0) > 20, JSON.stringify([...phases]));
});
