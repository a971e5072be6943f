// SPDX-License-Identifier: Apache-2.0

import { isLiveRollout, type RolloutView } from "@purlin/function-runner";
import type { SidesFound } from "./decide.ts";
import type { RolloutPlan } from "./plan.ts";

/** Whether a plan is about one of these functions, or about the Composition. */
export function targets(plan: RolloutPlan, { functions, composition }: RolloutView["targets"]): boolean {
  if (plan.composition !== undefined) return plan.composition === composition;
  return plan.functions.some((one) => functions.includes(one));
}

/** The answer to the search for revisions while another rollout has the target. */
export function conflict(rival: string, { composition }: RolloutPlan): SidesFound {
  const what = composition === undefined ? "a Function of this rollout" : `Composition "${composition}"`;
  return { reason: "Conflict", message: `FunctionRollout "${rival}" is moving ${what}` };
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
