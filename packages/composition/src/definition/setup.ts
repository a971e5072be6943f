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
import {
  type CreateInstanceController,
  claimRole,
  compositeRole,
  createInstanceControllers,
  type DefinitionDeps,
  type DefinitionRole,
} from "./context.ts";
import { definitionReconciler } from "./reconciler.ts";

/**
 * The controller of definitions in the composite role: it derives the CRD of composite resources, waits until it is established, and
 * runs the controller of the composite resources while the definition exists.
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

/** The watches of one role: its definitions, and the CRDs that it created. */
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

/** Includes a definition that no longer offers claims: existing ones are deleted with it. */
function isAboutClaims(xrd: KubeObject): boolean {
  return memberAt(xrd, ["spec", "claimNames"]) !== undefined || hasFinalizer(xrd, claimRole.finalizer);
}

function ownersOf(role: DefinitionRole, { object }: CacheChange): readonly ObjectKey[] {
  if (!textsAt(object, ["spec", "names", "categories"]).includes(role.category)) return [];
  const owner = controllerOf(object);
  const isDefinition = owner?.kind === kinds.definition.kind && owner.apiVersion.startsWith(`${apiGroup}/`);
  return isDefinition ? [{ name: owner.name }] : [];
}
