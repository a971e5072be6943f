// SPDX-License-Identifier: Apache-2.0
import type { PackagePorts } from "../manager/package-manager-ports.ts";

/** What the controllers of package revisions work with. */
export interface RevisionPorts extends PackagePorts {
  /** The version packages are told they run on: a plain release. */
  readonly crossplaneVersion: string;
}
