// SPDX-License-Identifier: Apache-2.0

import type { Clock, Log } from "@purlin/base";
import { functionRevisionType, functionType, packageLabel } from "@purlin/composition";
import { isLiveRollout, type RolloutView, readRevision, readRollout } from "@purlin/function-runner";
import type { CacheChange } from "@purlin/kube-client";
import {
  type ControllerClient,
  type ControllerEngine,
  defineController,
  type EventRecorder,
  type ReconcileContext,
  type ReconcileResult,
  type WatchingController,
} from "@purlin/kube-controller";
import {
  annotationOf,
  conditionOf,
  conditionsOf,
  isDeleted,
  type KubeObject,
  labelOf,
  type ObjectKey,
} from "@purlin/kube-objects/object";
import { rolloutType } from "@purlin/package-manager";
import type { Registry } from "prom-client";
import type { CallSamples } from "./call-samples.ts";
import { type CompositeFacts, type CompositeRow, collectComposites, factsOf } from "./composites.ts";
import { type Decision, decide, type Observation, type SidesFound } from "./decide.ts";
import { createExternalGates, type ExternalGates } from "./external-gates.ts";
import type { GateSamples } from "./gates.ts";
import { createMover, type Mover } from "./mover.ts";
import { type RolloutPlan, readPlan } from "./plan.ts";
import { createRolloutMetrics, type RolloutMetrics, withState } from "./report.ts";
import { type ShadowSource, shadowNumbers, shadowStatus } from "./shadow-numbers.ts";
import { findSides } from "./sides.ts";
import { isEnded, type RolloutState, readState, statusFields } from "./state.ts";
import { release, withhold } from "./withhold.ts";

/** Annotations through which people steer a rollout. */
export const rolloutAnnotations = {
  /** Names of approved steps, separated by commas. */
  approve: "pkg.crossplane.io/rollout-approve",
  /** The value of `status.pauseToken`. */
  resume: "pkg.crossplane.io/rollout-resume",
  /** Any value: the rollout moves everything back. */
  abort: "pkg.crossplane.io/rollout-abort",
} as const;

/** The dependencies of the controller of rollouts. */
export interface RolloutDeps {
  readonly client: ControllerClient;
  readonly engine: Pick<ControllerEngine, "enqueue">;
  readonly events: EventRecorder;
  readonly clock: Clock;
  readonly log: Log;
  readonly samples: CallSamples;
  /** Reports of shadow runs; without it no step can be left that shadows. */
  readonly shadow?: ShadowSource | undefined;
  readonly registry?: Registry | undefined;
  /** A clock that never jumps, in milliseconds. */
  readonly monotonic?: (() => number) | undefined;
  readonly external?: ExternalGates | undefined;
  /** How often a live rollout is looked at; a second by default, and less often with many composite resources. */
  readonly tickMs?: number | undefined;
}

const name = "rollouts/functionrollout.pkg.crossplane.io";
const timeoutMs = 60_000;

/** The controller of FunctionRollouts. */
export function createRolloutController(deps: RolloutDeps): WatchingController {
  const shell = createShell(deps);
  return defineController({
    client: deps.client,
    events: deps.events,
    clock: deps.clock,
    log: deps.log,
    name,
    type: rolloutType,
    timeoutMs,
    watches: [
      { type: "FunctionRollout", object: rolloutType, keys: ({ object }) => [{ name: object.metadata.name ?? "" }] },
      { type: "FunctionRevision", object: functionRevisionType, keys: (change) => shell.rolloutsOf(change) },
    ],
    onGone: async ({ key }) => shell.gone(key),
    reconcile: (context) => shell.reconcile(context),
  });
}

interface Shell {
  reconcile(context: ReconcileContext): Promise<ReconcileResult>;
  gone(key: ObjectKey): ReconcileResult;
  rolloutsOf(change: CacheChange): readonly ObjectKey[];
}

/** What the shell remembers of a rollout; all of it can be lost. */
interface Memory {
  readonly uid: string;
  readonly functions: readonly string[];
  readonly buckets: Map<string, number>;
  rows: readonly CompositeRow[];
}

function createShell(deps: RolloutDeps): Shell {
  const memories = new Map<string, Memory>();
  const metrics = createRolloutMetrics(deps.registry);
  const external = deps.external ?? createExternalGates(deps.clock);
  const mover = createMover(deps);
  const jumps = createJumpDetector(deps);
  const parts = { ...deps, metrics, external, mover, jumps, memories };
  return {
    reconcile: (context) => reconcile(context, parts),
    gone({ name: rollout }) {
      const memory = memories.get(rollout);
      memories.delete(rollout);
      metrics.gone(rollout);
      if (memory === undefined) return {};
      external.forget(memory.uid);
      deps.shadow?.forget(memory.uid);
      // Whatever was on the candidate resolves to another revision now.
      mover.wake(memory.uid, memory.rows);
      mover.forget(memory.uid);
      return {};
    },
    rolloutsOf({ object }) {
      const owner = labelOf(object, packageLabel) ?? "";
      return [...memories]
        .filter(([, { functions }]) => functions.includes(owner))
        .map(([rollout]) => ({ name: rollout }));
    },
  };
}

interface ShellParts extends RolloutDeps {
  readonly metrics: RolloutMetrics;
  readonly external: ExternalGates;
  readonly mover: Mover;
  readonly jumps: (rolloutUid: string) => number;
  readonly memories: Map<string, Memory>;
}

async function reconcile(context: ReconcileContext, parts: ShellParts): Promise<ReconcileResult> {
  const rollout = context.stored.object;
  if (isDeleted(rollout)) return {};
  const { clock, client, memories, mover, metrics } = parts;
  const plan = readPlan(rollout);
  const state = readState(rollout);
  const uid = rollout.metadata.uid ?? "";
  const rolloutName = rollout.metadata.name ?? "";
  const memory = memories.get(rolloutName) ?? { uid, functions: plan.functions, buckets: new Map(), rows: [] };
  memories.set(rolloutName, memory);
  const others = (await client.list(rolloutType, { signal: context.signal }))
    .map(readRollout)
    .filter((one) => one.uid !== uid);
  const sides = await sidesOf({ rollout, plan, state, others, context, parts });
  // The candidate is withheld before anything depends on it: it would take over by being the newest.
  const named = "found" in sides ? sides.found : state.frozen;
  if (!isEnded(state) && plan.composition === undefined)
    await withhold(client, named, { rollout: rolloutName, signal: context.signal });
  const frozen = { ...state, frozen: state.startedAt === undefined ? named : state.frozen };
  memory.rows = await collectComposites({
    client,
    plan,
    state: frozen,
    rolloutUid: uid,
    samples: parts.samples,
    buckets: memory.buckets,
    signal: context.signal,
  });
  const facts = factsOf(memory.rows, frozen);
  const seen = await observe({ rollout, plan, state: frozen, facts, sides, context, parts });
  const outcome = decide(plan, state, seen);
  await context.writeStatus(
    withState(rollout, outcome.state, { plan, clock, shadow: shadowStatus(uid, parts.shadow) }),
  );
  if (outcome.decision !== undefined) await announce(outcome.decision, { rollout, plan, context, parts });
  metrics.seen(rolloutName, outcome.state);
  if (outcome.state.phase === "Succeeded" && plan.composition === undefined) {
    await release(client, outcome.state.frozen, { rollout: rolloutName, signal: context.signal });
  }
  mover.move(uid, { rows: memory.rows, state: outcome.state, shadow: parts.shadow });
  return isEnded(outcome.state) ? {} : { requeueAfterMs: tickOf(parts, memory.rows.length) };
}

function tickOf({ tickMs }: RolloutDeps, rows: number): number {
  return tickMs ?? (rows > 2000 ? 5000 : 1000);
}

interface Question {
  readonly rollout: KubeObject;
  readonly plan: RolloutPlan;
  readonly state: RolloutState;
  readonly context: ReconcileContext;
  readonly parts: ShellParts;
}

async function sidesOf({
  rollout,
  plan,
  state,
  others,
  context,
  parts,
}: Question & { readonly others: readonly RolloutView[] }): Promise<SidesFound> {
  const { signal } = context;
  if (state.startedAt !== undefined) return { found: state.frozen, isServing: true, waitingFor: "" };
  const rival = rivalOf(readRollout(rollout), others, plan);
  if (rival !== undefined) {
    const what = plan.composition === undefined ? "a Function of this rollout" : `Composition "${plan.composition}"`;
    return { reason: "Conflict", message: `FunctionRollout "${rival.name}" is moving ${what}` };
  }
  return findSides({ client: parts.client, rollout, plan, frozen: state.frozen, others, signal });
}

/** Another live rollout of the same function or Composition that came first. */
function rivalOf(own: RolloutView, others: readonly RolloutView[], plan: RolloutPlan): RolloutView | undefined {
  return others.find((other) => {
    const isSame =
      plan.composition === undefined
        ? plan.functions.some((one) => other.targets.functions.includes(one))
        : other.targets.composition === plan.composition;
    if (!isSame || !isLiveRollout(other)) return false;
    const [mine, theirs] = [isFrozen(own), isFrozen(other)];
    if (mine !== theirs) return theirs;
    return other.created < own.created || (other.created === own.created && other.name < own.name);
  });
}

function isFrozen({ functions, composition }: RolloutView): boolean {
  return functions.size > 0 || composition !== undefined;
}

async function observe({
  rollout,
  plan,
  state,
  facts,
  sides,
  context,
  parts,
}: Question & { readonly facts: CompositeFacts; readonly sides: SidesFound }): Promise<Observation> {
  const { client, clock, samples, external, shadow, jumps } = parts;
  const uid = rollout.metadata.uid ?? "";
  const now = clock.now();
  const candidates = state.frozen.map(({ candidate }) => candidate).filter((one) => one !== "");
  const stables = state.frozen.map(({ stable }) => stable);
  const revisions =
    plan.composition === undefined ? await revisionsOf(client, [...candidates, ...stables], context.signal) : undefined;
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
    ...shadowNumbers(uid, shadow, { rows: parts.memories.get(rollout.metadata.name ?? "")?.rows ?? [], state }),
    candidateCalls: (from) => samples.numbers(candidates, from),
    stableCalls: (from) => samples.numbers(stables, from),
    moved: facts.moved,
    stayed: facts.stayed,
    runtime: runtimeOf(
      candidates.map((one) => revisions?.get(one)),
      now,
    ),
    external: (gate) => external.answer(gate, { rolloutUid: uid, since, body }),
  };
  return {
    now,
    jumpMs: jumps(uid),
    sides,
    lost: [...(revisions ?? [])]
      .filter(([, one]) => one === undefined || !readRevision(one).isActive)
      .map(([one]) => one),
    composites: facts.numbers,
    lowestBucket: facts.lowestBucket,
    leftBehind: facts.leftBehind.length,
    samples: measured,
    approvals: (annotationOf(rollout, rolloutAnnotations.approve) ?? "").split(",").map((one) => one.trim()),
    resumeToken: annotationOf(rollout, rolloutAnnotations.resume),
    isAborted: annotationOf(rollout, rolloutAnnotations.abort) !== undefined,
  };
}

async function revisionsOf(
  client: ControllerClient,
  names: readonly string[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, KubeObject | undefined>> {
  const found = await Promise.all(names.map((one) => client.get(functionRevisionType, { name: one }, { signal })));
  return new Map(names.map((one, index) => [one, found[index]]));
}

function runtimeOf(candidates: readonly (KubeObject | undefined)[], now: number): GateSamples["runtime"] {
  const worst = candidates
    .map((one) => (one === undefined ? undefined : conditionOf(conditionsOf(one), "RuntimeHealthy")))
    .find((one) => one?.status !== "True");
  if (worst === undefined) return { status: candidates.length > 0 ? "True" : "Unknown", since: now, message: "" };
  const since = Date.parse(worst.lastTransitionTime ?? "");
  return {
    status: worst.status === "False" ? "False" : "Unknown",
    since: Number.isNaN(since) ? now : since,
    message: worst.message ?? "",
  };
}

/** One event on the rollout; a warning also on what is rolled out. */
async function announce(decision: Decision, { rollout, plan, context, parts }: Omit<Question, "state">): Promise<void> {
  parts.metrics.decided(rollout.metadata.name ?? "", decision);
  context.emit(decision);
  if (decision.type !== "Warning") return;
  for (const one of plan.functions) {
    const owner = await parts.client.get(functionType, { name: one }, { signal: context.signal });
    const message = `FunctionRollout "${rollout.metadata.name ?? ""}": ${decision.message}`;
    if (owner !== undefined) context.events.event(owner, { ...decision, message });
  }
}

/** How far the wall clock jumped between two looks at a rollout. */
function createJumpDetector({ clock, monotonic = () => performance.now() }: RolloutDeps): (uid: string) => number {
  const last = new Map<string, { readonly wall: number; readonly steady: number }>();
  return (uid) => {
    const before = last.get(uid);
    const seen = { wall: clock.now(), steady: monotonic() };
    last.set(uid, seen);
    if (before === undefined) return 0;
    const jump = seen.wall - before.wall - (seen.steady - before.steady);
    return Math.abs(jump) > 2000 ? Math.round(jump) : 0;
  };
}
