// SPDX-License-Identifier: Apache-2.0
import type { Established } from "../establish/established.ts";
import type { PackageDeps } from "../package-deps.ts";

/** The dependencies of the controllers of package revisions. */
export interface RevisionDeps extends PackageDeps {
  /** The Crossplane version that package constraints are checked against: a plain release. */
  readonly crossplaneVersion: string;
  /** The objects that earlier reconciles found unchanged; without it, every object is written each time. */
  readonly established?: Established | undefined;
  /** How many objects of a package are written at a time; 10 unless given. */
  readonly maxConcurrentEstablishers?: number | undefined;
}
