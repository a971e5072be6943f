// SPDX-License-Identifier: Apache-2.0
import { createHash } from "node:crypto";
import { type KubeObject, memberAt, textAt } from "@purlin/kube-objects/object";
import { friendlyName, hexOf } from "@purlin/oci";

/** The number of a revision; 0 when it has none. */
export function numberOf(revision: KubeObject): number {
  const number = memberAt(revision, ["spec", "revision"]);
  return typeof number === "number" ? number : 0;
}

/** The identity of the content of a package. */
interface PackageIdentity {
  readonly packageName: string;
  /** What the package's reference points to. */
  readonly digest: string;
  /** The generation of the package object. */
  readonly generation: number;
}

/** The revision of a package that is current, if it exists, and what it is called. */
export interface CurrentRevision {
  readonly name: string;
  readonly existing: KubeObject | undefined;
}

/** A name derived from the content and the generation of the package. */
function nameByGeneration({ packageName, digest, generation }: PackageIdentity): string {
  const id = createHash("sha256")
    .update(`${hexOf(digest)}|${generation}`)
    .digest("hex");
  return friendlyName(packageName, id);
}

/** A name derived from the content alone. */
function nameByDigest({ packageName, digest }: PackageIdentity): string {
  return friendlyName(packageName, hexOf(digest));
}

/** The current revision where each change of a package makes one. */
export function currentByGeneration(identity: PackageIdentity, revisions: readonly KubeObject[]): CurrentRevision {
  const name = nameByGeneration(identity);
  return { name, existing: revisions.find((revision) => revision.metadata.name === name) };
}

/**
 * The current revision where the content alone counts: the one with this digest, the highest of several. One that was made before
 * digests were noted is known by its name.
 */
export function currentByDigest(identity: PackageIdentity, revisions: readonly KubeObject[]): CurrentRevision {
  const names = [nameByDigest(identity), nameByGeneration(identity)];
  const same = revisions.filter((revision) => {
    const digest = textAt(revision, ["spec", "digest"]);
    return digest === undefined ? names.includes(revision.metadata.name ?? "") : digest === identity.digest;
  });
  const existing = same.toSorted((a, b) => numberOf(b) - numberOf(a))[0];
  return { name: existing?.metadata.name ?? nameByDigest(identity), existing };
}

/** The number the current revision gets: always the highest. */
export function numberOfCurrent({ existing }: CurrentRevision, revisions: readonly KubeObject[]): number {
  const highest = Math.max(0, ...revisions.map(numberOf));
  const own = existing === undefined ? 0 : numberOf(existing);
  return own > 0 && own === highest ? own : highest + 1;
}
