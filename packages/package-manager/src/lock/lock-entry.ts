// SPDX-License-Identifier: Apache-2.0

import { isJsonObject, type JsonObject, type JsonValue } from "@purlin/kube-objects/json";
import { type KubeObject, memberAt, textAt } from "@purlin/kube-objects/object";
import type { PackageDependency, PackageKind } from "@purlin/oci";
import { parseRepository, sourceOf } from "@purlin/oci";
import { packageApiVersion } from "../package-kinds.ts";

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
