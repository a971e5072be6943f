// SPDX-License-Identifier: Apache-2.0

import { createLeases, type Lease } from "@purlin/function-process";
import type { WatchSpec } from "@purlin/kube-controller";
import type { KubeObject } from "@purlin/kube-objects/object";
import type { PackageType } from "../package-kinds.ts";

/** The state of the program of a revision. */
export interface RuntimeReport {
  /** Whether it is up. */
  readonly isHealthy: boolean;
  /** Why it is not healthy, or a note. */
  readonly message?: string | undefined;
  /** Whether to emit an event: the program failed, and is not just starting. */
  readonly isProblem?: boolean | undefined;
  /** The endpoint of a function. Without it the published endpoint stays: a revision that has served keeps it while it is active. */
  readonly endpoint?: string | undefined;
  /** When to reconcile again. */
  readonly requeueAfterMs?: number | undefined;
}

/** The objects that were created before the program runs. */
export interface RuntimePreparation {
  readonly tlsServerSecretName: string;
  /** The client certificate of a Provider. */
  readonly tlsClientSecretName?: string | undefined;
  /** The ImageConfig that chose how the package runs. */
  readonly imageConfig?: string | undefined;
}

/** The state of a revision that is being retired. */
export interface Retirement {
  /** When to reconcile again; absent when it is retired. */
  readonly requeueAfterMs?: number | undefined;
}

/** One reconcile of one revision. */
export interface RuntimeContext {
  readonly type: PackageType;
  readonly revision: KubeObject;
  readonly signal: AbortSignal;
}

/** Runs the programs of packages. */
export interface PackageRuntime {
  /** Creates what the program needs before it runs: certificates, names. */
  prepare(context: RuntimeContext): Promise<RuntimePreparation>;
  /** Runs the program. Resolves to its state; called again whenever that may have changed. */
  run(context: RuntimeContext): Promise<RuntimeReport>;
  /** Does what `run` does except for starting the program: no kind of the provider is activated yet. Nothing to do unless given. */
  hold?(context: RuntimeContext): Promise<void>;
  /** Stops the program of a revision that is no longer active, or that is gone. */
  retire(context: RuntimeContext): Promise<Retirement>;
  /** Further watches, beside that of revisions. `all` returns the revisions of the kind. */
  watches?(type: PackageType, all: () => readonly KubeObject[]): readonly WatchSpec[];
}

/** The uses of function revisions by pipeline steps, shared by the steps and by the runtime that stops revisions. */
export interface RevisionLeases {
  /** Begins a use of a revision at one of its endpoints. */
  acquire(revision: string, endpoint: string): Lease;
  isHeld(revision: string): boolean;
}

/** Keeps the program that serves an endpoint of a revision; the result ends that. */
type KeepEndpoint = (revision: string, endpoint: string) => (() => void) | undefined;

/** Counts the leases of each revision. `keep` is called for each of them. */
export function createRevisionLeases(keep: KeepEndpoint = () => undefined): RevisionLeases {
  const leases = createLeases();
  return {
    acquire: (revision, endpoint) => leases.acquire(revision, keep(revision, endpoint)),
    isHeld: leases.isHeld,
  };
}
