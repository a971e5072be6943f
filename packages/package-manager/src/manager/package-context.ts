// SPDX-License-Identifier: Apache-2.0
import type { ReconcileContext } from "@purlin/kube-controller";
import type { KubeObject } from "@purlin/kube-objects/object";
import type { PackageDeps } from "../package-deps.ts";
import type { PackageType } from "../package-kinds.ts";

/** The event reason and message prefix of each step that can fail. */
export const steps = {
  list: { reason: "ListRevision", text: "cannot list revisions for package" },
  unpack: { reason: "UnpackPackage", text: "cannot unpack package" },
  build: { reason: "BuildPackage", text: "cannot build package" },
  transition: { reason: "TransitionRevision", text: "cannot transition package revision" },
  collect: { reason: "GarbageCollect", text: "cannot garbage collect old package revision" },
  install: { reason: "InstallPackageRevision", text: "cannot apply package revision" },
} as const;

/** One reconcile of one package. */
export interface PackageContext extends PackageDeps, ReconcileContext {
  readonly type: PackageType;
  readonly package: KubeObject;
  /** Several revisions of this package may be active. */
  readonly isRollout: boolean;
  readonly isFunction: boolean;
}
