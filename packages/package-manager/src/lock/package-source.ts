// SPDX-License-Identifier: Apache-2.0
import { type KubeObject, textAt } from "@purlin/kube-objects/object";
import {
  compareVersions,
  dnsLabel,
  type ImageReference,
  isDigest,
  isImageReferenceError,
  parseConstraint,
  parseRepository,
  parseVersion,
  sourceOf,
  type Version,
} from "@purlin/oci";
import { packageFieldManagers } from "../package-deps.ts";

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
