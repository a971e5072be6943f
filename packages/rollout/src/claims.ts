// SPDX-License-Identifier: Apache-2.0

import type { RolloutPlan } from "./plan.ts";
import { isEnded, type RolloutState } from "./state.ts";

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
