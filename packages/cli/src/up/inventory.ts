// SPDX-License-Identifier: Apache-2.0
import { readFile, rename, writeFile } from "node:fs/promises";
import { join, resolve, sep } from "node:path";
import { type KubeObject, parseApiVersion, type TypeRef } from "@purlin/kube-objects/object";
import type { Manifest } from "../manifests/manifest.ts";

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
  const entries = new Map((await readEntries(path)).map((entry) => [keyOf(entry, entry.namespace), entry]));
  let changed = false;
  return {
    add(manifest, { apiVersion, kind, metadata }) {
      const { name = "", namespace } = metadata;
      const isImpliedNamespace = Boolean(namespace) && !manifest.object.metadata.namespace;
      const where = { ...(namespace && { namespace }), ...(isImpliedNamespace && { isImpliedNamespace }) };
      const entry = { apiVersion, kind, name, ...where, file: resolve(cwd, manifest.file) };
      const key = keyOf(entry, namespace);
      changed ||= JSON.stringify(entries.get(key)) !== JSON.stringify(entry);
      entries.set(key, entry);
    },
    remove(entry) {
      changed = entries.delete(keyOf(entry, entry.namespace)) || changed;
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
function keyOf({ apiVersion, kind, name }: TypeRef & { readonly name: string }, namespace = ""): string {
  return [parseApiVersion(apiVersion).group, kind, namespace, name].join("/");
}

function writtenKey({ apiVersion, kind, metadata }: KubeObject): string {
  return keyOf({ apiVersion, kind, name: metadata.name ?? "" }, metadata.namespace);
}

function nameKey({ apiVersion, kind, metadata }: KubeObject): string {
  return keyOf({ apiVersion, kind, name: metadata.name ?? "" });
}

/** The objects in manifests, with and without their namespaces. */
interface Present {
  readonly keys: ReadonlySet<string>;
  readonly names: ReadonlySet<string>;
}

/** A manifest may leave out the namespace, whichever it was when the object was applied; that of a cluster-scoped object is ignored. */
function isPresent(entry: InventoryEntry, { keys, names }: Present): boolean {
  const { namespace, isImpliedNamespace = false } = entry;
  if (namespace === undefined) return names.has(keyOf(entry));
  if (keys.has(keyOf(entry, namespace))) return true;
  return (isImpliedNamespace || namespace === "default") && keys.has(keyOf(entry));
}
