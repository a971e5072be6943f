// SPDX-License-Identifier: Apache-2.0
// Stored inputs: `corpus/<target>/<name>`. Each is run by the unit suite.
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Target } from "./target.ts";

/** One stored input. */
export interface StoredInput {
  readonly name: string;
  readonly bytes: Buffer;
}

const folderOf = (target: string): string => fileURLToPath(new URL(`../corpus/${target}/`, import.meta.url));

/** The stored inputs of a target. */
export function readCorpus(target: string): StoredInput[] {
  const folder = folderOf(target);
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .sort()
    .map((name) => ({ name, bytes: readFileSync(`${folder}${name}`) }));
}

/** The seeds a target declares and its stored inputs. */
export function allInputs(name: string, target: Target): StoredInput[] {
  const seeds = target.seeds.map((seed, index) => ({ name: `seed ${index}`, bytes: Buffer.from(seed) }));
  return [...seeds, ...readCorpus(name)];
}

/** Stores an input that broke a property, or one that reached code that no other did. Returns its path. */
export function saveInput(target: string, kind: string, bytes: Uint8Array): string {
  const folder = folderOf(target);
  mkdirSync(folder, { recursive: true });
  const path = `${folder}${kind}-${createHash("sha256").update(bytes).digest("hex").slice(0, 12)}`;
  writeFileSync(path, bytes);
  return path;
}
