// SPDX-License-Identifier: Apache-2.0
import { existsSync, statSync } from "node:fs";
import { lstat, stat } from "node:fs/promises";
import { join, relative, resolve } from "node:path";
import {
  bundleCommand,
  bundleFunction,
  bundlePath,
  type bundleProgram,
  fileEntry,
  folderEntries,
  type ImageReference,
  isImageReferenceError,
  isPackageError,
  type LayerEntry,
  ociLayerType,
  type Platform,
  type ProcessConfig,
  parseImageConfig,
  parseReference,
  platformText,
  pullImage,
  runtimeLabel,
  type WrittenLayer,
} from "@purlin/oci";
import { explain, readText } from "../files/read-text.ts";
import type { Io } from "../io.ts";
import { textOf, UserError } from "../user-error.ts";
import type { Workspace } from "./xpkg-workspace.ts";

/** What the user said about what runs. */
export interface RuntimeRequest {
  readonly function?: string | undefined;
  /** The program of a Provider, bundled. */
  readonly provider?: BundledProvider | undefined;
  readonly root?: string | undefined;
  readonly entrypoint?: readonly string[] | undefined;
  readonly base?: string | undefined;
  readonly platform: Platform;
}

/** A Provider on the provider kit. */
export interface BundledProvider {
  readonly file: string;
  readonly bundle: Awaited<ReturnType<typeof bundleProgram>>;
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

/** The user of a function unless the base image sets one: not root. */
const plainUser = "2000";
const programFolders = ["usr/local/sbin", "usr/local/bin", "usr/sbin", "usr/bin", "sbin", "bin"];

/** Puts together what runs. */
export async function imageRuntime(request: RuntimeRequest, workspace: Workspace, io: Io): Promise<ImageRuntime> {
  refuseContradictions(request);
  const base = await openBase(request, workspace, io);
  if (request.function !== undefined) {
    const bundle = await bundled(request.function, io, bundleFunction);
    return bundleRuntime({ file: request.function, bundle }, base, io);
  }
  if (request.provider !== undefined) return bundleRuntime(request.provider, base, io);
  const { root } = request;
  const entrypoint = request.entrypoint ?? base.process.entrypoint;
  const cmd = request.entrypoint === undefined ? base.process.cmd : [];
  const [program] = [...entrypoint, ...cmd];
  const isUsed = root !== undefined || request.base !== undefined;
  if (isUsed && program === undefined) {
    throw new UserError("no entrypoint: add --entrypoint, such as --entrypoint /bin/function");
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

function refuseContradictions({ function: file, provider, root, entrypoint, base }: RuntimeRequest): void {
  const program = file === undefined ? "provider" : "function";
  if ((file ?? provider) !== undefined && root !== undefined) {
    throw new UserError(`--${program} and --root are mutually exclusive: use --base for what a ${program} runs on`, {
      exitCode: 2,
    });
  }
  if ((file ?? provider) !== undefined && entrypoint !== undefined) {
    throw new UserError(`--entrypoint requires --root: a bundled ${program} has its own entrypoint`, {
      exitCode: 2,
    });
  }
  if (entrypoint !== undefined && root === undefined && base === undefined) {
    throw new UserError("--entrypoint requires a program: add --root or --base", { exitCode: 2 });
  }
}

/** Bundles a file of the user. */
export function bundled(
  file: string,
  io: Io,
  bundle: typeof bundleProgram,
): Promise<Awaited<ReturnType<typeof bundleProgram>>> {
  const path = resolve(io.cwd, file);
  return bundle(path).catch((error: unknown) => {
    if (!isPackageError(error)) throw error;
    throw new UserError(error.message.replace(path, file), { cause: error });
  });
}

async function bundleRuntime({ file, bundle }: BundledProvider, base: Base, io: Io): Promise<ImageRuntime> {
  const { code, warnings } = bundle;
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
      if (found?.isFile()) throw new UserError(`${join(folder, name)} is not executable: run "chmod +x" on it`);
    }
  }
  const where = folders.join(" or ");
  throw new UserError(`${where}: ${program} not found: add it, or correct --entrypoint or --base`);
}

/** Where `purlin function init` puts the function, and where the program of a Provider is. */
const usualFiles = { Function: "src/function.ts", Provider: "src/main.ts" } as const;

/** The file of a function or of a Provider in a project, as the user would write it; undefined where no project says so. */
export async function findProgram(
  kind: keyof typeof usualFiles,
  folders: readonly string[],
  io: Io,
): Promise<string | undefined> {
  for (const folder of folders) {
    const project = resolve(io.cwd, folder);
    const manifest = join(project, "package.json");
    if (!existsSync(manifest) || statSync(manifest).isDirectory()) continue;
    const shown = relative(io.cwd, manifest);
    const named = entryOf(parseManifest(await readText(shown, io, { what: "package manifest" }), shown));
    const file = resolve(project, named ?? usualFiles[kind]);
    if (existsSync(file)) return relative(io.cwd, file) || file;
    if (named === undefined) continue;
    throw new UserError(
      `${shown}: ${named} does not exist: correct it, or specify the file with --${kind.toLowerCase()}`,
    );
  }
  return undefined;
}

function parseManifest(text: string, shown: string): Record<string, unknown> {
  try {
    return (JSON.parse(text) ?? {}) as Record<string, unknown>;
  } catch (error) {
    throw new UserError(`${shown}: invalid JSON: ${textOf(error)}`, { cause: error });
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

/** What lies below a function. */
interface Base {
  readonly isGiven: boolean;
  /** False for an image, whose files are not unpacked. */
  readonly isKnown: boolean;
  readonly folders: readonly string[];
  readonly process: ProcessConfig;
  /** Layers that are in the store. */
  readonly layers: readonly WrittenLayer[];
  /** Layers to write. */
  readonly entries: readonly AsyncIterable<LayerEntry>[];
}

const nothing: ProcessConfig = { entrypoint: [], cmd: [], env: [], workingDir: "/", user: "" };

/** Opens what --base names: a folder, or an image, which is fetched. */
async function openBase(
  { base, platform }: { readonly base?: string | undefined; readonly platform: Platform },
  workspace: Workspace,
  io: Io,
): Promise<Base> {
  const none = { isGiven: false, isKnown: true, folders: [], process: nothing, layers: [], entries: [] };
  if (base === undefined) return none;
  const path = resolve(io.cwd, base);
  const found = await stat(path).catch(() => undefined);
  if (found?.isDirectory()) return { ...none, isGiven: true, folders: [base], entries: [folderEntries(path)] };
  const reference = referenceOf(base);
  const { process, layers } = await pullBase(reference, { base, platform, workspace, signal: io.signal });
  return { ...none, isGiven: true, isKnown: false, process, layers };
}

function referenceOf(base: string): ImageReference {
  try {
    return parseReference(base);
  } catch (error) {
    if (!isImageReferenceError(error)) throw error;
    throw new UserError(`--base: there is no folder of this name, and ${textOf(error)}`, { cause: error });
  }
}

interface PullBase {
  readonly base: string;
  readonly platform: Platform;
  readonly workspace: Workspace;
  readonly signal: AbortSignal;
}

async function pullBase(
  reference: ImageReference,
  { base, platform, workspace, signal }: PullBase,
): Promise<Pick<Base, "process" | "layers">> {
  const { client, store } = workspace;
  const { manifest } = await pullImage(client, store, { reference, options: { platform, signal } });
  const config = parseImageConfig(await store.read(manifest.config), base);
  if (config.os !== platform.os || config.architecture !== platform.architecture) {
    const other = platformText(config);
    throw new UserError(`--base ${base} is for ${other}, not ${platformText(platform)}: choose another, or --platform`);
  }
  const layers = manifest.layers.map(({ mediaType, digest, size }, at) => {
    const diffId = config.diffIds[at];
    if (diffId === undefined)
      throw new UserError(`--base ${base}: invalid image: its configuration does not list all of its layers`);
    // Marks of a package that the base may be are not those of this one.
    return { descriptor: { mediaType: ociLayerType(mediaType), digest, size }, diffId };
  });
  return { process: config.process, layers };
}
