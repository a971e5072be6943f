// SPDX-License-Identifier: Apache-2.0

import type { WatchingController } from "@purlin/kube-controller";
import { createRolloutController, type RolloutDeps } from "./controller.ts";
import { createPolicyController } from "./policy.ts";

/** The controllers of rollouts. */
export function rolloutControllers(deps: RolloutDeps): readonly WatchingController[] {
  return [createRolloutController(deps), createPolicyController(deps)];
}
