// SPDX-License-Identifier: Apache-2.0
import { lstatSync, realpathSync, type Stats, statSync } from "node:fs";
import { dirname, isAbsolute, join } from "node:path";

/** The environment variable that names the sandbox program, or turns the sandbox off with `none`. */
export const sandboxVariable = "PURLIN_SANDBOX";

/** The path of a program, or why none can be used. */
type FoundProgram = { readonly path: string } | { readonly reason: string };

type Environment = Readonly<Record<string, string | undefined>>;

/** Where systems install bubblewrap. A PATH may leave some of them out: that of a service, a cron job or a minimal shell. */
const systemFolders: readonly string[] = [
  "/usr/bin",
  "/usr/local/bin",
  "/bin",
  "/usr/sbin",
  "/usr/local/sbin",
  "/sbin",
  "/run/wrappers/bin",
  "/run/current-system/sw/bin",
  "/usr/libexec",
];

/**
 * Finds bubblewrap in absolute folders of the PATH, then where systems install it. A program that another user of the machine could have put
 * there or could replace is not used: it would run as this user.
 */
export function findBwrap(env: Environment): FoundProgram {
  const chosen = env[sandboxVariable];
  if (chosen === "none") return { reason: `${sandboxVariable}=none` };
  return chosen ? checkChosen(chosen) : findProgram("bwrap", env);
}

/** The same for any program of the system. */
export function findProgram(name: string, env: Environment): FoundProgram {
  const folders = [...(env["PATH"] ?? "").split(":").filter(isAbsolute), ...systemFolders];
  let refusal: string | undefined;
  for (const folder of new Set(folders)) {
    const path = join(folder, name);
    if (!isProgram(path)) continue;
    const danger = dangerOf(path);
    if (danger === undefined) return { path };
    refusal ??= `${path} is not used: ${danger}`;
  }
  return { reason: refusal ?? `${name} is not installed` };
}

function checkChosen(path: string): FoundProgram {
  if (!isAbsolute(path)) return { reason: `${sandboxVariable} must be an absolute path or none, not "${path}"` };
  if (!isProgram(path)) return { reason: `${sandboxVariable} names ${path}, which is not a program` };
  const danger = dangerOf(path);
  return danger === undefined ? { path } : { reason: `${path} is not used: ${danger}` };
}

function isProgram(path: string): boolean {
  try {
    const found = statSync(path);
    return found.isFile() && (found.mode & 0o111) !== 0;
  } catch {
    // Not found, or no permission to read the folder.
    return false;
  }
}

/** How another user could change what runs from a path; undefined when no user can. */
function dangerOf(path: string): string | undefined {
  const isSystem = systemFolders.includes(dirname(path));
  const real = realpathSync(path);
  const program = statSync(real);
  if (!isTrusted(program, isSystem)) return `it belongs to user ${program.uid}`;
  if (isWritableByOthers(program)) return "other users can write to it";
  if (!isTrusted(lstatSync(path), isSystem)) return `the link belongs to user ${lstatSync(path).uid}`;
  for (const folder of [...foldersAbove(path), ...foldersAbove(real)]) {
    const found = statSync(folder);
    if (!isTrusted(found, isSystem)) return `its folder ${folder} belongs to user ${found.uid}`;
    // In a folder with the sticky bit, others cannot replace what is not theirs.
    const isOpen = (found.mode & 0o002) !== 0 && (found.mode & 0o1000) === 0;
    if (isOpen) return `other users can write to its folder ${folder}`;
  }
  return undefined;
}

/** In a user namespace, files of the system's root may appear as those of an unknown user, the one that "/" then belongs to. */
function isTrusted({ uid }: Stats, isSystem: boolean): boolean {
  return uid === 0 || uid === process.geteuid?.() || (isSystem && uid === statSync("/").uid);
}

function isWritableByOthers({ mode, gid }: Stats): boolean {
  const isOwnGroup = gid === 0 || gid === process.getegid?.();
  return (mode & 0o002) !== 0 || ((mode & 0o020) !== 0 && !isOwnGroup);
}

function foldersAbove(path: string): string[] {
  const folder = dirname(path);
  return folder === path ? [] : [folder, ...foldersAbove(folder)];
}
