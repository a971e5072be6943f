// SPDX-License-Identifier: Apache-2.0
import type { ControlPlaneOptions } from "@purlin/control-plane";
import type { FunctionAccess } from "../rendered.ts";

/** What a control plane that manages packages is started with, and what ends with it. */
export interface MachineTerm extends AsyncDisposable {
  readonly packages: NonNullable<ControlPlaneOptions["packages"]>;
  readonly functions: ControlPlaneOptions["functions"];
}

/** Where the programs of packages run. */
export interface PackageMachine extends AsyncDisposable {
  /** Before a control plane is started, with its flags. */
  begin(functionRevisionSelectors: boolean, functionRollouts?: boolean): Promise<MachineTerm>;
  /** The programs outlive the end of the control plane that is next to end. */
  spare(): void;
  /** The names of the revisions whose program runs, sorted. */
  running(): readonly string[];
  /** The lines of a hosts file that name functions as the DNS of a cluster does. */
  hosts(): string;
  /** How another client than the control plane calls functions, until the control plane restarts. */
  access(): Promise<FunctionAccess>;
  /** Where a revision answers, given the Function it is of and whether the flag is on. */
  isEndpointOf(endpoint: string, revision: RevisionName, functionRevisionSelectors: boolean): boolean;
}

/** A revision and the Function it is of. */
export interface RevisionName {
  readonly function: string;
  readonly name: string;
}

/** Where secrets and the objects of runtimes are. */
export const packageNamespace = "crossplane-system";
