// SPDX-License-Identifier: Apache-2.0
import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import type { Io } from "../io.ts";
import { findManifests } from "../manifests/find-manifests.ts";
import { type Manifest, type ReadManifestsOptions, readManifests } from "../manifests/manifest.ts";

/** All manifests, and those to apply. */
export interface FileChanges {
  readonly all: readonly Manifest[];
  /** Those of files that were saved since they were last applied, or were not applied completely. */
  readonly changed: readonly Manifest[];
  /** The files of these. */
  readonly files: readonly string[];
}

/** The files of a control plane's manifests. */
export interface FollowedFiles {
  /** Reads all of them. */
  read(): Promise<FileChanges>;
  /** Whether a file was saved, added or removed since they were last read. */
  isStale(): Promise<boolean>;
  /** Called when changes have been applied, with the files of which not everything was. */
  applied(changes: FileChanges, failed: ReadonlySet<string>): void;
}

/** Follows files by the time of their last change: a save without a change applies a file again, too. */
export function followFiles(paths: readonly string[], io: Io, options: ReadManifestsOptions): FollowedFiles {
  let known: ReadonlyMap<string, string> = new Map();
  let current: ReadonlyMap<string, string> = new Map();
  let said = "";
  const onSkipped = (files: readonly string[]): void => {
    const text = files.join("\n");
    if (text !== said) options.onSkipped?.(files);
    said = text;
  };
  return {
    async read() {
      const stamps = new Map<string, string>();
      // Before they are read: a file that is saved meanwhile has another stamp the next time.
      const onFile = async (file: string): Promise<void> => void stamps.set(file, await stampOf(resolve(io.cwd, file)));
      const all = await readManifests(paths, io, { ...options, onSkipped, onFile });
      current = stamps;
      const changed = all.filter(({ file }) => known.get(file) !== stamps.get(file));
      return { all, changed, files: [...new Set(changed.map(({ file }) => file))] };
    },
    async isStale() {
      const found = await findManifests(paths, io, options).catch(() => []);
      if (found.length !== current.size) return true;
      for (const file of found) if ((await stampOf(resolve(io.cwd, file))) !== current.get(file)) return true;
      return false;
    },
    applied({ files }, failed) {
      const next = new Map([...known].filter(([file]) => current.has(file)));
      for (const file of files) {
        const stamp = current.get(file);
        if (failed.has(file) || stamp === undefined) next.delete(file);
        else next.set(file, stamp);
      }
      known = next;
    },
  };
}

async function stampOf(path: string): Promise<string> {
  try {
    const { mtimeMs, size, ino } = await stat(path);
    return `${mtimeMs}/${size}/${ino}`;
  } catch {
    // Gone since it was found; reading it will say so.
    return "";
  }
}
