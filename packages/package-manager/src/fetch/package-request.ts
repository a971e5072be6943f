// SPDX-License-Identifier: Apache-2.0
import { createHash } from "node:crypto";
import { isJsonObject } from "@purlin/kube-objects/json";
import { type KubeObject, memberAt, textAt } from "@purlin/kube-objects/object";
import { PackageError } from "@purlin/oci";
import type { ResolvedPackage } from "./package-client.ts";

/** When the registry is contacted although the image is on disk. */
type PullPolicy = "Always" | "IfNotPresent" | "Never";

/** The object that a digest is remembered for. */
export interface PinName {
  readonly name: string;
  /** A revision is one digest for ever. A package is looked up again after each change of it, and always if its policy is Always. */
  readonly isRevision: boolean;
}

/** A package to fetch. */
export interface PackageRequest {
  /** As the user wrote it. */
  readonly reference: string;
  readonly pullSecrets: readonly string[];
  readonly pullPolicy: PullPolicy;
  /** The owner of the pinned digest; without it the reference is resolved each time. */
  readonly pin?: PinName | undefined;
  /** The digest that is remembered for a rewritten reference; the registry is not asked then. */
  readonly pinned?: ((resolved: string) => string | undefined) | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** The request of a package or revision for a reference. */
export function requestOf(object: KubeObject, reference: string, signal: AbortSignal): PackageRequest {
  const secrets = memberAt(object, ["spec", "packagePullSecrets"]);
  const names = (Array.isArray(secrets) ? secrets : []).filter(isJsonObject).map((one) => textAt(one, ["name"]) ?? "");
  return {
    reference,
    pullSecrets: names.filter((name) => name !== ""),
    pullPolicy: policyOf(textAt(object, ["spec", "packagePullPolicy"])),
    pin: pinNameOf(object),
    signal,
  };
}

/** The name under which a digest is remembered for a package as it is now, or for a revision. */
export function pinNameOf({ kind, metadata }: KubeObject): PinName {
  if (kind.endsWith("Revision")) return { name: revisionPin(kind, metadata.name ?? ""), isRevision: true };
  return { name: `${metadata.uid ?? ""}/${metadata.generation ?? 0}/${marksOf(metadata)}`, isRevision: false };
}

/** A change of labels or annotations resolves the package again. */
function marksOf({ labels, annotations }: KubeObject["metadata"]): string {
  const entries = [labels ?? {}, annotations ?? {}].map((map) =>
    Object.entries(map).toSorted(([a], [b]) => (a < b ? -1 : 1)),
  );
  return createHash("sha256").update(JSON.stringify(entries)).digest("hex").slice(0, 12);
}

/** The name under which the digest of a revision is remembered. */
export function revisionPin(kind: string, name: string): string {
  return `${kind}/${name}`;
}

/** The schema accepts any text; anything but the three policies means the default. */
function policyOf(text: string | undefined): PullPolicy {
  return text === "Always" || text === "Never" ? text : "IfNotPresent";
}

/** Where the digest is noted, a revision stays what it was, however its tag moves. */
export function referenceOfRevision(revision: KubeObject): string {
  const image = textAt(revision, ["spec", "image"]) ?? "";
  const digest = textAt(revision, ["spec", "digest"]);
  return digest === undefined || image.includes("@") ? image : `${image}@${digest}`;
}

/** Throws for a package that an ImageConfig demands signatures of: they cannot be verified, so it must not be installed. */
export function refuseUnverified({ verification, resolved }: Pick<ResolvedPackage, "verification" | "resolved">): void {
  if (verification === undefined) return;
  throw new PackageError(
    `signature verification failed: ImageConfig "${verification}" requires verified signatures of ${resolved}, and Purlin cannot verify signatures yet; to install it unverified, remove spec.verification from the ImageConfig or narrow its spec.matchImages`,
  );
}

/** The purposes of an ImageConfig, as in `status.appliedImageConfigRefs`. */
type ImageConfigPurpose = "RewriteImage" | "SetImagePullSecret" | "VerifyImage" | "ConfigureRuntime";

/** An ImageConfig that was applied. */
export type AppliedImageConfig = {
  readonly name: string;
  readonly reason: ImageConfigPurpose;
};

const purposes: Readonly<Record<ImageConfigPurpose, readonly string[]>> = {
  RewriteImage: ["spec", "rewriteImage"],
  SetImagePullSecret: ["spec", "registry", "authentication", "pullSecretRef"],
  VerifyImage: ["spec", "verification"],
  ConfigureRuntime: ["spec", "runtime", "configRef"],
};

/** The ImageConfig for a purpose and the prefix by which it matches. */
interface SelectedImageConfig {
  readonly config: KubeObject;
  readonly prefix: string;
}

/** Of the ImageConfigs with settings for the purpose, the one with the longest matching prefix. */
export function selectImageConfig(
  configs: readonly KubeObject[],
  reference: string,
  purpose: ImageConfigPurpose,
): SelectedImageConfig | undefined {
  let best: SelectedImageConfig | undefined;
  for (const config of configs) {
    if (!has(config, purpose)) continue;
    const prefix = longestPrefix(config, reference);
    if (prefix !== undefined && prefix.length > (best?.prefix.length ?? -1)) best = { config, prefix };
  }
  return best;
}

/** The longest prefix of an ImageConfig that a reference starts with. */
export function longestPrefix(config: KubeObject, reference: string): string | undefined {
  const images = memberAt(config, ["spec", "matchImages"]);
  const prefixes = (Array.isArray(images) ? images : []).flatMap((image) =>
    isJsonObject(image) && typeof image["prefix"] === "string" ? [image["prefix"]] : [],
  );
  const matching = prefixes.filter((prefix) => reference.startsWith(prefix));
  return matching.toSorted((a, b) => b.length - a.length)[0];
}

/** A reference after rewriting and what was applied to it. */
interface RewrittenReference {
  readonly reference: string;
  readonly applied: readonly AppliedImageConfig[];
  /** The pull secret that an ImageConfig adds. */
  readonly pullSecret: string | undefined;
  /** The ImageConfig that demands signatures. It is not among those applied: signatures are not verified yet. */
  readonly verification: string | undefined;
}

/** Rewrites a reference once, then selects the other ImageConfigs by the result. */
export function applyImageConfigs(configs: readonly KubeObject[], original: string): RewrittenReference {
  const applied: AppliedImageConfig[] = [];
  const note = (selected: SelectedImageConfig | undefined, reason: ImageConfigPurpose): void => {
    if (selected !== undefined) applied.push({ name: selected.config.metadata.name ?? "", reason });
  };
  const rewrite = selectImageConfig(configs, original, "RewriteImage");
  const replacement = rewrite && textAt(rewrite.config, ["spec", "rewriteImage", "prefix"]);
  const reference =
    rewrite && replacement !== undefined ? replacement + original.slice(rewrite.prefix.length) : original;
  note(rewrite, "RewriteImage");
  const secret = selectImageConfig(configs, reference, "SetImagePullSecret");
  note(secret, "SetImagePullSecret");
  const pullSecret = secret && textAt(secret.config, [...purposes.SetImagePullSecret, "name"]);
  const verification = selectImageConfig(configs, reference, "VerifyImage")?.config.metadata.name;
  return { reference, applied, pullSecret, verification };
}

/** Whether a change of an ImageConfig can change where an image is pulled from, or with which secret. */
export function concernsPulling(config: KubeObject): boolean {
  return has(config, "RewriteImage") || has(config, "SetImagePullSecret");
}

/** Whether a change of an ImageConfig can change how a package is fetched, or whether it may be installed. */
export function concernsFetching(config: KubeObject): boolean {
  return concernsPulling(config) || has(config, "VerifyImage");
}

function has(config: KubeObject, purpose: ImageConfigPurpose): boolean {
  return memberAt(config, purposes[purpose]) !== undefined;
}
