// SPDX-License-Identifier: Apache-2.0

import type { CacheChange } from "@purlin/kube-client";
import { crdType, retryBackoff, type WatchingController, type WatchSpec } from "@purlin/kube-controller";
import {
  controllerOf,
  hasFinalizer,
  type KubeObject,
  memberAt,
  type ObjectKey,
  textsAt,
} from "@purlin/kube-objects/object";
import { apiGroup, kinds } from "../composite-resource/constants.ts";
import { createInstanceControllers } from "./instance-controllers.ts";
import type { CreateInstanceController, DefinitionDeps } from "./ports.ts";
import { definitionReconciler } from "./reconciler.ts";
import { claimSide, compositeSide, type DefinitionSide } from "./side.ts";

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

/** What wakes one side of definitions: the definitions that are about it, and the CRDs it made. */
function definitionWatches(side: DefinitionSide): readonly WatchSpec[] {
  return [
    { type: "CompositeResourceDefinition", object: kinds.definition, keys: (change) => definitionsOf(side, change) },
    { type: "CustomResourceDefinition", object: crdType, keys: (change) => ownersOf(side, change) },
  ];
}

function definitionsOf(side: DefinitionSide, { object }: CacheChange): readonly ObjectKey[] {
  const { name = "" } = object.metadata;
  return side === compositeSide || isAboutClaims(object) ? [{ name }] : [];
}

/** Also one that offered claims once: they have to be dealt with when it goes. */
function isAboutClaims(xrd: KubeObject): boolean {
  return memberAt(xrd, ["spec", "claimNames"]) !== undefined || hasFinalizer(xrd, claimSide.finalizer);
}

function ownersOf(side: DefinitionSide, { object }: CacheChange): readonly ObjectKey[] {
  if (!textsAt(object, ["spec", "names", "categories"]).includes(side.category)) return [];
  const owner = controllerOf(object);
  const isDefinition = owner?.kind === kinds.definition.kind && owner.apiVersion.startsWith(`${apiGroup}/`);
  return isDefinition ? [{ name: owner.name }] : [];
}
