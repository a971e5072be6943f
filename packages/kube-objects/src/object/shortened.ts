// SPDX-License-Identifier: Apache-2.0
import { Buffer } from "node:buffer";

/** As much as a condition or an event takes; others write what goes into them, and whoever reads wants to read it all. */
const longestMessage = 32_768;

/** A message cut to what conditions and events can hold. */
export function shortened(message: string): string {
  // A character is at least one byte: what is long for certain is neither counted nor encoded as a whole.
  if (message.length <= longestMessage && Buffer.byteLength(message) <= longestMessage) return message;
  const bytes = Buffer.from(message.slice(0, longestMessage)).subarray(0, longestMessage - 4);
  // A character that was cut in two becomes a replacement character, which is cut off.
  return `${bytes.toString().replace(/\uFFFD{1,3}$/, "")}…`;
}
