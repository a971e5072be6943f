// SPDX-License-Identifier: Apache-2.0

import type { ReconcileContext } from "@purlin/kube-controller";
import type { JsonValue } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";
import { type PackageType, packageLabels } from "../package-kinds.ts";
import type { RevisionDeps } from "./revision-deps.ts";

/** One reconcile of one revision. */
export interface RevisionContext extends RevisionDeps, ReconcileContext {
  readonly type: PackageType;
  readonly revision: KubeObject;
  /** Status fields that this reconcile sets. Other controllers write the status too, so they are merged at the end. */
  readonly found: Map<string, JsonValue | undefined>;
}

/** The event reason and message prefix of each step that can fail. */
export const steps = {
  finalizer: { reason: "AddFinalizer", text: "cannot add package revision finalizer" },
  parse: { reason: "ParsePackage", text: "cannot get package" },
  validate: { reason: "ValidatePackage", text: "validating package contents failed" },
  compatible: { reason: "LintPackage", text: "incompatible Crossplane version" },
  dependencies: { reason: "ResolveDependencies", text: "cannot resolve package dependencies" },
  metadata: { reason: "SyncPackage", text: "cannot update package revision object metadata" },
  establish: { reason: "SyncPackage", text: "cannot establish control of object" },
} as const;

/** The package that a revision belongs to. */
export async function packageOf({ client, type, revision, signal }: RevisionContext): Promise<KubeObject> {
  const name = revision.metadata.labels?.[packageLabels.package] ?? "";
  const owner = await client.get(type.package, { name }, { signal });
  if (owner === undefined) throw new Error(`cannot get the ${type.kind} "${name}" of this revision`);
  return owner;
}
