// SPDX-License-Identifier: Apache-2.0
import { closeSync, fsyncSync, openSync } from "node:fs";

/** A new file survives a power cut only when its directory entry is on disk too. */
export function syncDirectory(path: string): void {
  if (process.platform === "win32") return;
  const descriptor = openSync(path, "r");
  fsyncSync(descriptor);
  closeSync(descriptor);
}
