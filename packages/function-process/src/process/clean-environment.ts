// SPDX-License-Identifier: Apache-2.0

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
