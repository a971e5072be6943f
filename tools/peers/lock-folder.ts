// SPDX-License-Identifier: Apache-2.0
import { join } from "node:path";

/** The folder with what pins a peer and everything it needs to checksums: a lockfile of npm, a go.sum, or requirements with hashes. */
export function lockFolder(name: string, version: string): string {
  return join(import.meta.dirname, "locks", `${name}-${version}`);
}
