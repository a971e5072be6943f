// SPDX-License-Identifier: Apache-2.0
import type { Established } from "../establish/established.ts";
import type { PackagePorts } from "../manager/package-manager-ports.ts";

/** What the controllers of package revisions work with. */
export interface RevisionPorts extends PackagePorts {
  /** The version packages are told they run on: a plain release. */
  readonly crossplaneVersion: string;
  /** What passes before found to be as it should be; without it, everything is tried each time. */
  readonly established?: Established | undefined;
  /** How many objects of a package are written at a time; 10 unless given. */
  readonly maxConcurrentEstablishers?: number | undefined;
}
