// SPDX-License-Identifier: Apache-2.0
import { textAt } from "@purlin/kube-objects/object";
import { createDepartures, type Departures } from "../departures.ts";
import type { PackageRuntime, RuntimeReport } from "../package-runtime.ts";
import { applyDeployment } from "./apply-deployment.ts";
import { ensureCertificates } from "./certificates.ts";
import { type DeploymentState, deploymentState } from "./deployment-status.ts";
import type { KubernetesRuntimeOptions } from "./kubernetes-runtime-options.ts";
import { dropLeftovers } from "./leftovers.ts";
import { createRunnableCheck } from "./require-runnable.ts";
import { retire } from "./retire.ts";
import { endpointOf } from "./runtime-names.ts";
import { openScene, type RuntimeScene } from "./runtime-scene.ts";
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
  // What a revision had under other names: it goes on being used itself, so only a while is waited.
  const leftovers = createDepartures({ clock, lingerMs });
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
      return run(scene, leftovers);
    },
    retire(pass) {
      leftovers.forget(pass.revision.metadata.name ?? "");
      return retire(options, pass, departures);
    },
    watches: kubernetesWatches,
  };
}

async function run(scene: RuntimeScene, leftovers: Departures): Promise<RuntimeReport> {
  const isInCharge = await applyService(scene, false);
  const { mark, renewInMs } = await ensureCertificates(scene, isInCharge);
  const deployment = await applyDeployment(scene, mark);
  const state = deploymentState(deployment, scene.type.kind);
  if (state.problem !== undefined) {
    const { problem: message, isBroken: isProblem } = state;
    return { isHealthy: false, message, isProblem, requeueAfterMs: lookAgainMs };
  }
  const endpoint = await publish(scene, state);
  const leftoversMs = state.isRolledOut ? await dropLeftovers(scene, leftovers) : undefined;
  const requeueAfterMs = Math.min(renewInMs ?? longestWaitMs, leftoversMs ?? longestWaitMs, longestWaitMs);
  return { isHealthy: true, endpoint, requeueAfterMs };
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
