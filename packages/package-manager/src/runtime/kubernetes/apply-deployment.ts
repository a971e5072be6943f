// SPDX-License-Identifier: Apache-2.0

import { controllerReference, isControlledBy, type KubeObject, textAt } from "@purlin/kube-objects/object";
import { parseReference } from "@purlin/oci";
import { applyOwned, runtimeFieldManager } from "../apply-owned.ts";
import { deleteExactly } from "./delete-owned.ts";
import { deploymentOf } from "./deployment.ts";
import { runtimeKinds } from "./runtime-names.ts";
import { isNewer, pullSecrets, type RuntimeScene } from "./runtime-scene.ts";
import { serviceAccountOf } from "./service-account.ts";

/** Applies the Deployment of a revision, with a number of Pods other than that of its template if given, and the account its Pods run as if that is ours. Resolves to the stored Deployment. */
export async function applyDeployment(
  scene: RuntimeScene,
  certificateMark: string | undefined,
  replicas?: number,
): Promise<KubeObject> {
  const { options, type, revision, names, config, signal } = scene;
  const { objects, namespace } = options;
  const owner = controllerReference(revision);
  const secrets = await pullSecrets(scene);
  const deployment = deploymentOf({
    type,
    revision,
    names,
    config,
    place: { name: names.deployment, namespace, owner },
    image: imageOf(revision),
    pullSecrets: secrets.pods,
    certificateMark,
    replicas,
  });
  if (textAt(deployment, ["spec", "template", "spec", "serviceAccountName"]) === names.serviceAccount) {
    await applyServiceAccount(scene, secrets.account);
  }
  await makeRoom(scene);
  const applying = { fieldManager: runtimeFieldManager, force: true, signal };
  return (await objects.applyIfChanged(deployment, applying)).object;
}

/** Revisions may share an account by the name their template gives; it belongs to the newest of them. */
async function applyServiceAccount(scene: RuntimeScene, pullSecretNames: readonly string[]): Promise<void> {
  const { options, revision, names, config, siblings, signal } = scene;
  const { objects, namespace } = options;
  const place = { name: names.serviceAccount, namespace, owner: controllerReference(revision) };
  const existing = await objects.get(runtimeKinds.serviceAccount, place, { signal });
  const newer = siblings.filter((one) => isNewer(one, revision));
  if (existing !== undefined && newer.some(({ metadata }) => isControlledBy(existing, metadata.uid))) return;
  const account = serviceAccountOf({ config, place, existing, pullSecrets: pullSecretNames });
  await applyOwned(objects, account, { existing, signal });
}

/**
 * The selector of a Deployment is immutable: with a fixed name in the template, the Deployment of the older revision is deleted first.
 * Such upgrades have a short downtime.
 */
async function makeRoom({ options, revision, names, siblings, signal }: RuntimeScene): Promise<void> {
  const { objects, namespace } = options;
  if (names.deployment === revision.metadata.name) return;
  const existing = await objects.get(runtimeKinds.deployment, { namespace, name: names.deployment }, { signal });
  if (existing === undefined || isControlledBy(existing, revision.metadata.uid)) return;
  const older = siblings.filter((one) => isNewer(revision, one));
  if (!older.some(({ metadata }) => isControlledBy(existing, metadata.uid))) return;
  await deleteExactly({ objects, namespace, uid: undefined, signal }, existing);
}

/** The image of a revision by digest, if it has one: a tag beside it would be ignored. */
function imageOf(revision: KubeObject): string {
  const image = textAt(revision, ["status", "resolvedImage"]) ?? textAt(revision, ["spec", "image"]) ?? "";
  if (textAt(revision, ["spec", "digest"]) === undefined) return image;
  const { registry, repository, digest } = parseReference(image);
  return digest === undefined ? image : `${registry}/${repository}@${digest}`;
}
