// SPDX-License-Identifier: Apache-2.0
import { lstat } from "node:fs/promises";
import { join, resolve } from "node:path";
import {
  bundleCommand,
  bundleFunction,
  bundlePath,
  fileEntry,
  folderEntries,
  isPackageError,
  type LayerEntry,
  type Platform,
  type ProcessConfig,
  runtimeLabel,
  type WrittenLayer,
} from "@purlin/oci";
import { explain } from "../files/read-text.ts";
import type { Io } from "../io.ts";
import { UserError } from "../user-error.ts";
import { type Base, openBase } from "./base-image.ts";
import type { Workspace } from "./xpkg-workspace.ts";

/** What the user said about what runs. */
export interface RuntimeRequest {
  readonly function?: string | undefined;
  readonly root?: string | undefined;
  readonly entrypoint?: readonly string[] | undefined;
  readonly base?: string | undefined;
  readonly platform: Platform;
}

/** The part of an image that runs. */
export interface ImageRuntime {
  readonly process: ProcessConfig;
  readonly base: readonly WrittenLayer[];
  readonly layers: readonly (AsyncIterable<LayerEntry> | Iterable<LayerEntry>)[];
  readonly labels: Readonly<Record<string, string>>;
  readonly warnings: readonly string[];
  /** What runs, for people; undefined when nothing does. */
  readonly title: string | undefined;
}

/** Who a function runs as unless the base says so: anybody but root. */
const plainUser = "2000";
const programFolders = ["usr/local/sbin", "usr/local/bin", "usr/sbin", "usr/bin", "sbin", "bin"];

/** Puts together what runs. */
export async function imageRuntime(request: RuntimeRequest, workspace: Workspace, io: Io): Promise<ImageRuntime> {
  refuseContradictions(request);
  const base = await openBase(request, workspace, io);
  if (request.function !== undefined) return functionRuntime(request.function, base, io);
  const { root } = request;
  const entrypoint = request.entrypoint ?? base.process.entrypoint;
  const cmd = request.entrypoint === undefined ? base.process.cmd : [];
  const [program] = [...entrypoint, ...cmd];
  const isUsed = root !== undefined || request.base !== undefined;
  if (isUsed && program === undefined) {
    throw new UserError(
      "nothing says how the program is started: add --entrypoint, such as --entrypoint /bin/function",
    );
  }
  if (root !== undefined) await requireFolder(root, io);
  const folders = [...(root === undefined ? [] : [root]), ...base.folders];
  if (program !== undefined && base.isKnown) await requireProgram(program, folders, io);
  return {
    process: { ...withUser(base.process), entrypoint, cmd },
    base: base.layers,
    layers: [...base.entries, ...(root === undefined ? [] : [folderEntries(resolve(io.cwd, root))])],
    labels: {},
    warnings: [],
    title: program === undefined ? undefined : [...entrypoint, ...cmd].join(" "),
  };
}

function refuseContradictions({ function: file, root, entrypoint, base }: RuntimeRequest): void {
  if (file !== undefined && root !== undefined) {
    throw new UserError("--function and --root exclude each other: what a function runs on is its --base", {
      exitCode: 2,
    });
  }
  if (file !== undefined && entrypoint !== undefined) {
    throw new UserError("--entrypoint is for --root: a function is started by what it is bundled with", {
      exitCode: 2,
    });
  }
  if (entrypoint !== undefined && root === undefined && base === undefined) {
    throw new UserError("--entrypoint needs the program it starts: add --root or --base", { exitCode: 2 });
  }
}

async function functionRuntime(file: string, base: Base, io: Io): Promise<ImageRuntime> {
  const path = resolve(io.cwd, file);
  const { code, warnings } = await bundleFunction(path).catch((error: unknown) => {
    if (!isPackageError(error)) throw error;
    throw new UserError(error.message.replace(path, file), { cause: error });
  });
  if (base.isKnown && base.isGiven) await requireProgram(bundleCommand[0] ?? "", base.folders, io);
  return {
    process: { ...withUser(base.process), entrypoint: bundleCommand, cmd: [] },
    base: base.layers,
    layers: [...base.entries, [fileEntry(bundlePath, code)]],
    labels: base.isGiven ? {} : { [runtimeLabel]: "node" },
    warnings,
    title: `${file}, bundled${base.isGiven ? "" : "; runs on Purlin's own Node"}`,
  };
}

function withUser(process: ProcessConfig): ProcessConfig {
  const isRoot = ["", "0", "root"].includes(process.user.split(":")[0] ?? "");
  return isRoot ? { ...process, user: plainUser } : process;
}

async function requireFolder(folder: string, io: Io): Promise<void> {
  const found = await lstat(resolve(io.cwd, folder)).catch((error: unknown) => {
    throw new UserError(`--root ${folder}: ${explain(error)}`, { cause: error });
  });
  if (!found.isDirectory()) throw new UserError(`--root ${folder}: expected a folder`);
}

/** Says now what would be a function that never starts. */
async function requireProgram(program: string, folders: readonly string[], io: Io): Promise<void> {
  const names = program.includes("/") ? [program] : programFolders.map((folder) => join(folder, program));
  for (const folder of folders) {
    for (const name of names) {
      const found = await lstat(join(resolve(io.cwd, folder), name)).catch(() => undefined);
      if (found?.isSymbolicLink() || (found?.isFile() && found.mode & 0o111)) return;
      if (found?.isFile()) throw new UserError(`${join(folder, name)} is not executable: chmod +x it`);
    }
  }
  const where = folders.join(" or ");
  throw new UserError(`${where}: there is no ${program} to start: put it there, or correct --entrypoint or --base`);
}
