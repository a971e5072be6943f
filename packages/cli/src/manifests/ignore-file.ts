// SPDX-License-Identifier: Apache-2.0

import { join, relative, resolve, sep } from "node:path";
import { inTurns, type Work } from "@purlin/base";
import { expandBraces, parseGlob } from "../files/glob.ts";
import { readTextIfThere } from "../files/read-text.ts";
import { isUserError, UserError } from "../user-error.ts";

/** The file that lists what is not a manifest. */
const ignoreFileName = ".purlinignore";

/** Whether a name is that of an editor's lock file: Emacs keeps one, which links to nothing, for each file with unsaved changes. */
export function isEditorLock(name: string): boolean {
  return name.startsWith(".#");
}

/** Rules count for each file of the folder and of those below: more of them are a mistake. */
const maxRules = 10_000;
/** Longer than any path. */
const maxRuleLength = 4096;
const maxBytes = 1024 * 1024;
/** What braces stand for, in all patterns of a file. */
const maxExpanded = 1024 * 1024;

/** The rules of a folder for itself and what is below it. */
export interface IgnoreFile {
  readonly folder: string;
  readonly rules: readonly IgnoreRule[];
  /** The nearest one of a folder above. */
  readonly above: IgnoreFile | undefined;
}

/** One line of an ignore file. */
interface IgnoreRule {
  readonly matches: (path: string) => boolean;
  readonly foldersOnly: boolean;
  readonly isNegated: boolean;
}

/** The ignore file of a folder; the one above where it has none. */
export async function readIgnoreFile(folder: string, above: IgnoreFile | undefined): Promise<IgnoreFile | undefined> {
  const file = join(folder, ignoreFileName);
  const text = (await readTextIfThere(file, file, { maxBytes })) ?? "";
  const rules = await inTurns(rulesOf(text, file));
  return rules.length === 0 ? above : { folder, rules, above };
}

/** The ignore files of the folders from the working directory down to the parent of a folder; none outside of it. */
export async function ignoreFilesAbove(folder: string, cwd: string): Promise<IgnoreFile | undefined> {
  const below = relative(cwd, folder).split(sep);
  if (below[0] === "..") return undefined;
  let found: IgnoreFile | undefined;
  for (let depth = 0; depth < below.length; depth++) {
    const above = resolve(cwd, ...below.slice(0, depth));
    if (above !== folder) found = await readIgnoreFile(above, found);
  }
  return found;
}

/** Whether a file or folder is left out. `path` is absolute. The last rule that matches decides. */
export function* isIgnored(nearest: IgnoreFile | undefined, path: string, isFolder: boolean): Work<boolean> {
  for (let file = nearest; file !== undefined; file = file.above) {
    const inside = relative(file.folder, path).split(sep).join("/");
    for (let at = file.rules.length - 1; at >= 0; at--) {
      yield;
      const rule = file.rules[at] as IgnoreRule;
      if ((isFolder || !rule.foldersOnly) && rule.matches(inside)) return !rule.isNegated;
    }
  }
  return false;
}

function* rulesOf(text: string, file: string): Work<IgnoreRule[]> {
  const rules: IgnoreRule[] = [];
  let number = 0;
  let expanded = 0;
  for (const line of text.split("\n")) {
    number++;
    const written = line.trim();
    if (written === "" || written.startsWith("#")) continue;
    if (written.length > maxRuleLength) {
      throw new UserError(`${file}:${number}: a pattern has at most ${maxRuleLength} characters: shorten it`);
    }
    if (rules.length === maxRules) {
      throw new UserError(`${file}:${number}: more than ${maxRules} patterns: use * or name folders instead of files`);
    }
    const { rule, size } = inLine(`${file}:${number}`, () => ({ rule: ruleOf(written), size: expandedSize(written) }));
    expanded += size;
    if (expanded > maxExpanded) {
      throw new UserError(`${file}:${number}: braces stand for more than ${maxExpanded} characters: use * instead`);
    }
    rules.push(rule);
    yield;
  }
  return rules;
}

/** An error in a pattern says where it is. */
function inLine<T>(place: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!isUserError(error)) throw error;
    throw new UserError(`${place}: ${error.message}`, { cause: error });
  }
}

function expandedSize(pattern: string): number {
  return pattern.includes("{") ? expandBraces(pattern).reduce((sum, { length }) => sum + length, 0) : 0;
}

/** As in a .gitignore: a pattern with a slash is seen from its folder, one without matches at any depth. */
function ruleOf(line: string): IgnoreRule {
  // Shells read this as everything else, and a .gitignore as what is kept.
  if (line.startsWith("!(")) parseGlob(line);
  const isNegated = line.startsWith("!");
  const written = (isNegated ? line.slice(1) : line).replaceAll(/\/{2,}/g, "/");
  const foldersOnly = written.endsWith("/");
  const pattern = foldersOnly ? written.slice(0, -1) : written;
  const glob = pattern.includes("/") ? pattern.replace(/^\//, "") : `**/${pattern}`;
  return { matches: parseGlob(glob), foldersOnly, isNegated };
}
