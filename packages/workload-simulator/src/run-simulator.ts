// SPDX-License-Identifier: Apache-2.0

import type { Clock, Log } from "@purlin/base";
import { type InformerPool, isNoMatch, type KubeClient } from "@purlin/kube-client";
import {
  crdType,
  createControllerClient,
  createControllerEngine,
  createEventRecorder,
  isEstablished,
  type WatchingController,
} from "@purlin/kube-controller";
import { autoscalerController } from "./autoscaling/autoscalers.ts";
import { cronJobController } from "./cron-jobs/reconciler.ts";
import { daemonSetController } from "./daemon-sets/reconciler.ts";
import { deploymentController } from "./deployments/reconciler.ts";
import { disruptionController } from "./disruption/budgets.ts";
import { jobController } from "./jobs/job-controller.ts";
import { gatewayController, ingressController, loadBalancerController } from "./networking/addresses.ts";
import { endpointSliceController } from "./networking/endpoint-slices.ts";
import { createNode } from "./node.ts";
import { type PodDeps, podController } from "./pods/pod-controller.ts";
import { replicaSetController, replicationController } from "./replica-sets/reconciler.ts";
import { statefulSetController } from "./stateful-sets/reconciler.ts";
import { claimController, createStorageClass, volumeController } from "./storage/claims.ts";

/** What the simulator runs on. */
export interface RunOptions {
  readonly kube: KubeClient;
  readonly informers: InformerPool;
  readonly clock: Clock;
  readonly log: Log;
}

/** Starts all simulated controllers. */
export async function runSimulator(options: RunOptions): Promise<AsyncDisposable> {
  const { kube, informers, clock, log } = options;
  await using starting = new AsyncDisposableStack();
  await createNode(kube, clock.now());
  await createStorageClass(kube);
  const client = createControllerClient({ client: kube, informers, clock });
  starting.defer(() => client.close());
  const events = createEventRecorder({ client: kube, source: "kubelet", clock, log });
  starting.defer(() => events.close());
  const engine = createControllerEngine({ informers, clock, log, resyncMs: 0, concurrency: 100 });
  starting.defer(() => engine.close());
  const deps: PodDeps = { kube, client, informers, events, clock, log };
  const controllers = allControllers(deps);
  const startWatches = async (): Promise<void> => {
    for (const { spec, watches } of controllers) await engine.startWatches(spec.name, watches).catch(ignoreUnserved);
  };
  for (const { spec } of controllers) engine.start(spec);
  await startWatches();
  starting.use(followDefinitions(informers, () => void startWatches().catch(() => {})));
  const closing = starting.move();
  return { [Symbol.asyncDispose]: () => closing.disposeAsync() };
}

function allControllers(deps: PodDeps): readonly WatchingController[] {
  return [
    podController(deps),
    replicaSetController(deps),
    replicationController(deps),
    deploymentController(deps),
    statefulSetController(deps),
    daemonSetController(deps),
    jobController(deps),
    cronJobController(deps),
    autoscalerController(deps),
    disruptionController(deps),
    endpointSliceController(deps),
    loadBalancerController(deps),
    ingressController(deps),
    gatewayController(deps),
    claimController(deps),
    volumeController(deps),
  ];
}

/** Kinds that the server does not serve have no objects to simulate. */
function ignoreUnserved(error: unknown): void {
  if (!isNoMatch((error as Error).cause)) throw error;
}

const gatewayDefinition = "gateways.gateway.networking.k8s.io";

/** Calls back when Gateways begin to be served: their kind is defined by users. */
function followDefinitions(informers: InformerPool, onChange: () => void): AsyncDisposable {
  const lease = informers.acquire(crdType);
  const stop = lease.informer.subscribe(({ type, object }) => {
    const isGateway = object.metadata.name === gatewayDefinition;
    if (isGateway && type !== "deleted" && isEstablished(object)) onChange();
  });
  return {
    async [Symbol.asyncDispose]() {
      stop();
      await lease.release();
    },
  };
}
