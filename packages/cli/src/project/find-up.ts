// SPDX-License-Identifier: Apache-2.0
import { statSync } from "node:fs";
import { dirname, join } from "node:path";

/**
 * The nearest path of that name, in a folder or one of its parents. What another user owns is found in the folder itself
 * only: anyone may create files in a shared parent such as /tmp, and a kubeconfig can name a program to run.
 */
export function findUp(name: string, start: string, uid: number | undefined = process.getuid?.()): string | undefined {
  for (let folder = start; ; folder = dirname(folder)) {
    const path = join(folder, name);
    const found = statSync(path, { throwIfNoEntry: false });
    if (found !== undefined && (folder === start || uid === undefined || found.uid === uid)) return path;
    if (folder === dirname(folder)) return undefined;
  }
}
