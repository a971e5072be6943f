// SPDX-License-Identifier: Apache-2.0

import { createHash } from "node:crypto";
import { withheldAnnotation } from "@purlin/function-runner";
import type { JsonObject, JsonValue } from "@purlin/kube-objects/json";
import {
  controllerReference,
  type KubeObject,
  memberAt,
  numberAt,
  textAt,
  textMapAt,
} from "@purlin/kube-objects/object";
import { friendlyName, hexOf } from "@purlin/oci";
import { type PackageType, packageLabels, policyMark, reservedPrefix } from "../package-kinds.ts";

/** The inputs of a revision. */
export interface RevisionInput {
  readonly type: PackageType;
  readonly package: KubeObject;
  readonly name: string;
  readonly number: number;
  readonly desiredState: string;
  /** Set where revisions are known by their content. */
  readonly digest: string | undefined;
  /** Whether runtime objects are named after the revision instead of the package. */
  readonly isNamedByRevision: boolean;
  /** Whether this control plane, or one beside it, runs packages of this kind in Deployments or processes. */
  readonly hasRuntime: boolean;
  /** Whether labels of the package go to its revision. */
  readonly copiesLabels: boolean;
  /** Whether the revision waits for a rollout instead of taking over. */
  readonly isWithheld?: boolean | undefined;
}

const copied = [
  "packagePullSecrets",
  "packagePullPolicy",
  "ignoreCrossplaneConstraints",
  "skipDependencyResolution",
  "commonLabels",
  "commonAnnotations",
] as const;
const maxSecretName = 253;

/** The revision with exactly the fields that the manager applies. */
export function desiredRevision(input: RevisionInput): KubeObject {
  const { type, package: owner, name, number, desiredState, digest } = input;
  const spec: Record<string, JsonValue> = {
    desiredState,
    image: textAt(owner, ["spec", "package"]) ?? "",
    revision: number,
  };
  for (const field of copied) copyField(owner, field, spec);
  if (digest !== undefined) spec["digest"] = digest;
  if (input.hasRuntime) {
    copyField(owner, "runtimeConfigRef", spec);
    Object.assign(spec, secretNames(input));
  }
  return {
    ...type.revision,
    metadata: {
      name,
      labels: { ...labelsOf(input), [packageLabels.package]: owner.metadata.name ?? "" },
      ...(input.isWithheld && { annotations: { [withheldAnnotation]: policyMark } }),
      ownerReferences: [controllerReference(owner)],
    },
    spec,
  };
}

function copyField(owner: KubeObject, field: string, spec: Record<string, JsonValue>): void {
  const value = memberAt(owner, ["spec", field]);
  if (value !== undefined) spec[field] = value;
}

/** The package's own labels, without those that mean something to us. */
function labelsOf({ copiesLabels, package: owner }: RevisionInput): JsonObject {
  if (!copiesLabels) return {};
  const labels = textMapAt(owner, ["metadata", "labels"]) ?? {};
  return Object.fromEntries(Object.entries(labels).filter(([key]) => !key.startsWith(reservedPrefix)));
}

function secretNames({ type, package: owner, name, isNamedByRevision }: RevisionInput): JsonObject {
  const base = isNamedByRevision ? name : (owner.metadata.name ?? "");
  const server = { tlsServerSecretName: secretName(base, "-tls-server") };
  return type.kind === "Provider" ? { ...server, tlsClientSecretName: secretName(base, "-tls-client") } : server;
}

/** The name of a Secret made of another name, cut where it would be too long. */
export function secretName(base: string, ending: "-tls-server" | "-tls-client"): string {
  return base.slice(0, maxSecretName - ending.length) + ending;
}

/** The number of a revision; 0 when it has none. */
export function numberOf(revision: KubeObject): number {
  return numberAt(revision, ["spec", "revision"]);
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

/** Whether a revision can have been installed with a digest: it notes its digest, or its name is made of it. */
export function isInstalledWith(revision: KubeObject, identity: PackageIdentity): boolean {
  const noted = textAt(revision, ["spec", "digest"]);
  if (noted !== undefined) return noted === identity.digest;
  const name = revision.metadata.name ?? "";
  if (name === nameByDigest(identity)) return true;
  for (let generation = identity.generation; generation > 0; generation -= 1) {
    if (name === nameByGeneration({ ...identity, generation })) return true;
  }
  return false;
}

/** The number the current revision gets: always the highest. */
export function numberOfCurrent({ existing }: CurrentRevision, revisions: readonly KubeObject[]): number {
  const highest = Math.max(0, ...revisions.map(numberOf));
  const own = existing === undefined ? 0 : numberOf(existing);
  return own > 0 && own === highest ? own : highest + 1;
}
