// SPDX-License-Identifier: Apache-2.0
import { basename } from "node:path";
import { UserError } from "../user-error.ts";

/** A name that npm, Kubernetes and file systems all take. */
const valid = /^[a-z]([a-z0-9-]{0,61}[a-z0-9])?$/;

/** The name of the project in a folder. */
export function projectName(folder: string): string {
  const name = basename(folder);
  if (valid.test(name)) return name;
  const rule = "use lower-case letters, digits and dashes, beginning with a letter, at most 63, such as my-function";
  throw new UserError(`"${name}" cannot be the name of a function: ${rule}`, { exitCode: 2 });
}
