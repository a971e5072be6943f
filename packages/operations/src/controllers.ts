// SPDX-License-Identifier: Apache-2.0
import type { WatchingController } from "@purlin/kube-controller";
import type { OperationDeps, SchedulerDeps } from "./deps.ts";
import { disabledControllers } from "./disabled.ts";
import { createOperationController } from "./operation/operation-controller.ts";
import { createCronController } from "./schedule/cron-controller.ts";
import { createWatchController } from "./watch/watch-controller.ts";

/** The controllers of operations. Disabled ones only say so. */
export function operationControllers(
  deps: OperationDeps & SchedulerDeps & { readonly enabled: boolean },
): readonly WatchingController[] {
  if (!deps.enabled) return disabledControllers(deps);
  return [createOperationController(deps), createCronController(deps), createWatchController(deps)];
}
