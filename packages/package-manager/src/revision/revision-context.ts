// SPDX-License-Identifier: Apache-2.0

import type { ReconcileContext } from "@purlin/kube-controller";
import type { JsonValue } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";
import type { Established } from "../establish/establish.ts";
import type { PackageDeps } from "../package-deps.ts";
import { type PackageType, packageLabels } from "../package-kinds.ts";

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

/** The dependencies of the controllers of package revisions. */
export interface RevisionDeps extends PackageDeps {
  /** The Crossplane version that package constraints are checked against: a plain release. */
  readonly crossplaneVersion: string;
  /** The objects that earlier reconciles found unchanged; without it, every object is written each time. */
  readonly established?: Established | undefined;
  /** How many objects of a package are written at a time; 10 unless given. */
  readonly maxConcurrentEstablishers?: number | undefined;
}
