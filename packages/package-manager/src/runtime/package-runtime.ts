// SPDX-License-Identifier: Apache-2.0
import type { KubeObject } from "@purlin/kube-client";
import type { PackageType } from "../package-kinds.ts";

/** How the program of a revision is. */
export interface RuntimeReport {
  /** Whether it is up. */
  readonly isHealthy: boolean;
  /** Why not, or what else there is to say. */
  readonly message?: string | undefined;
  /** Where a function answers; empty when nobody must be sent there; absent leaves what was told before. */
  readonly endpoint?: string | undefined;
}

/** One pass over one revision. */
export interface RuntimePass {
  readonly type: PackageType;
  readonly revision: KubeObject;
  readonly signal: AbortSignal;
}

/** Runs the programs of packages. */
export interface PackageRuntime {
  /** Makes what must be there before anything runs: certificates, names. Returns the name of the server's secret. */
  prepare(pass: RuntimePass): Promise<{ readonly tlsServerSecretName: string }>;
  /** Makes the program run, and says how it is. Called again whenever something about it changes. */
  run(pass: RuntimePass): Promise<RuntimeReport>;
  /** Ends the program of a revision that is not active any more. */
  retire(pass: RuntimePass): Promise<void>;
}
