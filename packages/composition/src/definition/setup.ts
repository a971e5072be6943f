// SPDX-License-Identifier: Apache-2.0
import { retryBackoff, type WatchingController } from "@purlin/kube-controller";
import { createInstanceControllers } from "./instance-controllers.ts";
import type { CreateInstanceController, DefinitionDeps } from "./ports.ts";
import { definitionReconciler } from "./reconciler.ts";
import { claimSide, compositeSide, type DefinitionSide } from "./side.ts";
import { definitionWatches } from "./watches.ts";

/**
 * The controller that makes composite resources of definitions possible: it derives their CRD, waits until it is
 * established, and runs the controller of the composite resources as long as the definition is there.
 */
export function createDefinedController(
  deps: DefinitionDeps & { readonly compositeController: CreateInstanceController },
): WatchingController {
  return sideController(deps, compositeSide, deps.compositeController);
}

/** The controller that does the same for the claims that definitions offer. */
export function createOfferedController(
  deps: DefinitionDeps & { readonly claimController: CreateInstanceController },
): WatchingController {
  return sideController(deps, claimSide, deps.claimController);
}

function sideController(
  deps: DefinitionDeps,
  side: DefinitionSide,
  create: CreateInstanceController,
): WatchingController {
  const controllers = createInstanceControllers(deps, side, create);
  const reconcile = definitionReconciler(deps, side, controllers);
  return {
    spec: { name: side.controllerName, reconcile, backoff: retryBackoff },
    watches: definitionWatches(side),
  };
}
