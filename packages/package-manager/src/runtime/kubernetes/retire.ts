// SPDX-License-Identifier: Apache-2.0
import { isDeleted, type KubeObject, textAt } from "@purlin/kube-objects/object";
import { packageLabels } from "../../package-kinds.ts";
import type { Retirements } from "../leases.ts";
import type { Retirement, RuntimeContext } from "../package-runtime.ts";
import { deleteExactly, type Ownership, ownedObjects } from "./delete-owned.ts";
import { type KubernetesRuntimeOptions, runtimeNames } from "./runtime-names.ts";
import { isActive } from "./runtime-scene.ts";

/**
 * Deletes the Deployment of a revision that is no longer active once no call can be on the way to it, and its Service and certificate
 * if they are its own. Objects named after the package stay for the next revision. The garbage collector deletes the objects of a
 * revision that is deleted.
 */
export async function retire(
  options: KubernetesRuntimeOptions,
  { type, revision, signal }: RuntimeContext,
  retirements: Retirements,
): Promise<Retirement> {
  const { uid, name = "" } = revision.metadata;
  if (uid === undefined || isDeleted(revision)) {
    retirements.forget(name);
    return {};
  }
  // Neither active nor inactive: it was never started.
  if (textAt(revision, ["spec", "desiredState"]) !== "Inactive") return {};
  const ownership: Ownership = { objects: options.objects, namespace: options.namespace, uid, signal };
  const going = [...(await ownedObjects(ownership, "deployment"))];
  if (runtimeNames(type, revision, {}).isPerRevision) {
    going.push(...(await ownedObjects(ownership, "service")));
    const secrets = await ownedObjects(ownership, "secret");
    const needed = await secretsInUse(options, { type, revision, signal });
    going.push(...secrets.filter(({ metadata }) => !needed.has(metadata.name ?? "")));
  }
  if (going.length === 0) {
    retirements.forget(name);
    return {};
  }
  const waitMs = retirements.waitMs(name);
  if (waitMs > 0) return { requeueAfterMs: waitMs };
  for (const object of going) await deleteExactly(ownership, object);
  retirements.forget(name);
  return {};
}

/** The Secrets that active revisions of the same package are to use, or still use. */
export async function secretsInUse(
  { client }: KubernetesRuntimeOptions,
  { type, revision, signal }: RuntimeContext,
): Promise<ReadonlySet<string>> {
  const labels = { [packageLabels.package]: revision.metadata.labels?.[packageLabels.package] ?? "" };
  const revisions = await client.list(type.revision, { labels, signal });
  return new Set(revisions.filter(isActive).flatMap(secretsOf));
}

function secretsOf(revision: KubeObject): string[] {
  const fields = ["tlsServerSecretName", "tlsClientSecretName"];
  return fields
    .flatMap((field) => [textAt(revision, ["spec", field]) ?? [], textAt(revision, ["status", field]) ?? []])
    .flat();
}
