// SPDX-License-Identifier: Apache-2.0

import type { Clock } from "@purlin/base";
import { compositionKinds, functionRevisionType } from "@purlin/composition";
import { readRevision } from "@purlin/function-runner";
import type { ControllerClient } from "@purlin/kube-controller";
import { annotationOf, conditionOf, conditionsOf, type KubeObject, type TypeRef } from "@purlin/kube-objects/object";
import type { CallSamples } from "./call-samples.ts";
import { type CompositeRow, factsOf } from "./composites.ts";
import type { Observation, SidesFound } from "./decide.ts";
import type { ExternalGates } from "./external-gates.ts";
import type { GateSamples } from "./gates.ts";
import type { RolloutPlan } from "./plan.ts";
import { type ShadowSource, shadowNumbers } from "./shadow-numbers.ts";
import { type RolloutState, statusFields } from "./state.ts";

/** Annotations through which people steer a rollout. */
export const rolloutAnnotations = {
  /** Names of approved steps, separated by commas. */
  approve: "pkg.crossplane.io/rollout-approve",
  /** The value of `status.pauseToken`. */
  resume: "pkg.crossplane.io/rollout-resume",
  /** Any value: the rollout moves everything back. */
  abort: "pkg.crossplane.io/rollout-abort",
} as const;

interface ObserveInput {
  readonly rollout: KubeObject;
  readonly plan: RolloutPlan;
  /** With the revisions that are about to be frozen. */
  readonly state: RolloutState;
  readonly rows: readonly CompositeRow[];
  readonly sides: SidesFound;
  readonly signal: AbortSignal;
}

interface ObserveDeps {
  readonly client: ControllerClient;
  readonly clock: Clock;
  readonly samples: CallSamples;
  readonly external: ExternalGates;
  readonly shadow?: ShadowSource | undefined;
  readonly jumps: JumpDetector;
  readonly outages: OutageWatch;
}

/** Collects what a rollout is decided on. */
export async function observe(
  { rollout, plan, state, rows, sides, signal }: ObserveInput,
  { client, clock, samples, external, shadow, jumps, outages }: ObserveDeps,
): Promise<Observation> {
  const facts = factsOf(rows, state);
  const uid = rollout.metadata.uid ?? "";
  const now = clock.now();
  const candidates = state.frozen.map(({ candidate }) => candidate).filter((one) => one !== "");
  const stables = state.frozen.map(({ stable }) => stable);
  const type = plan.composition === undefined ? functionRevisionType : compositionKinds.revision;
  const revisions = await revisionsOf(client, { type, names: [...candidates, ...stables], signal });
  const since = state.stepStartedAt ?? now;
  const body = () => ({
    rollout: rollout.metadata.name ?? "",
    ...statusFields(state, {
      isComposition: plan.composition !== undefined,
      generation: rollout.metadata.generation ?? 0,
    }),
  });
  const measured: Omit<GateSamples, "stepStartedAt" | "isShadowStep" | "hasShadowed"> = {
    now,
    members: facts.members.length,
    pendingMoves: facts.pendingMoves,
    ...shadowNumbers(uid, shadow, { rows, state }),
    candidateCalls: (from) => samples.numbers(candidates, from),
    stableCalls: (from) => samples.numbers(stables, from),
    moved: facts.moved,
    stayed: facts.stayed,
    watchedMs: outages.watchedMs(uid),
    runtime: outages.see(
      uid,
      candidates.map((one) => revisions.get(one)),
    ),
    external: (gate) => external.answer(gate, { rolloutUid: uid, since, body }),
  };
  return {
    now,
    jumpMs: jumps.sinceLast(uid),
    sides,
    lost: [...revisions].filter(([, one]) => isLost(one)).map(([one]) => one),
    composites: facts.numbers,
    lowestBucket: facts.lowestBucket,
    leftBehind: facts.leftBehind.length,
    samples: measured,
    approvals: (annotationOf(rollout, rolloutAnnotations.approve) ?? "").split(",").map((one) => one.trim()),
    resumeToken: annotationOf(rollout, rolloutAnnotations.resume),
    isAborted: annotationOf(rollout, rolloutAnnotations.abort) !== undefined,
  };
}

/** CompositionRevisions are not switched off. */
function isLost(revision: KubeObject | undefined): boolean {
  if (revision === undefined) return true;
  return revision.kind === functionRevisionType.kind && !readRevision(revision).isActive;
}

async function revisionsOf(
  client: ControllerClient,
  { type, names, signal }: { readonly type: TypeRef; readonly names: readonly string[]; readonly signal: AbortSignal },
): Promise<ReadonlyMap<string, KubeObject | undefined>> {
  const found = await Promise.all(names.map((one) => client.get(type, { name: one }, { signal })));
  return new Map(names.map((one, index) => [one, found[index]]));
}

/** Tracks for how long this process has observed a rollout, and for how long the runtime of the candidate has not been healthy. */
export interface OutageWatch {
  /** To be asked at each look. */
  watchedMs(rolloutUid: string): number;
  /** The health of the runtimes of all candidates of a rollout: that of the worst. */
  see(rolloutUid: string, candidates: readonly (KubeObject | undefined)[]): GateSamples["runtime"];
  forget(rolloutUid: string): void;
}

/**
 * Counts from the first look at an outage, with a clock that never jumps: the time in the condition may be that of a control plane
 * that was killed meanwhile, whose functions went with it.
 */
export function createOutageWatch({ monotonic = () => performance.now() }: Pick<JumpDeps, "monotonic">): OutageWatch {
  const seen = new Map<string, { readonly outage: string; readonly at: number }>();
  const first = new Map<string, number>();
  return {
    watchedMs(uid) {
      const at = first.get(uid) ?? monotonic();
      first.set(uid, at);
      return monotonic() - at;
    },
    see(uid, candidates) {
      const conditions = candidates.map((one) =>
        conditionOf(one === undefined ? [] : conditionsOf(one), "RuntimeHealthy"),
      );
      const worst = conditions.find(({ status }) => status !== "True");
      if (worst === undefined) {
        seen.delete(uid);
        return { status: candidates.length > 0 ? "True" : "Unknown", forMs: 0, message: "" };
      }
      const { status, message = "", lastTransitionTime: outage = "" } = worst;
      const before = seen.get(uid);
      const at = before?.outage === outage ? before.at : monotonic();
      seen.set(uid, { outage, at });
      return { status: status === "False" ? "False" : "Unknown", forMs: monotonic() - at, message };
    },
    forget(uid) {
      seen.delete(uid);
      first.delete(uid);
    },
  };
}

/** Notices that the wall clock jumped. */
export interface JumpDetector {
  /** How far the wall clock jumped between the last two looks at a rollout. */
  sinceLast(rolloutUid: string): number;
  forget(rolloutUid: string): void;
}

interface JumpDeps {
  readonly clock: Pick<Clock, "now">;
  /** In milliseconds. */
  readonly monotonic?: (() => number) | undefined;
}

/** Compares the wall clock with one that never jumps. */
export function createJumpDetector({ clock, monotonic = () => performance.now() }: JumpDeps): JumpDetector {
  const last = new Map<string, { readonly wall: number; readonly steady: number }>();
  return {
    sinceLast(uid) {
      const before = last.get(uid);
      const seen = { wall: clock.now(), steady: monotonic() };
      last.set(uid, seen);
      if (before === undefined) return 0;
      const jump = seen.wall - before.wall - (seen.steady - before.steady);
      return Math.abs(jump) > 2000 ? Math.round(jump) : 0;
    },
    forget: (uid) => void last.delete(uid),
  };
}
