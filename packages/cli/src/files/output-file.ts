// SPDX-License-Identifier: Apache-2.0
import { constants, openSync, type Stats } from "node:fs";
import { lstat, open, readlink, realpath, rename, rm, stat } from "node:fs/promises";
import { Socket } from "node:net";
import { basename, dirname, join, resolve } from "node:path";
import { Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { Io, TextSink } from "../io.ts";
import { isUserError, textOf, UserError } from "../user-error.ts";
import { explain } from "./read-text.ts";

/** What is written to an output file: a string, or what a function writes to a stream and ends. */
type OutputContent = string | ((stream: Writable) => Promise<void>);

interface OutputOptions {
  readonly io: Io;
  /** The permissions of a new file: this user's alone unless given. */
  readonly mode?: number;
  /** Of the command when the file cannot be written. */
  readonly exitCode?: number;
}

/**
 * Writes a file that the user named on the command line. A regular file appears whole or not at all, behind a symbolic link too. What is
 * not a file gets the bytes: a pipe, a terminal or another device. Throws a UserError that says what is wrong and what to do. Returns
 * where the command prints its report: not to stdout when that may be where the content went.
 */
export async function writeOutput(
  path: string,
  content: OutputContent,
  { io, mode = 0o600, exitCode = 1 }: OutputOptions,
): Promise<TextSink> {
  try {
    const target = await findTarget(resolve(io.cwd, path));
    if (target.isFile) await writeWhole(target.path, content, mode);
    else await fill(await openThrough(target.path, target.found), target.path, content);
    return target.isFile ? io.stdout : io.stderr;
  } catch (error) {
    throw asUserError(error, { path, exitCode });
  }
}

/** Where a path leads that the user named. */
interface OpenOutput {
  /** The path behind symbolic links. */
  readonly path: string;
  /** Undefined for a regular file, and where one can be made. */
  readonly stream: Writable | undefined;
}

/** Opens a path that the user named if it is a pipe, a terminal or another device. Never waits for a reader. Throws as {@link writeOutput}. */
export async function openUnlessFile(path: string): Promise<OpenOutput> {
  try {
    const target = await findTarget(path);
    return { path: target.path, stream: target.isFile ? undefined : await openThrough(target.path, target.found) };
  } catch (error) {
    if (isSystemError(error) && error.syscall === "realpath") return { path, stream: undefined };
    throw asUserError(error, { path, exitCode: 1 });
  }
}

/** Why a path cannot be written, without the path. */
export function unwritableText(error: unknown): string {
  if (isUserError(error) && error.cause !== undefined) return unwritableText(error.cause);
  return isSystemError(error) ? why(error) : textOf(error);
}

function asUserError(
  error: unknown,
  { path, exitCode }: { readonly path: string; readonly exitCode: number },
): unknown {
  if (isUserError(error) || !isSystemError(error)) return error;
  return new UserError(`cannot write ${path}: ${why(error)}`, { cause: error, exitCode });
}

/** A regular file, or a path where one can be made; else what is there. */
type Target =
  | { readonly isFile: true; readonly path: string }
  | { readonly isFile: false; readonly path: string; readonly found: Stats };

/** As many links as Linux follows. */
const maxLinks = 40;

/** The folders with the open files of processes: /dev/stdout and what a shell passes for `>(command)` lead there. */
const descriptorFolder = /^\/(proc\/\d+(\/task\/\d+)?|dev)\/fd$/;

async function findTarget(named: string): Promise<Target> {
  let path = named;
  for (let links = 0; links <= maxLinks; links += 1) {
    const folder = await realpath(dirname(path));
    path = join(folder, basename(path));
    // Never replaced, even if it is a regular file: the shell may append to it.
    if (descriptorFolder.test(folder)) return { isFile: false, path, found: await stat(path) };
    const found = await lstat(path).catch(ignoreMissing);
    if (found === undefined || found.isFile()) return { isFile: true, path };
    requireOwn(found);
    if (!found.isSymbolicLink()) return { isFile: false, path, found };
    path = resolve(folder, await readlink(path));
  }
  throw refusal("too many levels of symbolic links: the link refers to itself");
}

/** A link or a pipe of another user could redirect the output, or show it to them. */
function requireOwn(found: Stats): void {
  if (found.uid === process.getuid?.() || found.uid === 0) return;
  if (found.isSymbolicLink()) throw refusal("it is a symbolic link of another user: specify another file");
  if (found.isFIFO()) throw refusal("it is a named pipe (FIFO) of another user: specify another file");
}

/** Written beside and moved over, so that no reader ever finds half a file. */
async function writeWhole(path: string, content: OutputContent, mode: number): Promise<void> {
  const partial = `${path}.partial`;
  // A new file each time: one that is left from a crash keeps its mode, and a link its target.
  await rm(partial, { force: true });
  const file = await open(partial, "wx", mode);
  try {
    await fill(file.createWriteStream(), partial, content);
    await rename(partial, path);
  } catch (error) {
    await rm(partial, { force: true });
    throw error;
  }
}

async function fill(stream: Writable, path: string, content: OutputContent): Promise<void> {
  try {
    await (typeof content === "string" ? pipeline([content], stream) : content(stream));
  } catch (error) {
    stream.destroy();
    if (!isSystemError(error) || isOfOutput(error, path)) throw error;
    throw new UserError(`cannot make the content: ${textOf(error)}`, { cause: error });
  }
}

const writingCalls: ReadonlySet<string> = new Set(["write", "writev", "fsync", "close"]);

/** Whether it is the output that failed, and not what the content is read from, such as a file of a layer. */
function isOfOutput({ syscall = "", path }: NodeJS.ErrnoException, output: string): boolean {
  return path === undefined ? writingCalls.has(syscall) : path === output;
}

/** Opens a pipe, a terminal or another device. */
async function openThrough(path: string, found: Stats): Promise<Writable> {
  const number = path.startsWith(`/proc/${process.pid}/`) || path.startsWith("/dev/fd/") ? basename(path) : "";
  if (number === "1") return keptOpen(process.stdout);
  if (number === "2") return keptOpen(process.stderr);
  if (found.isDirectory()) throw refusal("it is a folder: specify a file in it");
  if (found.isSocket() || found.isBlockDevice())
    throw refusal(`it is a ${found.isSocket() ? "socket" : "block device"}: specify a file`);
  const { O_WRONLY, O_APPEND, O_NONBLOCK = 0, O_NOCTTY = 0 } = constants;
  // Without O_NONBLOCK, to open a pipe that has no reader would block for ever.
  // A socket of Node owns a bare descriptor and waits for a slow reader; a file handle would fail then.
  if (found.isFIFO()) return new Socket({ fd: openSync(path, O_WRONLY | O_NONBLOCK), readable: false, writable: true });
  return (await open(path, O_WRONLY | O_APPEND | O_NOCTTY)).createWriteStream();
}

/** Writes to a stream of this process, which is still needed when the output ends. */
function keptOpen(stream: NodeJS.WriteStream): Writable {
  return new Writable({ write: (chunk: Buffer, _, done) => void stream.write(chunk, done) });
}

const refusedCode = "REFUSED";

/** An error whose message says why nothing can be written there, and what to do. */
function refusal(message: string): NodeJS.ErrnoException {
  return Object.assign(new Error(message), { code: refusedCode });
}

function why(error: NodeJS.ErrnoException): string {
  switch (error.code) {
    case refusedCode:
      return error.message;
    case "ENOENT":
      return error.syscall === "realpath" ? "its folder does not exist: create it" : textOf(error);
    case "ENXIO":
      return "no program reads from this named pipe (FIFO): start one first";
    default:
      return explain(error);
  }
}

/** Errors of the content, such as those of an image, have codes too, but none of the system. */
function isSystemError(error: unknown): error is NodeJS.ErrnoException {
  const { code, errno } = (error ?? {}) as NodeJS.ErrnoException;
  return code === refusedCode || (typeof code === "string" && typeof errno === "number");
}

function ignoreMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== "ENOENT") throw error;
}
