// SPDX-License-Identifier: Apache-2.0
import type { KubeObject } from "@purlin/kube-client";
import { memberAt, textAt } from "@purlin/kube-controller";
import { isJsonObject } from "@purlin/kube-objects";

/** When the registry must be asked for what is on disk. */
export type PullPolicy = "Always" | "IfNotPresent" | "Never";

/** Which package, and how it may be fetched. */
export interface PackageRequest {
  /** As the user wrote it. */
  readonly reference: string;
  readonly pullSecrets: readonly string[];
  readonly pullPolicy: PullPolicy;
  readonly signal?: AbortSignal | undefined;
}

/** How a package, or a revision of one, wants a reference to be fetched. */
export function requestOf(object: KubeObject, reference: string, signal: AbortSignal): PackageRequest {
  const secrets = memberAt(object, ["spec", "packagePullSecrets"]);
  const names = (Array.isArray(secrets) ? secrets : []).filter(isJsonObject).map((one) => textAt(one, ["name"]) ?? "");
  return {
    reference,
    pullSecrets: names.filter((name) => name !== ""),
    pullPolicy: policyOf(textAt(object, ["spec", "packagePullPolicy"])),
    signal,
  };
}

/** The schema takes any text; what is none of the three is the default. */
function policyOf(text: string | undefined): PullPolicy {
  return text === "Always" || text === "Never" ? text : "IfNotPresent";
}

/** Where the digest is noted, a revision stays what it was, however its tag moves. */
export function referenceOfRevision(revision: KubeObject): string {
  const image = textAt(revision, ["spec", "image"]) ?? "";
  const digest = textAt(revision, ["spec", "digest"]);
  return digest === undefined || image.includes("@") ? image : `${image}@${digest}`;
}
