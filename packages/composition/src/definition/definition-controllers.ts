// SPDX-License-Identifier: Apache-2.0
import type { CacheChange, KubeObject, ObjectKey } from "@purlin/kube-client";
import { crdType, retryBackoff, type WatchingController } from "@purlin/kube-controller";
import { apiGroup, kinds } from "../composite-resource/constants.ts";
import { memberAt, textsAt } from "../composite-resource/members.ts";
import { controllerOf, hasFinalizer } from "../composite-resource/metadata.ts";
import type { CreateInstanceController, DefinitionDeps } from "./definition-deps.ts";
import { definitionReconciler } from "./definition-reconciler.ts";
import { claimSide, compositeSide, type DefinitionSide } from "./definition-side.ts";
import { createInstanceControllers } from "./instance-controllers.ts";

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
    watches: [
      { type: "CompositeResourceDefinition", object: kinds.definition, keys: (change) => definitionsOf(side, change) },
      { type: "CustomResourceDefinition", object: crdType, keys: (change) => ownersOf(side, change) },
    ],
  };
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
