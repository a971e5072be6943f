// SPDX-License-Identifier: Apache-2.0

/** The file of a package unless told otherwise: whoever reads the name knows what is in there. */
export function defaultFile(name: string, digest: string): string {
  return `${name}-${digest.slice("sha256:".length, "sha256:".length + 12)}.xpkg`;
}

/** A path that can be typed again. */
export function displayName(path: string): string {
  return /^[\w./@%+=:-]+$/.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`;
}
