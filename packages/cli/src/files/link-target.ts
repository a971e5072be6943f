// SPDX-License-Identifier: Apache-2.0
import { realpath } from "node:fs/promises";
import { resolve, sep } from "node:path";
import type { Io } from "../io.ts";
import { UserError } from "../user-error.ts";

/**
 * Refuses a link in a folder that leads out of it: whoever wrote the folder did not write what is there. Links that lead nowhere are left
 * to whoever reads them.
 */
export async function requireInside(folder: string, link: string, io: Io): Promise<void> {
  const root = await realpath(resolve(io.cwd, folder));
  const target = await realpath(resolve(io.cwd, link)).catch(() => undefined);
  if (target === undefined || target.startsWith(root.endsWith(sep) ? root : `${root}${sep}`)) return;
  throw new UserError(
    `cannot read ${link}: it is a link to ${target}, outside of ${folder}: copy the file, or name it on the command line`,
  );
}
