// SPDX-License-Identifier: Apache-2.0
import type { KubeObject } from "@purlin/kube-client";
import { controllerReference, isControlledBy, textAt } from "@purlin/kube-controller";
import { parseReference } from "../../oci/image-reference.ts";
import { applyOwned, runtimeFieldManager } from "../apply-owned.ts";
import { createDepartures, type Departures } from "../departures.ts";
import type { PackageRuntime, RuntimeReport } from "../package-runtime.ts";
import { ensureCertificates } from "./certificates.ts";
import { deleteExactly } from "./delete-owned.ts";
import { deploymentOf } from "./deployment.ts";
import { type DeploymentState, deploymentState } from "./deployment-status.ts";
import type { KubernetesRuntimeOptions } from "./kubernetes-runtime-options.ts";
import { dropLeftovers } from "./leftovers.ts";
import { createRunnableCheck } from "./require-runnable.ts";
import { retire } from "./retire.ts";
import { runtimeKinds } from "./runtime-kinds.ts";
import { endpointOf } from "./runtime-names.ts";
import { isNewer, openScene, pullSecrets, type RuntimeScene } from "./runtime-scene.ts";
import { serviceAccountOf } from "./service-account.ts";
import { applyAlias, applyService } from "./shared-service.ts";
import { kubernetesWatches } from "./watches.ts";

const defaultLingerMs = 5_000;
/** A Deployment that does not come up is looked at this often, though its own changes wake us. */
const lookAgainMs = 30_000;
/** Timers are for days, not for months. */
const longestWaitMs = 3_600_000;

/** Runs packages on a cluster: a Deployment for each active revision, with Service, ServiceAccount and certificates. */
export function createKubernetesRuntime(options: KubernetesRuntimeOptions): PackageRuntime {
  const { clock, lingerMs = defaultLingerMs, isInUse } = options;
  const departures = createDepartures({ clock, lingerMs, isInUse });
  const requireRunnable = createRunnableCheck(options.packages);
  return {
    async prepare(pass) {
      const scene = await openScene(options, pass);
      const isInCharge = await applyService(scene, false);
      await ensureCertificates(scene, isInCharge);
      const { serverSecret, clientSecret } = scene.names;
      const { imageConfig } = scene;
      return { tlsServerSecretName: serverSecret, tlsClientSecretName: clientSecret, imageConfig };
    },
    async run(pass) {
      departures.forget(pass.revision.metadata.name ?? "");
      const scene = await openScene(options, pass);
      await requireRunnable(pass.revision, pass.signal);
      return run(scene, departures);
    },
    retire: (pass) => retire(options, pass, departures),
    watches: kubernetesWatches,
  };
}

async function run(scene: RuntimeScene, departures: Departures): Promise<RuntimeReport> {
  const { options, type } = scene;
  const awaits = await options.awaitsActivation?.(scene);
  const isInCharge = await applyService(scene, false);
  const { mark, renewInMs } = await ensureCertificates(scene, isInCharge);
  const deployment = await applyDeployment(scene, mark, awaits !== undefined);
  const state = deploymentState(deployment, type.kind);
  if (state.problem !== undefined) {
    const { problem: message, isBroken: isProblem } = state;
    return { isHealthy: false, message, isProblem, requeueAfterMs: lookAgainMs };
  }
  const endpoint = await publish(scene, state);
  const leftoversMs = state.isRolledOut ? await dropLeftovers(scene, departures) : undefined;
  const requeueAfterMs = Math.min(renewInMs ?? longestWaitMs, leftoversMs ?? longestWaitMs, longestWaitMs);
  return { isHealthy: true, endpoint, requeueAfterMs, awaitsActivation: awaits };
}

/**
 * Where the function is called. It is told when the function answers, and one that was told before stays until the new
 * one answers with everything it has.
 */
async function publish(scene: RuntimeScene, state: DeploymentState): Promise<string | undefined> {
  const { type, options, revision, names } = scene;
  if (!state.isServing) return undefined;
  const isReached = await applyService(scene, true);
  // The certificate goes where the calls go: it must not be collected with the one that served before.
  if (isReached) await ensureCertificates(scene, true);
  if (type.kind !== "Function" || !isReached) return undefined;
  const wanted = endpointOf(names.service, options.namespace);
  const told = textAt(revision, ["status", "endpoint"]);
  if (told !== undefined && told !== wanted && !state.isRolledOut) return undefined;
  await applyAlias(scene);
  return wanted;
}

async function applyDeployment(
  scene: RuntimeScene,
  certificateMark: string | undefined,
  awaitsActivation: boolean,
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
    awaitsActivation,
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
 * A Deployment whose name the template gives cannot change the Pods it is of: that of an older revision goes first. Only
 * so are such upgrades possible, with a pause.
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

/** Where a revision is known by its digest that alone counts: a tag beside it would only mislead. */
function imageOf(revision: KubeObject): string {
  const image = textAt(revision, ["status", "resolvedImage"]) ?? textAt(revision, ["spec", "image"]) ?? "";
  if (textAt(revision, ["spec", "digest"]) === undefined) return image;
  const { registry, repository, digest } = parseReference(image);
  return digest === undefined ? image : `${registry}/${repository}@${digest}`;
}
