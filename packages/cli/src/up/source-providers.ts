// SPDX-License-Identifier: Apache-2.0
// Providers on the provider kit that run from source files: each save builds a package for the registry of this control plane, and the
// package manager installs it as it installs any other.

import { existsSync } from "node:fs";
import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, relative, resolve, sep } from "node:path";
import { findSourceFile, type SourceOptions } from "@purlin/function-process";
import { honoredDevelopmentOf } from "@purlin/function-runner";
import { type Informer, type KubeReader, startInformer } from "@purlin/kube-client";
import {
  buildImage,
  bundleProgram,
  type ContentStore,
  createRegistryClient,
  openContentStore,
  parseReference,
  platformOfNode,
  pushPackage,
} from "@purlin/oci";
import type { Io } from "../io.ts";
import { UserError } from "../user-error.ts";
import { bundled, imageRuntime } from "../xpkg/package-runtime.ts";
import { generatedCrds, packageText, readYamlFolder } from "../xpkg/package-text.ts";
import { asUserError, type Workspace } from "../xpkg/xpkg-workspace.ts";
import type { KeptRegistry } from "./kept-registry.ts";
import { providerType, upTrust } from "./source-functions.ts";
import { watchFolder } from "./watch-files.ts";

interface SourceProvidersOptions {
  readonly io: Io;
  readonly sources: SourceOptions;
  readonly registry: Pick<KeptRegistry, "address" | "access">;
  /** Refuses all source files: they run without a sandbox while they are built. */
  readonly requireSandbox?: boolean | undefined;
  /** Called with the name of a Provider whose project has a new file. */
  readonly onSave: (name: string) => void;
}

/** Builds the packages of Providers from source files. */
export interface SourceProviders extends Disposable {
  /** The reference of the package that a file builds. Rejects with what is wrong with the file, and builds it again when asked again. */
  build(name: string, path: string): Promise<string>;
  /** Watches the files of a Provider no longer. */
  forget(name: string): void;
}

/** What was built for a Provider. */
interface Built {
  readonly path: string;
  /** The reference of its package; undefined after a save. */
  reference: Promise<string> | undefined;
  watching?: { readonly folder: string; readonly watcher: Disposable } | undefined;
}

const repository = "purlin-source";
/** What makes a folder a project, and the folder that comes with it. */
const metadataFile = /(^|[/\\])package([/\\]crossplane\.yaml)?$/;
/** Editors write a file in several steps. */
const settleMs = 150;

/** Makes a {@link SourceProviders}. */
export function openSourceProviders(options: SourceProvidersOptions): SourceProviders {
  const { io, onSave } = options;
  const all = new Map<string, Built>();
  const timers = new Map<string, NodeJS.Timeout>();

  const forget = (name: string): void => {
    clearTimeout(timers.get(name));
    timers.delete(name);
    all.get(name)?.watching?.watcher[Symbol.dispose]();
    all.delete(name);
  };
  const saved = (name: string, file: string): void => {
    if (/(^|\/)(node_modules|\.[^/]+)(\/|$)/.test(file)) return;
    clearTimeout(timers.get(name));
    timers.set(
      name,
      setTimeout(() => {
        const built = all.get(name);
        if (built !== undefined) built.reference = undefined;
        onSave(name);
      }, settleMs),
    );
  };
  const watch = (name: string, built: Built, folder: string): void => {
    if (built.watching?.folder === folder || all.get(name) !== built) return;
    built.watching?.watcher[Symbol.dispose]();
    built.watching = { folder, watcher: watchFolder(folder, (file) => saved(name, file)) };
  };
  /** A file that cannot be used yet is tried again when it, a folder above it or the metadata of its package appears. */
  const awaitProject = (name: string, built: Built): void => {
    const { cwd, within = { folders: [] } } = options.sources;
    const file = resolve(cwd, built.path);
    const folder = within.folders.find((one) => file.startsWith(`${one}${sep}`) && existsSync(one));
    if (folder === undefined || all.get(name) !== built) return;
    built.watching?.watcher[Symbol.dispose]();
    const wanted = relative(folder, file);
    const watcher = watchFolder(folder, (changed) => {
      if (`${wanted}${sep}`.startsWith(`${changed}${sep}`) || metadataFile.test(changed)) saved(name, changed);
    });
    // Without a folder: that of the project replaces it.
    built.watching = { folder: "", watcher };
  };
  const start = async (name: string, built: Built): Promise<string> => {
    const project = await projectOf(name, built.path, options).catch((error: unknown) => {
      awaitProject(name, built);
      throw error;
    });
    // First watched, then read: no save is missed.
    watch(name, built, project.folder);
    const digest = await inStore(io, (store) => pushProject(name, project, { ...options, store }));
    return `${options.registry.address}/${repository}/${name}@${digest}`;
  };
  return {
    build(name, path) {
      if (all.get(name)?.path !== path) {
        forget(name);
        all.set(name, { path, reference: undefined });
      }
      const built = all.get(name) ?? { path, reference: undefined };
      if (built.reference !== undefined) return built.reference;
      const reference = start(name, built);
      built.reference = reference;
      reference.catch(() => {
        if (built.reference === reference) built.reference = undefined;
      });
      return reference;
    },
    forget,
    [Symbol.dispose]() {
      for (const name of [...all.keys()]) forget(name);
    },
  };
}

/** Ends what follows the files of a Provider that is gone, or that names no source file. */
export function followProviders(client: KubeReader, providers: SourceProviders): Informer {
  const informer = startInformer(client, providerType);
  informer.subscribe(({ type, object }) => {
    const development = type === "deleted" ? undefined : honoredDevelopmentOf(object, upTrust);
    if (development?.kind !== "source") providers.forget(object.metadata.name ?? "");
  });
  return informer;
}

/** The project of a Provider: its program, and the folder with its metadata. */
interface Project {
  readonly file: string;
  readonly folder: string;
}

/** Finds the project of a source file, if the file may run. The metadata of the package is above it, in a folder given to the command. */
async function projectOf(name: string, path: string, options: SourceProvidersOptions): Promise<Project> {
  const { io, sources, requireSandbox } = options;
  if (requireSandbox === true) {
    const advice = "build a package of it, or start without --require-sandbox";
    throw new UserError(
      `--require-sandbox refuses to run ${name}: purlin.dev/source runs a file without a sandbox; ${advice}`,
    );
  }
  const { cwd, within = { folders: [], except: [] } } = sources;
  const shown = relative(io.cwd, resolve(cwd, path));
  const found = await findSourceFile(resolve(cwd, path), within);
  if ("problem" in found) throw new UserError(`${shown}: ${found.problem}`);
  const roots = new Set(await Promise.all(within.folders.map((folder) => realpath(folder).catch(() => folder))));
  for (let folder = dirname(found.file); ; folder = dirname(folder)) {
    if (existsSync(join(folder, "package", "crossplane.yaml"))) return { file: found.file, folder };
    if (roots.has(folder) || folder === dirname(folder)) break;
  }
  const advice = 'create it, as "purlin provider init" does, or give purlin up the folder of the project';
  throw new UserError(`${shown}: no package/crossplane.yaml beside it or above: ${advice}`);
}

async function pushProject(
  name: string,
  { file, folder }: Project,
  { io, registry, store }: SourceProvidersOptions & { readonly store: ContentStore },
): Promise<string> {
  const client = createRegistryClient({ credentials: registry.access.credentials });
  const workspace: Workspace = { store, client };
  const metadata = relative(io.cwd, join(folder, "package"));
  const files = await readYamlFolder(metadata, io);
  const given = await packageText(files, metadata);
  const { kind } = given.contents.meta;
  if (kind !== "Provider") throw new UserError(`${metadata}: the package is a ${kind}, not a Provider`);
  const program = relative(io.cwd, file);
  const provider = { file: program, bundle: await bundled(program, io, bundleProgram) };
  const crds = await generatedCrds(provider, given.contents, io);
  const { text } = crds === undefined ? given : await packageText([...files, crds], metadata);
  const platform = { os: "linux", architecture: platformOfNode(process).architecture };
  const runtime = await imageRuntime({ provider, platform }, workspace, io);
  const image = await buildImage(store, { ...runtime, platform, packageYaml: text, examplesYaml: undefined });
  const to = parseReference(`${registry.address}/${repository}/${name}:latest`);
  return pushPackage(client, store, { images: [image], to, options: { signal: io.signal } });
}

async function inStore<T>({ signal }: Io, work: (store: ContentStore) => Promise<T>): Promise<T> {
  signal.throwIfAborted();
  const folder = await mkdtemp(join(tmpdir(), "purlin-source-"));
  try {
    return await work(await openContentStore(folder));
  } catch (error) {
    throw asUserError(error);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
