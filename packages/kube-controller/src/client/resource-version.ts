// SPDX-License-Identifier: Apache-2.0

/** Compares two resource versions of one API server, which are whole numbers in growing order. None is before any. */
export function compareVersions(a = "", b = ""): number {
  return a.length - b.length || (a < b ? -1 : a > b ? 1 : 0);
}
