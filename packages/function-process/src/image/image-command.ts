// SPDX-License-Identifier: Apache-2.0
import { constants, existsSync } from "node:fs";
import { access, open, readdir } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { readRegularFile } from "@purlin/kube-objects/files";
import { type ProcessConfig, pathInside } from "@purlin/oci";
import { readElf } from "../elf/linked-files.ts";

const maxScripts = 4;
/** Enough for the first line of a script. */
const headBytes = 4096;

/**
 * The words that start a program of an image on this machine: through the image's own interpreter for a script and through its own loader,
 * with its own libraries, for what is linked with some. This machine may have others, or none.
 */
export async function imageCommand(root: string, program: string, path: string): Promise<string[]> {
  return commandFor({ root, path }, program, maxScripts);
}

interface Image {
  readonly root: string;
  /** Where programs without a folder are looked for. */
  readonly path: string;
}

async function commandFor(image: Image, program: string, left: number): Promise<string[]> {
  const file = await findProgram(image, program);
  if (file === undefined) throw new Error(`the image has no ${program} to start`);
  const head = await headOf(file);
  const script = scriptInterpreter(head);
  if (script !== undefined && left > 0) {
    const [interpreter = "", ...args] = script;
    return [...(await commandFor(image, interpreter, left - 1)), ...args, file];
  }
  const interpreter = readElf(file)?.interpreter;
  const loader = interpreter === undefined ? undefined : await locate(image.root, interpreter);
  // Static, or made for the loader of this machine.
  if (interpreter === undefined || loader === undefined) return [file];
  return [loader, "--library-path", (await libraryFolders(image.root, interpreter)).join(":"), file];
}

/** The words of a first line such as `#!/usr/bin/env python3`; `env` itself would look on this machine. */
function scriptInterpreter(head: Buffer): string[] | undefined {
  if (head.subarray(0, 2).toString("latin1") !== "#!") return undefined;
  const [line = ""] = head.subarray(2).toString("utf8").split("\n");
  const words = line.trim().split(/\s+/);
  const named = words[0]?.endsWith("/env") ? words.slice(1).filter((word) => word !== "-S") : words;
  return named.length === 0 || named[0] === "" ? undefined : named;
}

async function findProgram({ root, path }: Image, program: string): Promise<string | undefined> {
  const folders = program.includes("/") ? [""] : path.split(":");
  for (const folder of folders) {
    const file = await locate(root, `${folder}/${program}`);
    if (file !== undefined && (await isExecutable(file))) return file;
  }
  return undefined;
}

async function isExecutable(file: string): Promise<boolean> {
  return access(file, constants.X_OK).then(
    () => true,
    () => false,
  );
}

async function headOf(file: string): Promise<Buffer> {
  await using handle = await open(file);
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(headBytes), 0, headBytes, 0);
  return buffer.subarray(0, bytesRead);
}

const usualFolders = ["/lib64", "/usr/lib64", "/lib", "/usr/lib", "/usr/local/lib"];

/** More than the configuration of any loader has: bytes of a file, and files and folders that it names. */
const maxConfigurationBytes = 64 * 1024;
const maxConfigured = 256;

/**
 * Where the loader of an image looks for libraries: what its configuration names, then the folders of each kind of processor and the usual
 * ones. The loader is given all of them, because by itself it would look on this machine.
 */
async function libraryFolders(root: string, interpreter: string): Promise<string[]> {
  const named = interpreter.includes("ld-musl") ? await muslFolders(root, interpreter) : await glibcFolders(root);
  const places = [...named.slice(0, maxConfigured), ...(await processorFolders(root)), ...usualFolders];
  const found = (await Promise.all(places.map((folder) => locate(root, folder)))).filter((path) => path !== undefined);
  // Folders are separated by colons: one with a colon in its name cannot be given to a loader.
  return [...new Set(found)].filter((folder) => !folder.slice(root.length).includes(":"));
}

/** What the file of musl's loader names, such as `/etc/ld-musl-x86_64.path`. */
async function muslFolders(root: string, interpreter: string): Promise<string[]> {
  const text = await configurationText(root, `/etc/${basename(interpreter).replace(/\.so.*/, "")}.path`);
  return text.split(/[:\n]/).filter((folder) => folder.startsWith("/"));
}

/** What `/etc/ld.so.conf` and the files that it includes name, in their order. */
async function glibcFolders(root: string): Promise<string[]> {
  const folders: string[] = [];
  const seen = new Set<string>();
  const isNew = (what: string): boolean => !seen.has(what) && seen.size < maxConfigured && seen.add(what).has(what);
  const read = async (path: string): Promise<void> => {
    if (!isNew(path)) return;
    const text = await configurationText(root, path);
    for (const line of text.split("\n").map((one) => one.replace(/#.*/, "").trim())) {
      const [first, ...patterns] = line.split(/\s+/);
      if (line.startsWith("/") && folders.length < maxConfigured) folders.push(line.replace(/=.*/, ""));
      if (first === "include") for (const pattern of patterns) await include(resolve(dirname(path), pattern));
    }
  };
  const include = async (pattern: string): Promise<void> => {
    if (!isNew(`include ${pattern}`)) return;
    for (const path of await filesLike(root, pattern)) await read(path);
  };
  await read("/etc/ld.so.conf");
  // An image that is put together from parts of another one may lack the file that includes these.
  await include("/etc/ld.so.conf.d/*.conf");
  return folders;
}

/** The files of an image that a pattern names. Only the name of the file may have an asterisk. */
async function filesLike(root: string, pattern: string): Promise<string[]> {
  const [start = "", ...ends] = basename(pattern).split("*");
  const end = ends.at(-1);
  if (end === undefined) return [pattern];
  const names = await namesIn(root, dirname(pattern));
  return names
    .filter((name) => name.startsWith(start) && name.endsWith(end))
    .map((name) => join(dirname(pattern), name));
}

/** Folders such as `/usr/lib/x86_64-linux-gnu`, which loaders of Debian search without any configuration. */
async function processorFolders(root: string): Promise<string[]> {
  const folders = ["/lib", "/usr/lib"].map(async (folder) =>
    (await namesIn(root, folder)).filter((name) => /-linux-(gnu|musl)/.test(name)).map((name) => join(folder, name)),
  );
  return (await Promise.all(folders)).flat().slice(0, maxConfigured);
}

async function namesIn(root: string, folder: string): Promise<string[]> {
  const path = await locate(root, folder);
  return path === undefined ? [] : (await readdir(path).catch(() => [])).toSorted();
}

/** The text of a file of an image. What is missing, huge or not a file has none: the loader of the image ignores it as well. */
async function configurationText(root: string, path: string): Promise<string> {
  const file = await locate(root, path);
  if (file === undefined) return "";
  const bytes = await readRegularFile(file, { maxBytes: maxConfigurationBytes }).catch(() => undefined);
  return bytes?.toString() ?? "";
}

/** What is at a path of an image, as this machine sees it; undefined when nothing is there. No link leads out of the image. */
export async function locate(root: string, path: string): Promise<string | undefined> {
  // With one more part, a link at the end is followed like any other.
  const below = await pathInside(root, `${path}/below`).catch(() => undefined);
  const found = below === undefined ? undefined : dirname(below);
  return found !== undefined && existsSync(found) ? found : undefined;
}

/** Folders of this machine that an image finds somewhere else, by where it does. */
export type Mounts = Readonly<Record<string, string>>;

/**
 * A word of a command line or a variable, with the paths of an image in it as this machine sees them: `/a`, `--flag=/a` and `/a:/b`. What is
 * not in the image stays as it is.
 */
export async function translate(word: string, root: string, mounts: Mounts = {}): Promise<string> {
  const at = word.startsWith("/") ? 0 : word.indexOf("=/") + 1;
  if (at === 0 && !word.startsWith("/")) return word;
  const paths = word.slice(at).split(":");
  const seen = paths.map(async (path) => (path.startsWith("/") ? await seenAt(path, root, mounts) : path));
  return word.slice(0, at) + (await Promise.all(seen)).join(":");
}

async function seenAt(path: string, root: string, mounts: Mounts): Promise<string> {
  for (const [inside, outside] of Object.entries(mounts)) {
    if (path === inside || path.startsWith(`${inside}/`)) return join(outside, path.slice(inside.length));
  }
  return (await locate(root, path)) ?? path;
}

/** Where programs are looked for when the image does not say. */
export const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/** The words that start the process of an image. */
export function commandOf({ entrypoint, cmd }: ProcessConfig): readonly string[] {
  const command = [...entrypoint, ...cmd];
  if (command.length === 0) {
    throw new Error("the image has no entry point: it is a package that runs nothing; build it with --entrypoint");
  }
  return command;
}

/** The environment of an image. */
export function parseEnv(lines: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    lines.map((line) => {
      const at = line.indexOf("=");
      return at < 0 ? [line, ""] : [line.slice(0, at), line.slice(at + 1)];
    }),
  );
}
