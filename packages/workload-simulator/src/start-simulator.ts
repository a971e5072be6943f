// SPDX-License-Identifier: Apache-2.0
import { type Clock, type Log, systemClock } from "@purlin/base";
import { createInformerPool, type InformerLease, type KubeClient } from "@purlin/kube-client";
import { installCrds } from "@purlin/kube-controller";
import { textOf } from "@purlin/kube-objects/errors";
import type { KubeObject, TypeRef } from "@purlin/kube-objects/object";
import { kinds } from "./kinds.ts";
import { simulationCrd } from "./simulation-crd.ts";

/** What {@link startWorkloadSimulator} is given. */
interface SimulatorOptions {
  /** A client with the rights of `simulatorRules`. The caller closes it. */
  readonly client: KubeClient;
  readonly clock?: Clock | undefined;
  readonly log: Log;
  readonly signal?: AbortSignal | undefined;
  /** Simulate only the scheduler and the kubelet: other programs run the controllers. */
  readonly podsOnly?: boolean | undefined;
}

const retryMs = 1000;

// The first object of one of these kinds starts the simulation.
const triggers: readonly TypeRef[] = [
  kinds.deployment,
  kinds.replicaSet,
  kinds.statefulSet,
  kinds.daemonSet,
  kinds.job,
  kinds.cronJob,
  kinds.pod,
  kinds.service,
  kinds.claim,
  kinds.ingress,
  kinds.autoscaler,
  kinds.disruptionBudget,
];

/**
 * Simulates workloads until it is disposed of: what would be done by the controllers, the scheduler and the kubelet of a cluster. Nothing is loaded
 * before the first workload exists.
 */
export async function startWorkloadSimulator(options: SimulatorOptions): Promise<AsyncDisposable> {
  const { client: kube, clock = systemClock, log, signal, podsOnly } = options;
  await installCrds(kube, [simulationCrd()], { signal: signal ?? new AbortController().signal });
  const informers = createInformerPool(kube);
  let running: Promise<AsyncDisposable | undefined> | undefined;
  let isStopped = false;
  const start = async (): Promise<AsyncDisposable | undefined> => {
    try {
      const { runSimulator } = await import("./run-simulator.ts");
      return await runSimulator({ kube, informers, clock, log, podsOnly });
    } catch (error) {
      log.error("cannot simulate workloads, retrying", { error: textOf(error) });
      clock.schedule(retryMs, () => {
        if (!isStopped) running = start();
      });
      return undefined;
    }
  };
  const leases = triggers.map((type) => informers.acquire(type));
  const stops = leases.map(({ informer }) =>
    informer.subscribe(({ object }) => {
      if (isWorkload(object)) running ??= start();
    }),
  );
  return {
    async [Symbol.asyncDispose]() {
      isStopped = true;
      for (const stop of stops) stop();
      await (await running)?.[Symbol.asyncDispose]();
      await release(leases);
      await informers.stop();
    },
  };
}

async function release(leases: readonly InformerLease[]): Promise<void> {
  await Promise.all(leases.map((lease) => lease.release()));
}

/** The server has a Service of its own, which selects no Pods. */
function isWorkload({ kind, metadata }: KubeObject): boolean {
  return !(kind === kinds.service.kind && metadata.namespace === "default" && metadata.name === "kubernetes");
}
