// SPDX-License-Identifier: Apache-2.0
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** Names what a peer is made of: after a change of its sources, it is another peer. */
export function sourceDigest(directory: string, ...others: readonly string[]): string {
  const hash = createHash("sha256");
  for (const name of readdirSync(directory).sort()) hash.update(name).update(readFileSync(join(directory, name)));
  for (const file of others) hash.update(readFileSync(file));
  return hash.digest("hex").slice(0, 12);
}
