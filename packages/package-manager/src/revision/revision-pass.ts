// SPDX-License-Identifier: Apache-2.0

import type { JsonValue } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";
import { type PackageType, packageLabels } from "../package-kinds.ts";
import type { PassSignals } from "../pass-signals.ts";
import type { RevisionPorts } from "./revision-ports.ts";

/** One pass over one revision. */
export interface RevisionPass extends RevisionPorts, PassSignals {
  readonly type: PackageType;
  readonly revision: KubeObject;
  /** What this pass found out, for the status; others write there too, so it is put in at the end. */
  readonly found: Map<string, JsonValue | undefined>;
}

/** What fails in which step, and how it is told. */
export const steps = {
  finalizer: { reason: "AddFinalizer", text: "cannot add package revision finalizer" },
  parse: { reason: "ParsePackage", text: "cannot get package" },
  validate: { reason: "ValidatePackage", text: "validating package contents failed" },
  compatible: { reason: "LintPackage", text: "incompatible Crossplane version" },
  dependencies: { reason: "ResolveDependencies", text: "cannot resolve package dependencies" },
  metadata: { reason: "SyncPackage", text: "cannot update package revision object metadata" },
  establish: { reason: "SyncPackage", text: "cannot establish control of object" },
} as const;

/** The package a revision is of. */
export async function packageOf({ client, type, revision, signal }: RevisionPass): Promise<KubeObject> {
  const name = revision.metadata.labels?.[packageLabels.package] ?? "";
  const owner = await client.get(type.package, { name }, { signal });
  if (owner === undefined) throw new Error(`cannot get the ${type.kind} "${name}" of this revision`);
  return owner;
}
