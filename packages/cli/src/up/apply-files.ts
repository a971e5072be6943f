// SPDX-License-Identifier: Apache-2.0

import { readFile, rename, writeFile } from "node:fs/promises";
import { join, resolve, sep } from "node:path";
import { developmentAnnotations, trustedDevelopmentOf } from "@purlin/function-runner";
import type { KubeClient } from "@purlin/kube-client";
import { isNotFound } from "@purlin/kube-objects/errors";
import { type KubeObject, keyOf, keyText, parseApiVersion, type TypeRef } from "@purlin/kube-objects/object";
import { commandName } from "../command-name.ts";
import { harmlessLine } from "../harmless.ts";
import type { Io } from "../io.ts";
import { ApplyError, type ApplyManifestsOptions, applyManifests } from "../manifests/apply-manifests.ts";
import { applyProblems } from "../manifests/apply-problem.ts";
import { listed, type Manifest } from "../manifests/manifest.ts";
import { readProjectFile } from "../project/project-file.ts";
import type { Style } from "../terminal/style.ts";
import { textOf } from "../user-error.ts";
import { functionType, providerType, upTrust } from "./source-functions.ts";
import type { FileChanges, FollowedFiles } from "./watch-files.ts";

const kindWaitMs = 60_000;

/** What applying files depends on. */
interface FileApplierDeps {
  readonly client: KubeClient;
  readonly files: FollowedFiles;
  readonly inventory: Inventory;
  readonly paths: readonly string[];
  /** Whether objects that were removed from the files are deleted. */
  readonly prune: boolean;
  readonly io: Io;
  readonly style: Style;
  readonly say: (text: string) => void;
}

/** Applies the manifests in files, and reports what was applied, refused and removed. */
export interface FileApplier {
  /** What was applied since the start, as it was stored. */
  readonly applied: Iterable<KubeObject>;
  /**
   * Applies changes, and reports them as those of the sources: of their files unless given. Resolves to the exit code: 0 if all were applied,
   * 2 if objects are wrong, 1 if something else failed.
   */
  apply(changes: FileChanges, sources?: readonly string[]): Promise<number>;
  /** Whether files changed since they were last read. */
  isStale(): Promise<boolean>;
  /** Reads the files and applies those that changed. */
  applyAgain(): Promise<void>;
}

/** Makes a {@link FileApplier}. */
export function createFileApplier(deps: FileApplierDeps): FileApplier {
  const { files, io, style, say } = deps;
  const applied = new Map<string, KubeObject>();
  const reported = new Set<string>();
  const error = (text: string): void => say(`${style.bad("error:")} ${harmlessLine(text)}`);

  async function apply(changes: FileChanges, sources = changes.files): Promise<number> {
    const { problems, exitCode } = await applyChanged(deps, changes, applied);
    for (const problem of problems) error(problem);
    if (changes.files.length > 0 && problems.length === 0) say(appliedText(changes.changed.length, sources, style));
    for (const entry of deps.inventory.missingFrom(changes.all, deps.paths)) {
      await handleRemoved(deps, entry, reported).catch((cause: unknown) =>
        error(`${titleOf(entry)}: ${textOf(cause)}`),
      );
    }
    await deps.inventory.save().catch((cause: unknown) => error(`cannot record what was applied: ${textOf(cause)}`));
    return exitCode;
  }

  return {
    get applied() {
      return applied.values();
    },
    apply,
    isStale: () => files.isStale(),
    async applyAgain() {
      try {
        await apply(await files.read());
      } catch (cause) {
        if (!io.signal.aborted) error(textOf(cause));
      }
    },
  };
}

/** Applies manifests. Resolves to what was refused, with file, line and field. */
async function applyChanged(
  { client, files, inventory, io }: FileApplierDeps,
  changes: FileChanges,
  applied: Map<string, KubeObject>,
): Promise<Outcome> {
  const failed = new Set(changes.files);
  const left = new Map(
    Map.groupBy(changes.changed, ({ file }) => file)
      .entries()
      .map(([file, all]) => [file, all.length]),
  );
  const options = { waitMs: kindWaitMs, namespace: readProjectFile(io).namespace, signal: io.signal };
  const shared = new Map<Manifest, KubeObject>();
  const onApplied: ApplyManifestsOptions["onApplied"] = (manifest, _, stored) => {
    applied.set(manifest.at(), stored);
    if (hasSharedAnnotations(stored)) shared.set(manifest, stored);
    inventory.add(manifest, stored);
    const rest = (left.get(manifest.file) ?? 1) - 1;
    left.set(manifest.file, rest);
    if (rest === 0) failed.delete(manifest.file);
  };
  try {
    const first = await outcomeOf(applyManifests(client, changes.changed, { ...options, onApplied }));
    const second = await outcomeOf(reclaimAnnotations(client, shared, options));
    const codes = [first.exitCode, second.exitCode];
    return { problems: [...first.problems, ...second.problems], exitCode: codes.includes(1) ? 1 : Math.max(...codes) };
  } finally {
    files.applied(changes, failed);
  }
}

/** What applying came to: what was refused, a line each, and the exit code. */
type Outcome = Pick<ApplyError, "problems" | "exitCode">;

async function outcomeOf(applying: Promise<void>): Promise<Outcome> {
  try {
    await applying;
    return { problems: [], exitCode: 0 };
  } catch (error) {
    if (!(error instanceof ApplyError)) throw error;
    return error;
  }
}

function appliedText(count: number, sources: readonly string[], style: Style): string {
  return `${style.good("✓")} applied ${count} object${count === 1 ? "" : "s"} of ${listed(sources)}`;
}

/** Deletes an object that is no longer in the files, or says once how to. */
async function handleRemoved(deps: FileApplierDeps, entry: InventoryEntry, reported: Set<string>): Promise<void> {
  const { client, inventory, io, prune, say, style } = deps;
  const title = titleOf(entry);
  if (!prune && reported.has(title)) return;
  const exists = await client.get(entry, entry, io).then(
    () => true,
    (error: unknown) => {
      if (isNotFound(error)) return false;
      throw error;
    },
  );
  if (!exists) return inventory.remove(entry);
  if (!prune) {
    reported.add(title);
    return say(`${title} is no longer in the files. To delete it: ${deleteCommand(entry, io)}`);
  }
  await client.delete(entry, io);
  inventory.remove(entry);
  say(`${style.good("✓")} deleted ${title}, which is no longer in the files`);
}

function titleOf(entry: InventoryEntry): string {
  return harmlessLine(`${entry.kind} ${keyText(entry)}`);
}

function deleteCommand({ apiVersion, kind, name, namespace }: InventoryEntry, io: Io): string {
  const { group } = parseApiVersion(apiVersion);
  const type = `${kind.toLowerCase()}${group === "" ? "" : `.${group}`}`;
  const isDefault = namespace === (readProjectFile(io).namespace ?? "default");
  const where = namespace === undefined || isDefault ? "" : ` -n ${namespace}`;
  return `${commandName(io.env)} delete ${type} ${name}${where}`;
}

/**
 * Whether a Function or Provider, as stored after its file was applied, has development annotations of that file that another field manager set
 * too: an earlier version of this program, or a user with kubectl. One that is controlled by another object is left alone.
 */
export function hasSharedAnnotations(stored: KubeObject): boolean {
  const { apiVersion, kind, metadata } = stored;
  if (![functionType, providerType].some((one) => one.kind === kind && one.apiVersion === apiVersion)) return false;
  if (metadata.ownerReferences?.some(({ controller }) => controller === true)) return false;
  return trustedDevelopmentOf(stored, upTrust)?.kind === "ignored";
}

/** Makes files the only ones that set the development annotations of their Functions and Providers: removes what is stored, and applies them again. */
export async function reclaimAnnotations(
  client: KubeClient,
  shared: ReadonlyMap<Manifest, KubeObject>,
  options: ApplyManifestsOptions,
): Promise<void> {
  for (const [manifest, stored] of shared) {
    await clearAnnotations(client, stored, options.signal).catch((error: unknown) => {
      throw new ApplyError(applyProblems(manifest, error), { isInput: false });
    });
  }
  if (shared.size > 0) await applyManifests(client, [...shared.keys()], options);
}

async function clearAnnotations(client: KubeClient, stored: KubeObject, signal: AbortSignal): Promise<void> {
  const annotations = Object.fromEntries(Object.values(developmentAnnotations).map((name) => [name, null]));
  const { resourceVersion } = stored.metadata;
  const patch = { metadata: { annotations, ...(resourceVersion && { resourceVersion }) } };
  const { apiVersion, kind } = stored;
  await client.patch({ apiVersion, kind, ...keyOf(stored) }, patch, { type: "merge", signal });
}

/** An object that was applied from a file. */
export interface InventoryEntry extends TypeRef {
  readonly name: string;
  readonly namespace?: string;
  /** The manifest names no namespace: the one of the project was used. */
  readonly isImpliedNamespace?: boolean;
  /** Absolute. */
  readonly file: string;
}

/** The objects that were applied from files, remembered across restarts. */
export interface Inventory {
  add(manifest: Manifest, stored: KubeObject): void;
  remove(entry: InventoryEntry): void;
  /** What was applied from files under the paths and is in none of the manifests. */
  missingFrom(manifests: readonly Manifest[], paths: readonly string[]): readonly InventoryEntry[];
  save(): Promise<void>;
}

/** Where the inventory of a data directory is. */
export function inventoryPath(directory: string): string {
  return join(directory, "applied.json");
}

/** Reads the inventory. One that is missing or damaged is empty: objects are then not reported as removed, and never pruned. */
export async function openInventory(path: string, cwd: string): Promise<Inventory> {
  const entries = new Map((await readEntries(path)).map((entry) => [entryKey(entry, entry.namespace), entry]));
  let changed = false;
  return {
    add(manifest, { apiVersion, kind, metadata }) {
      const { name = "", namespace } = metadata;
      const isImpliedNamespace = Boolean(namespace) && !manifest.object.metadata.namespace;
      const where = { ...(namespace && { namespace }), ...(isImpliedNamespace && { isImpliedNamespace }) };
      const entry = { apiVersion, kind, name, ...where, file: resolve(cwd, manifest.file) };
      const key = entryKey(entry, namespace);
      changed ||= JSON.stringify(entries.get(key)) !== JSON.stringify(entry);
      entries.set(key, entry);
    },
    remove(entry) {
      changed = entries.delete(entryKey(entry, entry.namespace)) || changed;
    },
    missingFrom(manifests, paths) {
      const roots = paths.map((path) => resolve(cwd, path));
      const objects = manifests.map(({ object }) => object);
      const present = { keys: new Set(objects.map(writtenKey)), names: new Set(objects.map(nameKey)) };
      const isUnder = (file: string): boolean => roots.some((root) => file === root || file.startsWith(root + sep));
      return [...entries.values()].filter((entry) => isUnder(entry.file) && !isPresent(entry, present));
    },
    async save() {
      if (!changed) return;
      changed = false;
      await writeFile(`${path}.new`, `${JSON.stringify([...entries.values()], undefined, 1)}\n`, { mode: 0o600 });
      await rename(`${path}.new`, path);
    },
  };
}

async function readEntries(path: string): Promise<readonly InventoryEntry[]> {
  try {
    const value: unknown = JSON.parse(await readFile(path, "utf8"));
    return Array.isArray(value) ? value.filter(isEntry) : [];
  } catch {
    return [];
  }
}

function isEntry(value: unknown): value is InventoryEntry {
  const entry = value as Partial<Record<keyof InventoryEntry, unknown>> | null;
  return (["apiVersion", "kind", "name", "file"] as const).every((field) => typeof entry?.[field] === "string");
}

/** Versions of a kind show the same object. */
function entryKey({ apiVersion, kind, name }: TypeRef & { readonly name: string }, namespace = ""): string {
  return [parseApiVersion(apiVersion).group, kind, namespace, name].join("/");
}

function writtenKey({ apiVersion, kind, metadata }: KubeObject): string {
  return entryKey({ apiVersion, kind, name: metadata.name ?? "" }, metadata.namespace);
}

function nameKey({ apiVersion, kind, metadata }: KubeObject): string {
  return entryKey({ apiVersion, kind, name: metadata.name ?? "" });
}

/** The objects in manifests, with and without their namespaces. */
interface Present {
  readonly keys: ReadonlySet<string>;
  readonly names: ReadonlySet<string>;
}

/** A manifest may leave out the namespace, whichever it was when the object was applied; that of a cluster-scoped object is ignored. */
function isPresent(entry: InventoryEntry, { keys, names }: Present): boolean {
  const { namespace, isImpliedNamespace = false } = entry;
  if (namespace === undefined) return names.has(entryKey(entry));
  if (keys.has(entryKey(entry, namespace))) return true;
  return (isImpliedNamespace || namespace === "default") && keys.has(entryKey(entry));
}
