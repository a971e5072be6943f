// SPDX-License-Identifier: Apache-2.0
import type { ControllerClient } from "@purlin/kube-controller";
import { isAlreadyExists } from "@purlin/kube-objects/errors";
import { isJsonObject, type JsonObject, type JsonValue, jsonEqual } from "@purlin/kube-objects/json";
import { conditionOf, conditionsOf, type KubeObject, memberAt, textAt, withMember } from "@purlin/kube-objects/object";
import { type PackageDependency, type PackageKind, parseRepository, sourceOf } from "@purlin/oci";
import { packageFieldManagers } from "../package-deps.ts";
import { otherKinds, packageApiVersion } from "../package-kinds.ts";

/** An installed package in the Lock. */
export interface LockEntry {
  /** The name of its revision. */
  readonly name: string;
  readonly kind: PackageKind;
  /** Registry and repository. */
  readonly source: string;
  /** A tag, or a digest. */
  readonly version: string;
  readonly dependencies: readonly LockDependency[];
}

/** A dependency in the Lock. */
export interface LockDependency {
  readonly source: string;
  readonly kind: PackageKind;
  readonly constraint: string;
}

/** The entry of a revision. */
export function entryOf(
  revision: { readonly name: string; readonly image: string },
  meta: { readonly kind: PackageKind; readonly dependencies: readonly PackageDependency[] },
): LockEntry {
  const reference = parseRepository(revision.image);
  return {
    name: revision.name,
    kind: meta.kind,
    source: sourceOf(reference),
    version: reference.tag ?? reference.digest ?? "",
    dependencies: meta.dependencies.map(({ source, kind, constraint }) => ({ source, kind, constraint })),
  };
}

/** The packages of a Lock. */
export function readLock(lock: KubeObject | undefined): LockEntry[] {
  const packages = lock && memberAt(lock, ["packages"]);
  return (Array.isArray(packages) ? packages : []).filter(isJsonObject).map(readEntry);
}

function readEntry(entry: JsonObject): LockEntry {
  const dependencies = memberAt(entry, ["dependencies"]);
  return {
    name: textAt(entry, ["name"]) ?? "",
    kind: kindOf(entry),
    source: textAt(entry, ["source"]) ?? "",
    version: textAt(entry, ["version"]) ?? "",
    dependencies: (Array.isArray(dependencies) ? dependencies : []).filter(isJsonObject).map((dependency) => ({
      source: textAt(dependency, ["package"]) ?? "",
      kind: kindOf(dependency),
      constraint: textAt(dependency, ["constraints"]) ?? "",
    })),
  };
}

/** Old entries have the kind under `type`. */
function kindOf(object: JsonObject): PackageKind {
  return (textAt(object, ["kind"]) ?? textAt(object, ["type"]) ?? "Configuration") as PackageKind;
}

/** The packages as a Lock holds them. */
export function writeLock(entries: readonly LockEntry[]): JsonValue {
  return entries.map(({ name, kind, source, version, dependencies }) => ({
    apiVersion: packageApiVersion,
    kind,
    name,
    source,
    version,
    dependencies: dependencies.map((dependency) => ({
      apiVersion: packageApiVersion,
      constraints: dependency.constraint,
      kind: dependency.kind,
      package: dependency.source,
    })),
  }));
}

/** There is one Lock. */
export const lockName = "lock";

/** The prefix of the Lock's condition when dependencies cannot be resolved. */
export const resolutionFailed = "Error occurred during dependency resolution ";

/** Why dependency resolution failed; undefined when it succeeded, or did not run yet. */
export function resolutionProblem(lock: KubeObject): string | undefined {
  const { status, message = "" } = conditionOf(conditionsOf(lock), "Resolved");
  return status === "False" ? message.replace(resolutionFailed, "") : undefined;
}

/** The Lock and its entries. */
interface LockState {
  readonly object: KubeObject;
  readonly entries: readonly LockEntry[];
}

/** Reads the Lock, or creates an empty one. */
export async function getLock(client: ControllerClient, signal: AbortSignal): Promise<LockState> {
  const found = await client.get(otherKinds.lock, { name: lockName }, { signal });
  if (found !== undefined) return { object: found, entries: readLock(found) };
  try {
    const made = await client.create({ ...otherKinds.lock, metadata: { name: lockName } }, { signal });
    return { object: made, entries: [] };
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
    const object = await client.live.get(otherKinds.lock, { name: lockName }, { signal });
    return { object, entries: readLock(object) };
  }
}

/** Writes the entries, if they differ. A concurrent write makes this a conflict, and the reconcile starts again. */
export async function putLock(
  client: ControllerClient,
  { object, entries }: LockState,
  { next, signal }: { readonly next: readonly LockEntry[]; readonly signal: AbortSignal },
): Promise<LockState> {
  if (jsonEqual(writeLock(entries), writeLock(next))) return { object, entries };
  const changed = withMember(object, ["packages"], writeLock(next));
  const stored = await client.update(changed, { fieldManager: packageFieldManagers.update, signal });
  return { object: stored, entries: next };
}
