// SPDX-License-Identifier: Apache-2.0
import { rename, rm, writeFile } from "node:fs/promises";

/** Writes a file that only this user can read. It is written beside and moved over, so that no reader ever finds half a file. */
export async function replaceFile(path: string, text: string): Promise<void> {
  const partial = `${path}.partial`;
  // A new file each time: one that is left from a crash keeps its mode, and a link its target.
  await rm(partial, { force: true });
  await writeFile(partial, text, { mode: 0o600, flag: "wx" });
  await rename(partial, path);
}
