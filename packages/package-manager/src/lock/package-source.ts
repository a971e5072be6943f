// SPDX-License-Identifier: Apache-2.0
import { type KubeObject, textAt } from "@purlin/kube-objects/object";
import { dnsLabel, type ImageReference, isImageReferenceError, parseRepository, sourceOf } from "@purlin/oci";
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
