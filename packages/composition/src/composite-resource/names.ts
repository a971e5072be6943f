// SPDX-License-Identifier: Apache-2.0
import { createHash } from "node:crypto";
import { generateName, type RandomInteger } from "@purlin/kube-objects/metadata";

const maxLength = 63;
const suffixLength = 12;
const attempts = 10;

/**
 * The name of a new composed resource. It follows from its owner and its name in the pipeline alone, so that a resource
 * deleted behind our back returns under the same name, and a crash never leaves two.
 */
export function composedName(prefix: string, ownerUid: string, resourceName: string): string {
  const suffix = createHash("sha256").update(`${ownerUid}${resourceName}`).digest("hex").slice(0, suffixLength);
  const base = prefix === "" || prefix.endsWith("-") ? prefix : `${prefix}-`;
  if (base.length + suffixLength <= maxLength) return base + suffix;
  const room = maxLength - suffixLength;
  const cut = base.slice(0, room);
  return (cut.endsWith("-") ? cut : `${cut.slice(0, room - 1)}-`) + suffix;
}

/** Whether a name is in use. */
type NameTaken = (name: string) => Promise<boolean>;

/** A random unused name, generated as API servers do. Throws after ten attempts. */
export async function unusedName(base: string, taken: NameTaken, random?: RandomInteger): Promise<string> {
  for (let attempt = 0; attempt < attempts; attempt++) {
    const name = generateName(base, random);
    if (!(await taken(name))) return name;
  }
  throw new Error("cannot generate a name for a resource");
}
