// SPDX-License-Identifier: Apache-2.0
import { statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { setTimeout } from "node:timers/promises";
import type { Io } from "../io.ts";
import { isUserError, UserError } from "../user-error.ts";
import { watchFolder } from "./watch-files.ts";

/** Editors save in several steps. */
const settleMs = 30;

/** What is done on each save. */
interface SavedWork {
  run(): Promise<unknown>;
  /** Gets what runs it without a save. */
  onStart?(wake: () => void): void;
}

/** Runs now and on each save in the folders of these paths, until the command is stopped. Errors of the user do not end it. */
export async function runOnSaves(paths: readonly string[], io: Io, work: SavedWork): Promise<number> {
  const { signal } = io;
  let changed = Promise.withResolvers<void>();
  using watching = new DisposableStack();
  const folders = new Set(paths.map((path) => folderOf(path, io)));
  for (const folder of folders) watching.use(watchFolder(folder, () => changed.resolve()));
  let isWoken = false;
  work.onStart?.(() => {
    isWoken = true;
    changed.resolve();
  });
  signal.addEventListener("abort", () => changed.resolve(), { once: true });
  while (!signal.aborted) {
    isWoken = false;
    await work.run().catch((error: unknown) => {
      if (signal.aborted) return;
      if (!isUserError(error)) throw error;
      io.stdout.write(`error: ${error.message}\n`);
    });
    // What the run itself wrote, such as golden files, does not start another run.
    changed = Promise.withResolvers();
    if (signal.aborted || isWoken) continue;
    await changed.promise;
    if (!isWoken) await setTimeout(settleMs);
  }
  return 0;
}

function folderOf(path: string, { cwd }: Io): string {
  if (path === "-")
    throw new UserError("--watch: standard input cannot be watched: name a file or folder", { exitCode: 2 });
  const absolute = resolve(cwd, path);
  return statSync(absolute, { throwIfNoEntry: false })?.isDirectory() === true ? absolute : dirname(absolute);
}
