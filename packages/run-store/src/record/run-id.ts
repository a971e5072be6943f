// SPDX-License-Identifier: Apache-2.0

import { randomBytes } from "node:crypto";

const alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const timeDigits = 10;
const randomDigits = 16;

/** Makes identifiers of 26 characters that sort by time; those of one millisecond sort in the order in which they were made. */
export function createRunIds(random: (bytes: number) => Uint8Array = randomBytes): (timeMs: number) => string {
  let lastMs = -1;
  let tail: number[] = [];
  return (timeMs) => {
    if (timeMs <= lastMs) increment(tail);
    else {
      lastMs = timeMs;
      tail = [...random(randomDigits)].map((byte) => byte % alphabet.length);
    }
    return timeText(lastMs) + tail.map((digit) => alphabet[digit]).join("");
  };
}

function timeText(timeMs: number): string {
  let text = "";
  for (let rest = Math.floor(timeMs), i = 0; i < timeDigits; i++) {
    text = `${alphabet[rest % alphabet.length]}${text}`;
    rest = Math.floor(rest / alphabet.length);
  }
  return text;
}

function increment(digits: number[]): void {
  for (let i = digits.length - 1; i >= 0; i--) {
    const next = ((digits[i] ?? 0) + 1) % alphabet.length;
    digits[i] = next;
    if (next !== 0) return;
  }
}
