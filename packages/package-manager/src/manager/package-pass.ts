// SPDX-License-Identifier: Apache-2.0
import type { KubeObject } from "@purlin/kube-objects/object";
import type { PackageType } from "../package-kinds.ts";
import { writeStatus } from "../package-status.ts";
import type { PassSignals } from "../pass-signals.ts";
import type { PackagePorts } from "./package-manager-ports.ts";

/** What fails in which step, and how it is told. */
export const steps = {
  list: { reason: "ListRevision", text: "cannot list revisions for package" },
  unpack: { reason: "UnpackPackage", text: "cannot unpack package" },
  transition: { reason: "TransitionRevision", text: "cannot transition package revision" },
  collect: { reason: "GarbageCollect", text: "cannot garbage collect old package revision" },
  install: { reason: "InstallPackageRevision", text: "cannot apply package revision" },
} as const;

/** One pass over one package. */
export interface PackagePass extends PackagePorts, PassSignals {
  readonly type: PackageType;
  readonly package: KubeObject;
  /** Several revisions of this package may be active. */
  readonly isRollout: boolean;
  readonly isFunction: boolean;
}

/** Writes the status of the package, if it says anything new. */
export function store({ client, package: before, telling }: PackagePass, after: KubeObject): Promise<void> {
  return writeStatus(client, { before, after, signal: telling });
}

/** Tells of something that went wrong, unless everything ends anyway. */
export function tellWarning({ events, package: owner, telling }: PackagePass, reason: string, message: string): void {
  if (!telling.aborted) events.event(owner, { type: "Warning", reason, message });
}
