// SPDX-License-Identifier: Apache-2.0

import type { Clock, Log } from "@purlin/base";
import type { ProcessState } from "@purlin/function-process";
import type { DevelopmentTrust } from "@purlin/function-runner";
import type { ControllerClient, EventRecorder, ReconcileContext } from "@purlin/kube-controller";
import { type KubeObject, withMember } from "@purlin/kube-objects/object";
import type { PackageClient } from "./fetch/package-client.ts";

/** The dependencies of the controllers of packages. */
export interface PackageDeps {
  readonly client: ControllerClient;
  readonly events: EventRecorder;
  readonly packages: PackageClient;
  readonly clock: Clock;
  readonly log: Log;
  /** Where package secrets and runtimes live. */
  readonly namespace: string;
  readonly features: {
    /** Several revisions of a function at once, and compositions that choose. */
    readonly functionRevisionSelectors: boolean;
    /** Rollouts decide which composite resources a new revision gets; not unless given. */
    readonly functionRollouts?: boolean | undefined;
    /** Functions run where their annotations say; without it such annotations have no effect. */
    readonly developmentFunctions: boolean;
    /** The CRDs of Providers are installed as managed resource definitions. */
    readonly managedResourceConversion?: boolean | undefined;
    /** Whose annotations are trusted. */
    readonly developmentTrust?: DevelopmentTrust | undefined;
  };
  /** Whether a runtime of this control plane runs Functions and Providers; otherwise another controller does. */
  readonly hasRuntime: { readonly Function: boolean; readonly Provider: boolean };
  /** The state of the process that runs the source file of a Function, where this control plane runs it. */
  readonly sourceState?: ((functionName: string) => ProcessState | undefined) | undefined;
  /** The reference of the package that the source file of a Provider builds, where this control plane builds it. */
  readonly sourcePackage?: ((providerName: string, path: string) => Promise<string>) | undefined;
  /** The revisions of a Function that rollouts need: they stay active, and are not collected. None unless given. */
  readonly rolloutRevisions?: ((functionName: string, signal: AbortSignal) => Promise<ReadonlySet<string>>) | undefined;
  /** The names of function revisions that compositions name, by `functionRevisionRef` or digest. */
  readonly revisionsInUse: (revisions: readonly KubeObject[], signal: AbortSignal) => Promise<ReadonlySet<string>>;
}

/** The field managers of the package manager. */
export const packageFieldManagers = {
  /** Revisions, as the manager wants them. */
  manager: "pkg.crossplane.io/manager",
  /** Plain updates. */
  update: "crossplane",
} as const;

/** Removes all conditions of an object that is no longer paused; the write starts the next reconcile, which sets them again. */
export function clearConditions({ stored, writeStatus }: ReconcileContext): Promise<void> {
  return writeStatus(withMember(stored.object, ["status", "conditions"], undefined));
}
