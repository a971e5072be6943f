// SPDX-License-Identifier: Apache-2.0
import { mkdir, rm } from "node:fs/promises";
import { dirname } from "node:path";

/** A path for a socket that nobody else uses. */
export interface TakenSocket {
  readonly path: string;
  /** Gives it back. */
  readonly dispose: () => Promise<void>;
}

const taken = new Set<string>();
/** Where each function listened last. */
const last = new Map<string, string>();

/**
 * Takes the socket of a function: the one it had last, so that whoever calls while it is started again waits there; another
 * one while that is in use, as a process that is replaced serves until the new one does.
 */
export async function takeSocket(wanted: string): Promise<TakenSocket> {
  const path = freePath(wanted);
  taken.add(path);
  last.set(wanted, path);
  try {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    // What a process that was killed left behind would be in the way.
    await rm(path, { force: true });
  } catch (error) {
    giveBack(wanted, path);
    throw error;
  }
  return {
    path,
    async dispose() {
      await rm(path, { force: true });
      giveBack(wanted, path);
    },
  };
}

function giveBack(wanted: string, path: string): void {
  taken.delete(path);
  if (last.get(wanted) === wanted) last.delete(wanted);
}

function freePath(wanted: string): string {
  const known = last.get(wanted) ?? wanted;
  if (!taken.has(known)) return known;
  for (let number = 0; ; number++) {
    const path = number === 0 ? wanted : `${wanted}.${number}`;
    if (!taken.has(path)) return path;
  }
}
