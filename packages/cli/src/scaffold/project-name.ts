// SPDX-License-Identifier: Apache-2.0
import { basename } from "node:path";
import { UserError } from "../user-error.ts";

/** Whether npm, Kubernetes and file systems all accept a name. */
export function isProjectName(name: string): boolean {
  return /^[a-z]([a-z0-9-]{0,61}[a-z0-9])?$/.test(name);
}

/** The name of the function project in a folder. */
export function projectName(folder: string): string {
  const name = basename(folder);
  if (isProjectName(name)) return name;
  const rule = "use at most 63 lower-case letters, digits and dashes, starting with a letter, such as my-function";
  throw new UserError(`invalid function name "${name}": ${rule}`, { exitCode: 2 });
}
