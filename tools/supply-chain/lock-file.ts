// SPDX-License-Identifier: Apache-2.0
import { readFileSync } from "node:fs";

/** One package of the lock file. */
export interface LockedPackage {
  readonly version?: string;
  readonly resolved?: string;
  readonly integrity?: string;
  readonly license?: string;
  readonly link?: boolean;
  readonly dev?: boolean;
  readonly optional?: boolean;
  readonly devOptional?: boolean;
  readonly hasInstallScript?: boolean;
  readonly os?: readonly string[];
  readonly cpu?: readonly string[];
  readonly libc?: readonly string[];
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

/** The packages of the lock file by their folder below the root; the root itself is "". */
export type LockFile = Readonly<Record<string, LockedPackage>>;

const folder = "node_modules/";

/** Reads the lock file of the repository. */
export function readLockFile(): LockFile {
  const path = new URL("../../package-lock.json", import.meta.url);
  return (JSON.parse(readFileSync(path, "utf8")) as { readonly packages: LockFile }).packages;
}

/** The packages that come from a registry. */
export function fetchedPackages(lock: LockFile): ReadonlyArray<readonly [path: string, locked: LockedPackage]> {
  return Object.entries(lock).filter(([path, { link = false }]) => path.includes(folder) && !link);
}

/** `@a/b` of `x/node_modules/@a/b`. */
export function packageName(path: string): string {
  return path.slice(path.lastIndexOf(folder) + folder.length);
}

/** Where a package finds one it needs, as Node looks for it. */
export function resolvePath(lock: LockFile, from: string, name: string): string | undefined {
  for (let at = from; ; at = at.slice(0, Math.max(0, at.lastIndexOf(`/${folder}`)))) {
    const path = at === "" ? `${folder}${name}` : `${at}/${folder}${name}`;
    if (path in lock) return path;
    if (at === "") return undefined;
  }
}
