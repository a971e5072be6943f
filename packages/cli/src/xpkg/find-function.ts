// SPDX-License-Identifier: Apache-2.0
import { existsSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { readText } from "../files/read-text.ts";
import type { Io } from "../io.ts";
import { textOf, UserError } from "../user-error.ts";

/** Where `purlin function init` puts the function. */
const usualFile = "src/function.ts";

/** The file that exports the function of a project, as the user would write it; undefined where no project says so. */
export async function findFunction(folders: readonly string[], io: Io): Promise<string | undefined> {
  for (const folder of folders) {
    const project = resolve(io.cwd, folder);
    const manifest = join(project, "package.json");
    if (!existsSync(manifest)) continue;
    const shown = relative(io.cwd, manifest);
    const named = entryOf(parseManifest(await readText(shown, io, { what: "package manifest" }), shown));
    const file = resolve(project, named ?? usualFile);
    if (existsSync(file)) return relative(io.cwd, file) || file;
    if (named === undefined) continue;
    throw new UserError(
      `${shown}: it names ${named}, which is not there: correct it, or name the file with --function`,
    );
  }
  return undefined;
}

function parseManifest(text: string, shown: string): Record<string, unknown> {
  try {
    return (JSON.parse(text) ?? {}) as Record<string, unknown>;
  } catch (error) {
    throw new UserError(`${shown}: not valid JSON: ${textOf(error)}`, { cause: error });
  }
}

function entryOf({ exports, main }: Record<string, unknown>): string | undefined {
  return exportedFile(exports) ?? (typeof main === "string" ? main : undefined);
}

/** What `import` of the project would give. */
function exportedFile(exports: unknown): string | undefined {
  if (typeof exports === "string") return exports;
  if (typeof exports !== "object" || exports === null) return undefined;
  const choices = exports as Record<string, unknown>;
  for (const key of [".", "import", "node", "default"]) {
    const found = exportedFile(choices[key]);
    if (found !== undefined) return found;
  }
  return undefined;
}
