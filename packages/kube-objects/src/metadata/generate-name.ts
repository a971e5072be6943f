// SPDX-License-Identifier: Apache-2.0
import { randomInt } from "node:crypto";

const maxNameLength = 63;
const randomLength = 5;
// No vowels, so no words; no characters that look alike.
const alphabet = "bcdfghjklmnpqrstvwxz2456789";

/** Picks an integer from 0 up to, and without, `max`. */
export type RandomInteger = (max: number) => number;

/** A name for metadata.generateName: its first 58 characters and five random ones. */
export function generateName(base: string, random: RandomInteger = randomInt): string {
  let name = base.slice(0, maxNameLength - randomLength);
  for (let i = 0; i < randomLength; i++) name += alphabet.charAt(random(alphabet.length));
  return name;
}
