// SPDX-License-Identifier: Apache-2.0
import { readFileSync } from "node:fs";

/** The version of this command. */
export function ownVersion(): string {
  const manifest: unknown = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));
  return (manifest as { readonly version: string }).version;
}
