// SPDX-License-Identifier: Apache-2.0

import type { ControllerEngine } from "@purlin/kube-controller";
import { belongsToCandidate, type CompositeRow } from "./composites.ts";
import type { ShadowSource } from "./shadow-numbers.ts";
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
