// SPDX-License-Identifier: Apache-2.0

import { mkdtempSync, rmSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { openStore, type StoreOptions } from "../../src/store/open-store.ts";
import type { Change, Codec, Entry, Store, Watch } from "../../src/store/store.ts";

/** A value for tests. */
export interface Note {
  readonly text: string;
}

export const noteCodec: Codec<Note> = {
  encode: (note) => Buffer.from(JSON.stringify(note)),
  decode: (bytes) => Object.freeze(JSON.parse(Buffer.from(bytes).toString()) as Note),
};

const directories: string[] = [];
process.once("exit", () => {
  for (const directory of directories) rmSync(directory, { recursive: true, force: true });
});

/**
 * A directory that is removed when the process ends. Not `after`: called in a hook, that runs at the end of the hook,
 * and a store refuses writes once its directory is removed.
 */
export function tempDirectory(parent: string = tmpdir()): string {
  const directory = mkdtempSync(join(parent, "purlin-store-"));
  directories.push(directory);
  return directory;
}

const memory = "/dev/shm";
const neededBytes = 2 ** 30;

/**
 * A directory for a server whose disk is not what the test is about. It lies in memory where there is plenty of it: a commit then does not
 * wait for the disk, which is half the time of many tests.
 */
export function serverDirectory(): string {
  try {
    const { bavail, bsize } = statfsSync(memory);
    if (bavail * bsize > neededBytes) return tempDirectory(memory);
  } catch {
    // Not on this system, or not ours to write.
  }
  return tempDirectory();
}

export function openNotes(options: Partial<StoreOptions<Note>> = {}): Store<Note> {
  return openStore<Note>({ directory: options.directory ?? tempDirectory(), codec: noteCodec, ...options });
}

/** Writes the text, or deletes the key when there is none. */
export async function put(store: Store<Note>, key: string, text: string | undefined): Promise<Entry<Note> | undefined> {
  const { entry } = await store.write(key, () =>
    text === undefined ? { action: "delete" } : { action: "put", value: { text } },
  );
  return entry;
}

/** "key=text@revision" for each entry of a list. */
export function show(entries: readonly Entry<Note>[]): string[] {
  return entries.map((entry) => `${entry.key}=${entry.value.text}@${entry.revision}`);
}

/** "+key", "~key" or "-key" with the new text, the old text and the revision. */
export function showChange(change: Change<Note>): string {
  const sign = change.entry === undefined ? "-" : change.previous === undefined ? "+" : "~";
  return `${sign}${change.key} ${change.previous?.value.text ?? ""}>${change.entry?.value.text ?? ""} @${change.revision}`;
}

/** Everything there is to take now. */
export function takeAll(watch: Watch<Note>, limit?: number): string[] {
  const shown: string[] = [];
  for (let changes = watch.take(limit); changes.length > 0; changes = watch.take(limit)) {
    shown.push(...changes.map(showChange));
  }
  return shown;
}
