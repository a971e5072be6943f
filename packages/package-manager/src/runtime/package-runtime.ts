// SPDX-License-Identifier: Apache-2.0

import type { WatchSpec } from "@purlin/kube-controller";
import type { KubeObject } from "@purlin/kube-objects/object";
import type { PackageType } from "../package-kinds.ts";

/** How the program of a revision is. */
export interface RuntimeReport {
  /** Whether it is up. */
  readonly isHealthy: boolean;
  /** Why not, or what else there is to say. */
  readonly message?: string | undefined;
  /** Whether that is worth an event: something is wrong, and not only on its way. */
  readonly isProblem?: boolean | undefined;
  /** Where a function answers; absent leaves what was published before: a revision that has served keeps its endpoint while it is active. */
  readonly endpoint?: string | undefined;
  /** When to look again, whatever happens. */
  readonly requeueAfterMs?: number | undefined;
}

/** What was made before anything runs. */
export interface RuntimePreparation {
  readonly tlsServerSecretName: string;
  /** Providers call others with it. */
  readonly tlsClientSecretName?: string | undefined;
  /** The ImageConfig that chose how the package runs. */
  readonly imageConfig?: string | undefined;
}

/** What is left to do about a revision that was retired. */
export interface Retirement {
  /** When to look again: something is not over yet. */
  readonly requeueAfterMs?: number | undefined;
}

/** One reconcile over one revision. */
export interface RuntimeContext {
  readonly type: PackageType;
  readonly revision: KubeObject;
  readonly signal: AbortSignal;
}

/** Runs the programs of packages. */
export interface PackageRuntime {
  /** Makes what must be there before anything runs: certificates, names. */
  prepare(context: RuntimeContext): Promise<RuntimePreparation>;
  /** Makes the program run, and says how it is. Called again whenever something about it changes. */
  run(context: RuntimeContext): Promise<RuntimeReport>;
  /** Ends the program of a revision that is not active any more, or that is gone. */
  retire(context: RuntimeContext): Promise<Retirement>;
  /** What else than a revision itself concerns it. `all` are the revisions of the kind there are. */
  watches?(type: PackageType, all: () => readonly KubeObject[]): readonly WatchSpec[];
}
