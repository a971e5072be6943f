// SPDX-License-Identifier: Apache-2.0
import { randomUUID } from "node:crypto";
import { createWriteStream, existsSync } from "node:fs";
import { mkdir, readdir, rename, rm } from "node:fs/promises";
import { basename, dirname, join, relative, resolve } from "node:path";
import { pipeline } from "node:stream/promises";
import { isStoreError, restoreSnapshot, takeDataDirectory } from "@purlin/kube-apiserver";
import { commandName } from "../command-name.ts";
import { makeFolder } from "../files/write-files.ts";
import type { Io } from "../io.ts";
import { type CommandInput, isSet } from "../options/command-spec.ts";
import { printData, readOutput } from "../options/data-output.ts";
import { ownDataDir } from "../project/project-file.ts";
import { createStyle } from "../terminal/style.ts";
import { isUserError, textOf, UserError } from "../user-error.ts";
import { type BackupFacts, readBackup, storeName } from "./backup-archive.ts";

/** `purlin restore FILE` */
export async function run(input: CommandInput, io: Io): Promise<undefined> {
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

/** A control plane that runs there would go on with files that were moved away. */
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
    async (name, content) => {
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
