// SPDX-License-Identifier: Apache-2.0

import type { Clock, Log } from "@purlin/base";
import {
  compositionKinds,
  crossplaneLabels,
  functionRevisionType,
  functionType,
  packageLabel,
} from "@purlin/composition";
import { type RolloutView, readRollout } from "@purlin/function-runner";
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
import { type CompositeRow, collectComposites } from "./composites.ts";
import { type Decision, decide, type SidesFound } from "./decide.ts";
import { createExternalGates, type ExternalGates } from "./external-gates.ts";
import { type Claims, conflict, createClaims, createMover, type Mover, rivalOf, targets } from "./mover.ts";
import {
  createJumpDetector,
  createOutageWatch,
  type JumpDetector,
  type OutageWatch,
  observe,
  type ShadowSource,
  shadowStatus,
} from "./observe.ts";
import { type RolloutPlan, readPlan } from "./plan.ts";
import { createRolloutMetrics, type RolloutMetrics, supersededText, supersededType, withState } from "./report.ts";
import { findSides, release, withhold } from "./sides.ts";
import { isEnded, type RolloutState, readState } from "./state.ts";

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
      { type: "FunctionRollout", object: rolloutType, keys: (change) => shell.rolloutsBeside(change) },
      { type: "FunctionRevision", object: functionRevisionType, keys: (change) => shell.rolloutsOf(change) },
      { type: "CompositionRevision", object: compositionKinds.revision, keys: (change) => shell.rolloutsOf(change) },
    ],
    onGone: ({ key, signal }) => shell.gone(key, signal),
    reconcile: (context) => shell.reconcile(context),
  });
}

interface Shell {
  reconcile(context: ReconcileContext): Promise<ReconcileResult>;
  gone(key: ObjectKey, signal: AbortSignal): Promise<ReconcileResult>;
  /** The rollouts that a revision concerns. */
  rolloutsOf(change: CacheChange): readonly ObjectKey[];
  /** A rollout, and ended ones of the same function or Composition, which may no longer decide. */
  rolloutsBeside(change: CacheChange): readonly ObjectKey[];
}

/** What the shell remembers of a rollout; all of it can be lost. */
interface Memory {
  readonly uid: string;
  readonly buckets: Map<string, number>;
  plan: RolloutPlan;
  /** The last one that was decided. */
  state: RolloutState;
}

function createShell(deps: RolloutDeps): Shell {
  const memories = new Map<string, Memory>();
  const metrics = createRolloutMetrics(deps.registry);
  const external = deps.external ?? createExternalGates(deps.clock);
  const mover = createMover(deps);
  const jumps = createJumpDetector(deps);
  const outages = createOutageWatch(deps);
  const claims = createClaims();
  const parts = { ...deps, metrics, external, mover, jumps, outages, memories, claims };
  return {
    reconcile: (context) => reconcile(context, parts),
    async gone({ name: rollout }, signal) {
      const memory = memories.get(rollout);
      if (memory === undefined) return {};
      // Whatever was on the candidate resolves to another revision now.
      mover.wake(memory.uid, await rowsOf(memory, parts, signal));
      memories.delete(rollout);
      metrics.gone(rollout);
      forget(rollout, memory, parts);
      return {};
    },
    rolloutsOf({ object }) {
      const owner = labelOf(object, packageLabel);
      const composition = labelOf(object, crossplaneLabels.compositionName);
      return [...memories]
        .filter(([, { plan }]) => targets(plan, { functions: owner === undefined ? [] : [owner], composition }))
        .map(([rollout]) => ({ name: rollout }));
    },
    rolloutsBeside({ object }) {
      const { name: own, targets: wanted } = readRollout(object);
      const beside = [...memories].filter(
        ([other, { plan, state }]) => other !== own && isEnded(state) && targets(plan, wanted),
      );
      return [own, ...beside.map(([other]) => other)].map((one) => ({ name: one }));
    },
  };
}

interface ShellDeps extends RolloutDeps {
  readonly metrics: RolloutMetrics;
  readonly external: ExternalGates;
  readonly mover: Mover;
  readonly jumps: JumpDetector;
  readonly outages: OutageWatch;
  readonly memories: Map<string, Memory>;
  readonly claims: Claims;
}

/** Drops what is only of use to a rollout that moves something. */
function forget(rollout: string, { uid, buckets }: Memory, parts: ShellDeps): void {
  buckets.clear();
  parts.claims.release(rollout);
  parts.external.forget(uid);
  parts.shadow?.forget(uid);
  parts.jumps.forget(uid);
  parts.outages.forget(uid);
  parts.mover.forget(uid);
}

function rowsOf(
  { uid, buckets, plan, state }: Memory,
  { client, samples }: ShellDeps,
  signal: AbortSignal,
): Promise<readonly CompositeRow[]> {
  return collectComposites({ client, plan, state, rolloutUid: uid, samples, buckets, signal });
}

async function reconcile(context: ReconcileContext, parts: ShellDeps): Promise<ReconcileResult> {
  const rollout = context.stored.object;
  if (isDeleted(rollout)) return {};
  const { clock, client, memories, mover, metrics, claims } = parts;
  const plan = readPlan(rollout);
  const state = readState(rollout);
  const uid = rollout.metadata.uid ?? "";
  const rolloutName = rollout.metadata.name ?? "";
  const known = memories.get(rolloutName);
  const memory: Memory = { uid, buckets: known?.uid === uid ? known.buckets : new Map(), plan, state };
  memories.set(rolloutName, memory);
  if (isEnded(state)) return settle(context, memory, parts);
  const others = await othersOf(context, parts);
  const sides = await sidesOf({ rollout, plan, state, others, context, parts });
  // The candidate is withheld before anything depends on it: it would take over by being the newest.
  if ("found" in sides && plan.composition === undefined)
    await withhold(client, sides.found, { rollout: rolloutName, signal: context.signal });
  const frozen = { ...state, frozen: "found" in sides ? sides.found : state.frozen };
  memory.state = frozen;
  const rows = await rowsOf(memory, parts, context.signal);
  const { signal } = context;
  // Reports of what is gone must neither count nor pile up.
  parts.shadow?.retainRollouts([uid, ...others.map((one) => one.uid)]);
  parts.shadow?.retainComposites(uid, rows);
  const seen = await observe({ rollout, plan, state: frozen, rows, sides, signal }, parts);
  const holder = state.startedAt === undefined ? claims.holder(rolloutName, plan) : undefined;
  const outcome = decide(plan, state, holder === undefined ? seen : { ...seen, sides: conflict(holder, plan) });
  claims.settle(rolloutName, plan, outcome.state);
  memory.state = outcome.state;
  await context.writeStatus(
    withState(rollout, outcome.state, { plan, clock, shadow: shadowStatus(uid, parts.shadow) }),
  );
  if (outcome.decision !== undefined) await announce(outcome.decision, { rollout, plan, context, parts });
  metrics.seen(rolloutName, outcome.state);
  mover.move(uid, { rows, state: outcome.state, shadow: parts.shadow });
  if (isEnded(outcome.state)) return settle(context, memory, parts);
  return { requeueAfterMs: tickOf(parts, rows.length) };
}

/** The other rollouts, without those that cannot start before a person edits them. */
async function othersOf({ stored, signal }: ReconcileContext, { client }: ShellDeps): Promise<readonly RolloutView[]> {
  const { uid } = stored.object.metadata;
  const others = (await client.list(rolloutType, { signal })).filter(({ metadata }) => metadata.uid !== uid);
  const isIdle = (one: KubeObject): boolean =>
    readState(one).phase === "Pending" && readPlan(one).problem !== undefined;
  return others.filter((one) => !isIdle(one)).map(readRollout);
}

/** A rollout that has ended keeps its status; only its generation and newer revisions are observed. */
async function settle(context: ReconcileContext, memory: Memory, parts: ShellDeps): Promise<ReconcileResult> {
  const rollout = context.stored.object;
  const { plan, state } = memory;
  const rolloutName = rollout.metadata.name ?? "";
  const others = await othersOf(context, parts);
  const superseded = await supersededText(
    { rollout, plan, state, others },
    { client: parts.client, signal: context.signal },
  );
  const before = conditionOf(conditionsOf(rollout), supersededType);
  await context.writeStatus(withState(rollout, state, { plan, clock: parts.clock, superseded }));
  if (superseded !== undefined && (before.status !== "True" || before.message !== superseded)) {
    const decision = { type: "Warning", reason: "NewerRevision", message: superseded } as const;
    await announce(decision, { rollout, plan, context, parts });
  }
  if (state.phase === "Succeeded" && plan.composition === undefined) {
    await release(parts.client, state.frozen, { rollout: rolloutName, signal: context.signal });
  }
  parts.metrics.seen(rolloutName, state);
  forget(rolloutName, memory, parts);
  return {};
}

function tickOf({ tickMs }: RolloutDeps, rows: number): number {
  return tickMs ?? (rows > 2000 ? 5000 : 1000);
}

interface Question {
  readonly rollout: KubeObject;
  readonly plan: RolloutPlan;
  readonly state: RolloutState;
  readonly context: ReconcileContext;
  readonly parts: ShellDeps;
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
  if (rival !== undefined) return conflict(rival.name, plan);
  return findSides({ client: parts.client, rollout, plan, frozen: state.frozen, others, signal });
}

/** One event on the rollout; a warning also on what is rolled out. */
async function announce(decision: Decision, { rollout, plan, context, parts }: Omit<Question, "state">): Promise<void> {
  parts.metrics.decided(rollout.metadata.name ?? "", decision);
  context.emit(decision);
  if (decision.type !== "Warning") return;
  const owners =
    plan.composition === undefined
      ? plan.functions.map((one) => [functionType, one] as const)
      : [[compositionKinds.composition, plan.composition] as const];
  for (const [type, one] of owners) {
    const owner = await parts.client.get(type, { name: one }, { signal: context.signal });
    const message = `FunctionRollout "${rollout.metadata.name ?? ""}": ${decision.message}`;
    if (owner !== undefined) context.events.event(owner, { ...decision, message });
  }
}
