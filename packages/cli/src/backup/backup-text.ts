// SPDX-License-Identifier: Apache-2.0

/** The name of the store in a backup. */
export const storeName = "store.db";

/** A size as people read it. */
export function sizeText(bytes: number): string {
  if (bytes < 1024 * 1024) return `${Math.max(1, Math.round(bytes / 1024))} KiB`;
  return `${(bytes / 1024 / 1024).toFixed(1)} MiB`;
}
