// SPDX-License-Identifier: Apache-2.0
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { printJson } from "@purlin/kube-objects/json";
import type { Io } from "../io.ts";
import { listed, type Manifest } from "../manifests/manifest.ts";
import { harmlessLine } from "../terminal/harmless.ts";
import type { Style } from "../terminal/style.ts";
import { textOf } from "../user-error.ts";

/** What refreshing types depends on. */
interface TypesRefresherDeps {
  /** The files and folders of the command line. */
  readonly paths: readonly string[];
  readonly io: Io;
  readonly style: Style;
  readonly say: (text: string) => void;
}

const folderName = "types";

/**
 * Makes the function that keeps generated types in step with the definitions of a project: those in the folder `types` of this folder
 * and of the folders of the command line. Where there is no such folder it does nothing. It never rejects.
 */
export function createTypesRefresher({ paths, io, style, say }: TypesRefresherDeps): () => Promise<void> {
  const folders = new Set(["", ...paths].map((path) => resolve(io.cwd, path, folderName)));
  const known = new Map<string, string>();
  const reported = new Map<string, string>();
  const refreshOne = async (folder: string): Promise<void> => {
    const { findProjectTypes, readDefinitions, writeProjectTypes } = await import("../types/project-types.ts");
    const project = await findProjectTypes(folder, io);
    if (project === undefined) return;
    const state = digestOf(await readDefinitions(project, io));
    if (known.get(folder) === state) return;
    const { written, removed } = await writeProjectTypes(project, io);
    known.set(folder, state);
    const changed = [...written, ...removed].map((file) => join(project.shown, file));
    if (changed.length > 0) say(`${style.good("✓")} refreshed ${listed(changed)}`);
  };
  return async () => {
    for (const folder of folders) {
      // The generator is loaded only where it is needed.
      if (!existsSync(join(folder, "meta"))) continue;
      try {
        await refreshOne(folder);
        reported.delete(folder);
      } catch (error) {
        const problem = harmlessLine(textOf(error));
        // The same mistake is reported once.
        if (io.signal.aborted || reported.get(folder) === problem) continue;
        reported.set(folder, problem);
        say(`${style.doubtful("!")} types not refreshed: ${problem}`);
      }
    }
  };
}

function digestOf(definitions: readonly Manifest[]): string {
  const hash = createHash("sha256");
  for (const { object } of definitions) hash.update(`${printJson(object)}\n`);
  return hash.digest("base64");
}
