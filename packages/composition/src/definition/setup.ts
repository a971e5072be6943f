// SPDX-License-Identifier: Apache-2.0

import type { CacheChange } from "@purlin/kube-client";
import { crdType, defineController, type WatchingController, type WatchSpec } from "@purlin/kube-controller";
import {
  controllerOf,
  hasFinalizer,
  type KubeObject,
  memberAt,
  type ObjectKey,
  textsAt,
} from "@purlin/kube-objects/object";
import { apiGroup, kinds } from "../composite-resource/constants.ts";
import type { CreateInstanceController, DefinitionDeps } from "./deps.ts";
import { createInstanceControllers } from "./instance-controllers.ts";
import { definitionReconciler } from "./reconciler.ts";
import { claimRole, compositeRole, type DefinitionRole } from "./role.ts";

/**
 * The controller that makes composite resources of definitions possible: it derives their CRD, waits until it is
 * established, and runs the controller of the composite resources as long as the definition is there.
 */
export function createDefinedController(
  deps: DefinitionDeps & { readonly compositeController: CreateInstanceController },
): WatchingController {
  return roleController(deps, compositeRole, deps.compositeController);
}

/** The controller that does the same for the claims that definitions offer. */
export function createOfferedController(
  deps: DefinitionDeps & { readonly claimController: CreateInstanceController },
): WatchingController {
  return roleController(deps, claimRole, deps.claimController);
}

function roleController(
  deps: DefinitionDeps,
  role: DefinitionRole,
  create: CreateInstanceController,
): WatchingController {
  const controllers = createInstanceControllers(deps, role, create);
  return defineController({
    ...definitionReconciler(deps, role, controllers),
    name: role.controllerName,
    watches: definitionWatches(role),
  });
}

/** What wakes one role of definitions: the definitions that are about it, and the CRDs it made. */
function definitionWatches(role: DefinitionRole): readonly WatchSpec[] {
  return [
    { type: "CompositeResourceDefinition", object: kinds.definition, keys: (change) => definitionsOf(role, change) },
    { type: "CustomResourceDefinition", object: crdType, keys: (change) => ownersOf(role, change) },
  ];
}

function definitionsOf(role: DefinitionRole, { object }: CacheChange): readonly ObjectKey[] {
  const { name = "" } = object.metadata;
  return role === compositeRole || isAboutClaims(object) ? [{ name }] : [];
}

/** Also one that offered claims once: they have to be dealt with when it goes. */
function isAboutClaims(xrd: KubeObject): boolean {
  return memberAt(xrd, ["spec", "claimNames"]) !== undefined || hasFinalizer(xrd, claimRole.finalizer);
}

function ownersOf(role: DefinitionRole, { object }: CacheChange): readonly ObjectKey[] {
  if (!textsAt(object, ["spec", "names", "categories"]).includes(role.category)) return [];
  const owner = controllerOf(object);
  const isDefinition = owner?.kind === kinds.definition.kind && owner.apiVersion.startsWith(`${apiGroup}/`);
  return isDefinition ? [{ name: owner.name }] : [];
}
