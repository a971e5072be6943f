// SPDX-License-Identifier: Apache-2.0
// Texts that others cut before a run is recorded: what is left of a secret at the end of one is not a whole form of it.

import { Buffer } from "node:buffer";
import { longestMessage } from "@purlin/kube-objects/object";

/** With what a text ends that was cut. */
const ellipsis = "…";
const cutMark: Buffer = Buffer.from(ellipsis);

/** How many bytes the end of such a text has. */
export const cutBytes: number = cutMark.length;

/** Fewer bytes than a message has that was cut: not all of the limit is used, so that no character is cut in two. */
const leastCutBytes = longestMessage - 64;

/** Whether a text ends as a message of a condition or an event does that was too long. */
export function isCutText(text: string): boolean {
  return text.length * 3 >= leastCutBytes && text.endsWith(ellipsis) && Buffer.byteLength(text) >= leastCutBytes;
}

/** Whether such a text may be in encoded bytes. */
export function mayHoldCutText({ buffer, byteOffset, byteLength }: Uint8Array): boolean {
  return byteLength >= leastCutBytes && Buffer.from(buffer, byteOffset, byteLength).includes(cutMark);
}
