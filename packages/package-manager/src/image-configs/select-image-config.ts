// SPDX-License-Identifier: Apache-2.0

import { isJsonObject } from "@purlin/kube-objects/json";
import { type KubeObject, memberAt, textAt } from "@purlin/kube-objects/object";

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
