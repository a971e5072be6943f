// SPDX-License-Identifier: Apache-2.0

/** A type as the reference prints it: `group/version, Kind=Kind`, with an empty group for core. */
export function typeText(apiVersion: unknown, kind: unknown): string {
  const version = typeof apiVersion === "string" ? apiVersion : "";
  return `${version.includes("/") ? version : `/${version}`}, Kind=${typeof kind === "string" ? kind : ""}`;
}
