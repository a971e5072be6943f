// SPDX-License-Identifier: Apache-2.0
import { join, matchesGlob, relative, sep } from "node:path";
import { readTextIfThere } from "../files/read-text.ts";

/** The file that lists what is not a manifest. */
export const ignoreFileName = ".purlinignore";

/** Whether a file or folder is left out. `path` is absolute. */
export type Ignores = (path: string, isFolder: boolean) => boolean;

/** One line of an ignore file. */
export interface IgnoreRule {
  /** Where the ignore file is. */
  readonly folder: string;
  readonly glob: string;
  readonly foldersOnly: boolean;
  readonly isNegated: boolean;
}

/** The rules of the folders above, followed by those of the ignore file in this folder. */
export async function readIgnoreFile(folder: string, above: readonly IgnoreRule[]): Promise<readonly IgnoreRule[]> {
  const file = join(folder, ignoreFileName);
  const text = (await readTextIfThere(file, file)) ?? "";
  const lines = text.split("\n").map((line) => line.trim());
  const rules = lines.filter((line) => line !== "" && !line.startsWith("#")).map((line) => ruleOf(line, folder));
  return rules.length === 0 ? above : [...above, ...rules];
}

/** As in a .gitignore: a pattern with a slash is seen from its folder, one without matches at any depth; the last match decides. */
function ruleOf(line: string, folder: string): IgnoreRule {
  const isNegated = line.startsWith("!");
  const written = isNegated ? line.slice(1) : line;
  const foldersOnly = written.endsWith("/");
  const pattern = foldersOnly ? written.slice(0, -1) : written;
  const glob = pattern.includes("/") ? pattern.replace(/^\//, "") : `**/${pattern}`;
  return { folder, glob, foldersOnly, isNegated };
}

/** Applies rules to files and folders. */
export function ignoring(rules: readonly IgnoreRule[]): Ignores {
  return (path, isFolder) => {
    const last = rules.findLast((rule) => (isFolder || !rule.foldersOnly) && matches(rule, path));
    return last !== undefined && !last.isNegated;
  };
}

function matches({ folder, glob }: IgnoreRule, path: string): boolean {
  const inside = relative(folder, path).split(sep).join("/");
  return !inside.startsWith("..") && matchesGlob(inside, glob);
}
