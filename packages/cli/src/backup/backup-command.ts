// SPDX-License-Identifier: Apache-2.0

import { randomUUID } from "node:crypto";
import { createWriteStream, existsSync, lstatSync } from "node:fs";
import { mkdir, mkdtemp, readdir, rename, rm, stat, statfs } from "node:fs/promises";
import { basename, dirname, join, relative, resolve } from "node:path";
import { pipeline } from "node:stream/promises";
import {
  checkSnapshot,
  isStoreError,
  removeSnapshot,
  restoreSnapshot,
  type SnapshotSummary,
  snapshotFile,
  snapshotPath,
  takeDataDirectory,
  writeSnapshotOf,
} from "@purlin/kube-apiserver";
import { openCluster } from "../cluster/cluster-client.ts";
import { commandName, ownVersion } from "../command-name.ts";
import { makeFolder } from "../files/write-files.ts";
import type { Io } from "../io.ts";
import { type CommandInput, isSet } from "../options/command-spec.ts";
import { printData, readOutput } from "../options/data-output.ts";
import { currentDataDir, ownDataDir } from "../project/project-file.ts";
import { createStyle } from "../terminal/style.ts";
import { isUserError, textOf, UserError } from "../user-error.ts";
import {
  type ArchivedFile,
  type BackupFacts,
  type BackupFile,
  readBackup,
  sizeText,
  skip,
  storeName,
  writeBackup,
} from "./backup-archive.ts";

/** `purlin backup FILE` */
export async function backup(input: CommandInput, io: Io): Promise<undefined> {
  const output = readOutput(input, ["text", "json", "yaml"]);
  const [file = ""] = input.args;
  const target = resolve(io.cwd, file);
  const directory = currentDataDir(input, io);
  if (lstatSync(target, { throwIfNoEntry: false }) !== undefined)
    throw new UserError(`${file} exists: choose another name`);
  if (!existsSync(join(directory, "store.db"))) {
    const shown = relative(io.cwd, directory) || ".";
    throw new UserError(`${shown} is not the data directory of a control plane: choose one with --data-dir`);
  }
  try {
    const { size, objects, revision } = await backUp(directory, target, { input, io });
    if (output !== "text") {
      const facts = { file: target, objects, revision, bytes: size };
      return printData({ apiVersion: "cli.purlin.dev/v1", kind: "BackupReport", ...facts }, output, io);
    }
    const style = createStyle(io.stdout, io.env);
    io.stdout.write(
      `${style.good("✓")} ${file}: ${objects} objects at revision ${revision}, ${sizeText(size)}, verified\n`,
    );
  } catch (error) {
    if (isUserError(error)) throw error;
    throw new UserError(`cannot write ${file}: ${textOf(error)}`, { cause: error });
  }
}

interface Running {
  readonly input: CommandInput;
  readonly io: Io;
}

/** Writes beside the target and moves it there when it is complete and was read back. */
async function backUp(
  directory: string,
  target: string,
  running: Running,
): Promise<SnapshotSummary & { size: number }> {
  const { signal } = running.io;
  const partial = `${target}.partial`;
  await rm(partial, { force: true });
  // In the data directory: a snapshot can be large, and has the keys and Secrets of the control plane in it.
  await removeStale(directory);
  const folder = await mkdtemp(join(directory, `backup-${process.pid}-`));
  try {
    const snapshot = join(folder, storeName);
    await takeSnapshot(directory, snapshot, running);
    const summary = checkSnapshot(snapshot);
    const files = [{ name: storeName, path: snapshot }, ...(await backupFiles(directory))];
    const facts = { version: ownVersion(), created: new Date().toISOString(), ...summary };
    const size = await writeBackup(partial, { files, facts, signal });
    await readBackup(partial, ({ content }) => skip(content), signal);
    await rename(partial, target);
    return { ...summary, size };
  } finally {
    await rm(partial, { force: true });
    await rm(folder, { recursive: true, force: true });
  }
}

/** Removes the folders of backups that were killed: a name has the process that made it. */
async function removeStale(directory: string): Promise<void> {
  const names = await readdir(directory);
  const stale = names.filter((name) => {
    const [, pid] = /^backup-(\d+)-\w+$/.exec(name) ?? [];
    return pid !== undefined && !isAlive(Number(pid));
  });
  await Promise.all(stale.map((name) => rm(join(directory, name), { recursive: true, force: true })));
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== "ESRCH";
  }
}

/** Makes a snapshot of the store: by the server while one runs, else here. */
async function takeSnapshot(directory: string, target: string, running: Running): Promise<void> {
  const made = join(directory, snapshotFile);
  try {
    await writeSnapshotOf(directory);
  } catch (error) {
    if (!isStoreError(error) || error.code !== "locked") throw error;
    await askServer(directory, running);
  }
  await rename(made, target).catch((error: unknown) => {
    throw new UserError("another backup of this control plane ran at the same time: try again", { cause: error });
  });
  removeSnapshot(made);
}

async function askServer(directory: string, { input, io }: Running): Promise<void> {
  const own = { ...input, options: { ...input.options, dataDir: directory, kubeconfig: undefined } };
  await using cluster = await openCluster(own, io);
  await cluster.client.raw({ method: "POST", path: snapshotPath, signal: io.signal });
}

/** Files of a data directory that a backup holds, beside the store. */
const keptFiles = ["port", "applied.json", "folders.json"];

/** Folders that a backup holds. Unpacked images, logs, sockets and the certificates of function processes are made again at the next start. */
const keptFolders = ["pki", "function-client", "registry", "images"];

/** Whether a backup holds a file of this name: one that was made to be restored may hold programs and sockets. */
function isKept(name: string): boolean {
  return name === storeName || keptFiles.includes(name) || keptFolders.includes(name.slice(0, name.indexOf("/")));
}

/** Transfers in progress. */
const leftOut: ReadonlySet<string> = new Set(["registry/partial", "registry/uploads", "images/partial"]);

/** The files of a data directory that a backup holds, beside the store, in a stable order. */
export async function backupFiles(directory: string): Promise<BackupFile[]> {
  const files: BackupFile[] = [];
  for (const name of keptFiles) {
    const path = join(directory, name);
    if ((await stat(path).catch(() => undefined))?.isFile()) files.push({ name, path });
  }
  for (const name of keptFolders) files.push(...(await filesBelow(directory, name)));
  return files;
}

async function filesBelow(directory: string, folder: string): Promise<BackupFile[]> {
  if (leftOut.has(folder)) return [];
  const entries = await readdir(join(directory, folder), { withFileTypes: true }).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  });
  const files: BackupFile[] = [];
  for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    const name = `${folder}/${entry.name}`;
    if (entry.isDirectory()) files.push(...(await filesBelow(directory, name)));
    else if (entry.isFile() && !entry.name.endsWith(".partial")) files.push({ name, path: join(directory, name) });
  }
  return files;
}

/** `purlin restore FILE` */
export async function restore(input: CommandInput, io: Io): Promise<undefined> {
  const output = readOutput(input, ["text", "json", "yaml"]);
  const [file = ""] = input.args;
  const directory = ownDataDir(input, io);
  const shown = relative(io.cwd, directory) || ".";
  const aside = await checkTarget(directory, { shown, replaces: isSet(input, "replace") });
  const draft = join(dirname(directory), `.${basename(directory)}-${randomUUID().slice(0, 8)}`);
  try {
    const facts = await restoreTo(draft, resolve(io.cwd, file), io.signal);
    if (aside !== undefined) await rename(directory, aside);
    else await rm(directory, { recursive: true, force: true });
    await rename(draft, directory);
    if (output !== "text") return printData(restoreReport(facts, { directory, former: aside }), output, io);
    report(facts, { shown, aside: aside && relative(io.cwd, aside), io });
  } catch (error) {
    await rm(draft, { recursive: true, force: true });
    if (isUserError(error)) throw error;
    throw new UserError(`cannot restore ${file}: ${reasonOf(error)}`, { cause: error });
  }
}

/** Refuses a data directory that is in use or not empty. Returns where to move one that is to be replaced. */
async function checkTarget(
  directory: string,
  { shown, replaces }: { readonly shown: string; readonly replaces: boolean },
): Promise<string | undefined> {
  const names = await readdir(directory).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return [];
    throw new UserError(`cannot restore to ${shown}: ${textOf(error)}`, { cause: error });
  });
  if (names.length === 0) return undefined;
  if (!replaces) {
    throw new UserError(`${shown} is not empty: choose another --data-dir, or move it aside with --replace`);
  }
  refuseLocked(directory);
  for (let number = 1; ; number += 1) {
    const aside = `${directory}.before-restore${number === 1 ? "" : `-${number}`}`;
    if (!existsSync(aside)) return aside;
  }
}

/** A control plane that runs there would continue with files that were moved away. */
function refuseLocked(directory: string): void {
  try {
    takeDataDirectory(directory).release();
  } catch (error) {
    throw isStoreError(error) ? new UserError(error.message, { cause: error }) : error;
  }
}

async function restoreTo(draft: string, path: string, signal: AbortSignal): Promise<BackupFacts> {
  await makeFolder(draft, 0o700);
  const snapshot = join(draft, "restored.db");
  const facts = await readBackup(
    path,
    async ({ name, size, content }) => {
      if (!isKept(name)) throw new Error(`unexpected entry ${JSON.stringify(name)}`);
      await refuseWithoutSpace(draft, { name, size });
      const target = name === storeName ? snapshot : join(draft, name);
      await mkdir(dirname(target), { recursive: true, mode: 0o700 });
      await pipeline(content, createWriteStream(target, { mode: 0o600, flags: "wx", flush: true }), { signal });
    },
    signal,
  );
  if (!existsSync(snapshot)) throw new Error(`${storeName} is missing`);
  restoreSnapshot(snapshot, draft);
  await rm(snapshot);
  return facts;
}

/** The bytes that a restore leaves free on the disk. */
const reservedBytes = 64 * 1024 * 1024;

/** Refuses a file for which the disk has no room. The store is copied once more when all files are there. */
async function refuseWithoutSpace(draft: string, { name, size }: Omit<ArchivedFile, "content">): Promise<void> {
  const { bavail, bsize } = await statfs(draft);
  const [free, needed] = [bavail * bsize, name === storeName ? 2 * size : size];
  if (needed + reservedBytes <= free) return;
  const reserve = `${sizeText(reservedBytes)} stay free`;
  throw new Error(`${name} needs ${sizeText(needed)}, and the disk has ${sizeText(free)} free, of which ${reserve}`);
}

function reasonOf(error: unknown): string {
  const { code } = error as NodeJS.ErrnoException;
  if (code === "Z_BUF_ERROR" || /Unexpected end of data/.test(textOf(error)))
    return "the file is incomplete: copy it again";
  if (code?.startsWith("Z_")) return `the file is damaged or not a backup: ${textOf(error)}`;
  return textOf(error);
}

/** The document of a restore; `former` is where the data directory was moved that was there before. */
function restoreReport(
  { objects, revision, created, version }: BackupFacts,
  { directory, former }: { readonly directory: string; readonly former: string | undefined },
): object {
  const from = { objects, revision, created, version };
  const target = { directory, ...(former !== undefined && { former }) };
  return { apiVersion: "cli.purlin.dev/v1", kind: "RestoreReport", ...target, ...from };
}

interface Report {
  readonly shown: string;
  readonly aside: string | undefined;
  readonly io: Io;
}

function report({ objects, revision, created, version }: BackupFacts, { shown, aside, io }: Report): void {
  const style = createStyle(io.stdout, io.env);
  io.stdout.write(
    `${style.good("✓")} ${shown}: ${objects} objects at revision ${revision}, from a backup of ${created} by Purlin ${version}\n`,
  );
  if (aside !== undefined)
    io.stdout.write(`The former data directory is ${aside}. Delete it when it is no longer needed.\n`);
  io.stdout.write(`Start the control plane with "${commandName(io.env)} up".\n`);
}
