// SPDX-License-Identifier: Apache-2.0

import type { ReconcileContext } from "@purlin/kube-controller";
import type { DefinitionDeps } from "./deps.ts";
import type { InstanceControllers } from "./instance-controllers.ts";
import type { DefinitionRole } from "./role.ts";

/** One reconcile of a definition in one role. */
export interface DefinitionContext extends ReconcileContext {
  readonly deps: DefinitionDeps;
  readonly role: DefinitionRole;
  readonly controllers: InstanceControllers;
}
