// SPDX-License-Identifier: Apache-2.0
import { isLiveRollout, type RolloutView } from "@purlin/function-runner";
import type { SidesFound } from "./decide.ts";
import type { RolloutPlan } from "./plan.ts";
import { isEnded, type RolloutState } from "./state.ts";

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
