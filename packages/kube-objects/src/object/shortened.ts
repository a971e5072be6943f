// SPDX-License-Identifier: Apache-2.0
import { Buffer } from "node:buffer";

/** The longest message of a condition or an event: functions and users write parts of it. */
export const longestMessage = 32_768;

/** A message cut to what conditions and events can hold. */
export function shortened(message: string): string {
  // A character is at least one byte: what is long for certain is neither counted nor encoded as a whole.
  if (message.length <= longestMessage && Buffer.byteLength(message) <= longestMessage) return message;
  const bytes = Buffer.from(message.slice(0, longestMessage)).subarray(0, longestMessage - 4);
  // A character that was cut in two becomes a replacement character, which is cut off.
  return `${bytes.toString().replace(/\uFFFD{1,3}$/, "")}…`;
}
