// SPDX-License-Identifier: Apache-2.0

import { isLiveRollout, type RolloutView } from "@purlin/function-runner";
import type { ControllerEngine } from "@purlin/kube-controller";
import { belongsToCandidate, type CompositeRow } from "./composites.ts";
import type { SidesFound } from "./decide.ts";
import type { ShadowSource } from "./observe.ts";
import type { RolloutPlan } from "./plan.ts";
import { isEnded, type RolloutState } from "./state.ts";

/** Wakes the composite resources that a rollout waits for. */
export interface Mover {
  move(rolloutUid: string, input: MoverInput): void;
  /** Wakes all of these that the candidate ran for. */
  wake(rolloutUid: string, rows: readonly CompositeRow[]): void;
  forget(rolloutUid: string): void;
}

interface MoverInput {
  readonly rows: readonly CompositeRow[];
  readonly state: RolloutState;
  readonly shadow: ShadowSource | undefined;
}

/** Composite resources that are woken a second. */
const perSecond = 100;
/** One that was woken is not woken again for this long: its reconcile may have run before the new membership was known. */
const againMs = 10_000;
/** How many wakes of one rollout are remembered: composite resources come and go while it lasts. */
const mostWoken = 200_000;
/** How many members are woken at a time for gates that lack samples. */
const nudged = 20;
const nudgeAgainMs = 3000;

/** Makes a mover. What it remembers can be lost: composite resources are woken once more then. */
export function createMover({
  engine,
  monotonic = () => performance.now(),
}: {
  readonly engine: Pick<ControllerEngine, "enqueue">;
  /** A clock that never jumps, in milliseconds. */
  readonly monotonic?: (() => number) | undefined;
}): Mover {
  const woken = new Map<string, Map<string, number>>();
  const wakeDue = (
    rolloutUid: string,
    rows: readonly CompositeRow[],
    { every, purpose }: { every: number; purpose: string },
  ): void => {
    const now = monotonic();
    const known = woken.get(rolloutUid) ?? new Map<string, number>();
    woken.set(rolloutUid, known);
    if (known.size > mostWoken) known.clear();
    let delay = 0;
    for (const { uid, controller, key } of rows) {
      const id = `${purpose}/${uid}`;
      const at = known.get(id);
      if (at !== undefined && now - at < every) continue;
      known.set(id, now + delay);
      engine.enqueue(controller, key, delay);
      delay += 1000 / perSecond;
    }
  };
  return {
    move(rolloutUid, { rows, state, shadow }) {
      const movable = rows.filter(({ isMovable }) => isMovable);
      const misplaced =
        state.frozen.length === 0 ? [] : movable.filter((row) => row.isOnCandidate !== belongsToCandidate(row, state));
      const purpose = `${state.phase === "RollingBack" || state.phase === "RolledBack" ? "back" : "to"} ${state.currentStep}`;
      wakeDue(rolloutUid, misplaced, { every: againMs, purpose });
      if (isEnded(state) || state.phase !== "Progressing") return;
      const unseen = movable.filter(
        (row) => row.bucket < state.shadowThreshold && shadow?.has(rolloutUid, row.uid) !== true,
      );
      wakeDue(
        rolloutUid,
        unseen.filter((row) => !belongsToCandidate(row, state)),
        { every: againMs, purpose: "shadow" },
      );
      const lacks = state.gates.some(({ result }) => result === "Unknown");
      const members = lacks ? movable.filter((row) => belongsToCandidate(row, state)).slice(0, nudged) : [];
      wakeDue(rolloutUid, members, { every: nudgeAgainMs, purpose: "sample" });
    },
    wake: (rolloutUid, rows) =>
      wakeDue(
        rolloutUid,
        rows.filter(({ isOnCandidate }) => isOnCandidate),
        { every: 0, purpose: "gone" },
      ),
    forget: (rolloutUid) => woken.delete(rolloutUid),
  };
}

/** Whether a plan is about one of these functions, or about the Composition. */
export function targets(plan: RolloutPlan, { functions, composition }: RolloutView["targets"]): boolean {
  if (plan.composition !== undefined) return plan.composition === composition;
  return plan.functions.some((one) => functions.includes(one));
}

/** The answer to the search for revisions while another rollout has the target. */
export function conflict(rival: string, { composition }: RolloutPlan): SidesFound {
  const what = composition === undefined ? "a Function of this rollout" : `Composition "${composition}"`;
  const message = `FunctionRollout "${rival}" came first for ${what}: this one waits until that one has ended or is deleted`;
  return { reason: "Conflict", message };
}

/** Another live rollout of the same function or Composition that came first. */
export function rivalOf(own: RolloutView, others: readonly RolloutView[], plan: RolloutPlan): RolloutView | undefined {
  return others.find((other) => {
    if (!targets(plan, other.targets) || !isLiveRollout(other)) return false;
    const [mine, theirs] = [isFrozen(own), isFrozen(other)];
    if (mine !== theirs) return theirs;
    return other.created < own.created || (other.created === own.created && other.name < own.name);
  });
}

function isFrozen({ functions, composition }: RolloutView): boolean {
  return functions.size > 0 || composition !== undefined;
}

/**
 * Which rollout moves a Function or a Composition, as this process decided. Rollouts are looked at side by side, and what one of them
 * decides is stored a moment later: until then only this knows.
 */
export interface Claims {
  /** The name of the other rollout that has claimed a target of this one. */
  holder(rollout: string, plan: RolloutPlan): string | undefined;
  /** Takes or gives up the targets of a rollout, as its new state demands. To be called without waiting for anything since `holder`. */
  settle(rollout: string, plan: RolloutPlan, state: RolloutState): void;
  release(rollout: string): void;
}

/** Claims, none at first. They can be lost: the status of a rollout says what it moves. */
export function createClaims(): Claims {
  const claimed = new Map<string, string>();
  const release = (rollout: string): void => {
    for (const [target, holder] of claimed) if (holder === rollout) claimed.delete(target);
  };
  return {
    holder: (rollout, plan) =>
      targetsOf(plan)
        .map((one) => claimed.get(one))
        .find((one) => (one ?? rollout) !== rollout),
    settle(rollout, plan, state) {
      const isMoving = !isEnded(state) && state.frozen.length > 0;
      if (!isMoving || (state.startedAt === undefined && state.reason === "Conflict")) return release(rollout);
      for (const target of targetsOf(plan)) claimed.set(target, rollout);
    },
    release,
  };
}

function targetsOf({ functions, composition }: RolloutPlan): readonly string[] {
  return composition === undefined ? functions.map((one) => `Function/${one}`) : [`Composition/${composition}`];
}
