// SPDX-License-Identifier: Apache-2.0
import type { ControllerClient } from "@purlin/kube-controller";
import { isAlreadyExists } from "@purlin/kube-objects/errors";
import { isJsonObject, type JsonObject, type JsonValue, jsonEqual } from "@purlin/kube-objects/json";
import { conditionOf, conditionsOf, type KubeObject, memberAt, textAt, withMember } from "@purlin/kube-objects/object";
import {
  compareVersions,
  dnsLabel,
  type ImageReference,
  isDigest,
  isImageReferenceError,
  type PackageDependency,
  type PackageKind,
  parseConstraint,
  parseRepository,
  parseVersion,
  sourceOf,
  type Version,
} from "@purlin/oci";
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

/** The reference of a package object; undefined when it is invalid. */
function referenceOf(object: KubeObject): ImageReference | undefined {
  try {
    return parseRepository(textAt(object, ["spec", "package"]) ?? "");
  } catch (error) {
    if (isImageReferenceError(error)) return undefined;
    throw error;
  }
}

/** Registry and repository of a package object. */
export function sourceOfPackage(object: KubeObject): string | undefined {
  const reference = referenceOf(object);
  return reference && sourceOf(reference);
}

/** The version of a package object as the Lock would hold it: a tag or a digest. */
export function versionOfPackage(object: KubeObject): string {
  const { tag, digest } = referenceOf(object) ?? {};
  return tag ?? digest ?? "";
}

/** The name that the resolver gives to a package that it installs. */
export function dependencyName(source: string): string {
  return dnsLabel(parseRepository(source).repository);
}

/**
 * Whether a package looks exactly as the resolver of dependencies makes it: its name, nothing but the defaults, and written by no
 * other client. Crossplane's command, which writes under the same name, always sets the history limit to 0.
 */
export function isResolverMade(object: KubeObject): boolean {
  const { name, labels, annotations, managedFields } = object.metadata;
  const source = sourceOfPackage(object);
  const writers = (managedFields ?? []).filter(({ subresource }) => subresource === undefined);
  const { revisionHistoryLimit } = (object["spec"] ?? {}) as { revisionHistoryLimit?: unknown };
  return (
    source !== undefined &&
    name === dependencyName(source) &&
    Object.keys({ ...labels, ...annotations }).length === 0 &&
    writers.length > 0 &&
    writers.every(({ manager }) => manager === packageFieldManagers.update) &&
    revisionHistoryLimit !== 0
  );
}

/** The order of two packages of one source in the Lock: packages of users before those of the resolver, then the older one. */
export function compareClaims(a: KubeObject, b: KubeObject): number {
  const made = Number(isResolverMade(a)) - Number(isResolverMade(b));
  if (made !== 0) return made;
  const age = Date.parse(a.metadata.creationTimestamp ?? "") - Date.parse(b.metadata.creationTimestamp ?? "");
  return age || ((a.metadata.name ?? "") < (b.metadata.name ?? "") ? -1 : 1);
}

/** The whole versions among some tags, lowest first, each as it was written. */
function wholeVersions(tags: readonly string[]): { readonly tag: string; readonly version: Version }[] {
  return tags
    .flatMap((tag) => {
      const version = parseVersion(tag);
      return version !== undefined && version.written === 3 ? [{ tag, version }] : [];
    })
    .toSorted((a, b) => compareVersions(a.version, b.version));
}

/** The highest tag that all constraints allow. */
export function highestAllowed(tags: readonly string[], constraints: readonly string[]): string | undefined {
  const parsed = constraints.map(parseConstraint);
  return wholeVersions(tags).findLast(({ version }) => parsed.every((one) => one.allows(version)))?.tag;
}

/**
 * The version for an installed package that does not satisfy all constraints: the lowest higher one, or, if downgrades are allowed, the
 * highest lower one.
 */
export function nearestAllowed(
  tags: readonly string[],
  {
    installed,
    constraints,
    allowDowngrade,
  }: { installed: string; constraints: readonly string[]; allowDowngrade: boolean },
): string | undefined {
  const parsed = constraints.map(parseConstraint);
  const allowed = wholeVersions(tags).filter(({ version }) => parsed.every((one) => one.allows(version)));
  const from = parseVersion(installed);
  if (from === undefined) return allowed.at(-1)?.tag;
  const up = allowed.find(({ version }) => compareVersions(version, from) >= 0);
  if (up !== undefined || !allowDowngrade) return up?.tag;
  return allowed.at(-1)?.tag;
}

/** The digest that constraints ask for; undefined when they ask for versions. Both at once, or two digests, throw. */
export function commonDigest(constraints: readonly string[], source: string): string | undefined {
  const digests = new Set(constraints.filter(isDigest));
  const [digest, another] = digests;
  if (digest === undefined) return undefined;
  if (another !== undefined) throw new Error(`${source} is wanted in different digests: ${[...digests].join(", ")}`);
  if (constraints.some((one) => !isDigest(one))) {
    throw new Error(`${source} is wanted both by digest and by version: ${constraints.join(", ")}`);
  }
  return digest;
}
