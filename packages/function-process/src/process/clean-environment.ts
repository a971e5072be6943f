// SPDX-License-Identifier: Apache-2.0
import { dirname } from "node:path";

/** What a program needs to find other programs, write temporary files and know its locale and time zone. */
const harmless = new Set(["PATH", "TMPDIR", "LANG", "TZ"]);

/**
 * The part of an environment that functions get. Functions are third-party code and must not see the tokens and passwords of the user who
 * started the control plane.
 */
export function cleanEnvironment(env: Readonly<Record<string, string | undefined>>): Record<string, string> {
  const kept: Record<string, string> = {};
  for (const [name, value] of Object.entries(env)) {
    if (value !== undefined && (harmless.has(name) || name.startsWith("LC_"))) kept[name] = value;
  }
  return kept;
}

/**
 * The environment of a function that runs from a source file. It shares the compile cache of this process, if there is one, and starts in half the
 * CPU time. Such a function runs as this user without a sandbox, so the folder gives it no access that it lacks. `directory` is the folder as Node
 * reports it: one for its version, inside the folder it was given.
 */
export function withCompileCache(
  env: Readonly<Record<string, string>>,
  directory: string | undefined,
): Readonly<Record<string, string>> {
  return directory === undefined ? env : { ...env, NODE_COMPILE_CACHE: dirname(directory) };
}
