// SPDX-License-Identifier: Apache-2.0

/** What a program needs to find others, write temporary files and know where in the world it is. */
const harmless = new Set(["PATH", "TMPDIR", "LANG", "TZ"]);

/**
 * The part of an environment that a function may have. Functions are other people's code: tokens and passwords of whoever
 * started the control plane are none of their business.
 */
export function cleanEnvironment(env: Readonly<Record<string, string | undefined>>): Record<string, string> {
  const kept: Record<string, string> = {};
  for (const [name, value] of Object.entries(env)) {
    if (value !== undefined && (harmless.has(name) || name.startsWith("LC_"))) kept[name] = value;
  }
  return kept;
}
