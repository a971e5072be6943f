// SPDX-License-Identifier: Apache-2.0
import { defineController, type WatchingController } from "@purlin/kube-controller";
import { ignoreNotFound } from "@purlin/kube-objects/errors";
import { isDeleted, keyOf, type TypeRef, withoutFinalizer } from "@purlin/kube-objects/object";
import type { ControllerDeps, OperationDeps, SchedulerDeps } from "./deps.ts";
import { kinds, updateManager, watchFinalizer } from "./names.ts";
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

/**
 * Controllers that only say that operations are disabled: an Operation that is stored and ignored is a riddle. A WatchOperation that was made
 * before can still be deleted.
 */
function disabledControllers(deps: ControllerDeps): readonly WatchingController[] {
  return Object.values(kinds).map((type) => disabledController(type, deps));
}

function disabledController(type: TypeRef, { client, events, clock, log }: ControllerDeps): WatchingController {
  return defineController({
    ...{ client, events, clock, log, type },
    name: `ops/${type.kind.toLowerCase()}.ops.crossplane.io`,
    timeoutMs: 60_000,
    async reconcile({ stored, emit, signal }) {
      if (isDeleted(stored.object)) {
        const released = withoutFinalizer(stored.object, watchFinalizer);
        if (released === stored.object) return {};
        await ignoreNotFound(client.update(released, { fieldManager: updateManager, signal }));
        return {};
      }
      const message = `nothing runs this ${type.kind}: start with --enable-operations`;
      emit({ type: "Warning", reason: "FeatureDisabled", message });
      return {};
    },
    watches: [
      {
        type: type.kind,
        object: type,
        // One event for each object, not one for each change.
        keys: ({ type: change, object }) => (change === "added" || isDeleted(object) ? [keyOf(object)] : []),
      },
    ],
  });
}
