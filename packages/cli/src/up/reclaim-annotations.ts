// SPDX-License-Identifier: Apache-2.0
import { developmentAnnotations, trustedDevelopmentOf } from "@purlin/function-runner";
import type { KubeClient } from "@purlin/kube-client";
import type { JsonObject } from "@purlin/kube-objects";
import { type KubeObject, keyOf } from "@purlin/kube-objects/object";
import { ApplyError, type ApplyManifestsOptions, applyManifests } from "../manifests/apply-manifests.ts";
import { applyProblems } from "../manifests/apply-problem.ts";
import type { Manifest } from "../manifests/manifest.ts";
import { functionType, upTrust } from "./follow-functions.ts";

/**
 * Whether a Function, as stored after its file was applied, has development annotations of that file that another field manager set
 * too: an earlier version of this program, or a user with kubectl. A Function that is controlled by another object is left alone.
 */
export function hasSharedAnnotations(stored: KubeObject): boolean {
  const { apiVersion, kind, metadata } = stored;
  if (kind !== functionType.kind || apiVersion !== functionType.apiVersion) return false;
  if (metadata.ownerReferences?.some(({ controller }) => controller === true)) return false;
  return trustedDevelopmentOf(stored as unknown as JsonObject, upTrust)?.kind === "ignored";
}

/** Makes files the only ones that set the development annotations of their Functions: removes what is stored, and applies them again. */
export async function reclaimAnnotations(
  client: KubeClient,
  shared: ReadonlyMap<Manifest, KubeObject>,
  options: ApplyManifestsOptions,
): Promise<void> {
  for (const [manifest, stored] of shared) {
    await clearAnnotations(client, stored, options.signal).catch((error: unknown) => {
      throw new ApplyError(applyProblems(manifest, error));
    });
  }
  if (shared.size > 0) await applyManifests(client, [...shared.keys()], options);
}

async function clearAnnotations(client: KubeClient, stored: KubeObject, signal: AbortSignal): Promise<void> {
  const annotations = Object.fromEntries(Object.values(developmentAnnotations).map((name) => [name, null]));
  const { resourceVersion } = stored.metadata;
  const patch = { metadata: { annotations, ...(resourceVersion && { resourceVersion }) } };
  await client.patch({ ...functionType, ...keyOf(stored) }, patch, { type: "merge", signal });
}
