// SPDX-License-Identifier: Apache-2.0
import { type Clock, type Log, systemClock } from "@purlin/base";
import { createInformerPool, type InformerLease, type KubeClient } from "@purlin/kube-client";
import {
  ageColumn,
  column,
  createCrd,
  free,
  installCrds,
  type KindDocs,
  listOf,
  object,
  text,
} from "@purlin/kube-controller";
import { textOf } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import type { KubeObject, TypeRef } from "@purlin/kube-objects/object";
import { kinds } from "./kinds.ts";

const docs: KindDocs = {
  about:
    "A Simulation says how simulated Pods behave: how long they take to become ready, and whether and how they fail. It applies to the Pods that it matches and that have no annotation simulation.purlin.dev. Of several Simulations that match a Pod, the first by name counts.",
  fields: {
    "spec.match": "Which Pods it is for. All conditions must hold; without any it is for every Pod.",
    "spec.match.images":
      "Patterns of image names, in which * stands for any characters. Only matching containers have the outcome.",
    "spec.match.namespaces": "Namespaces of the Pods.",
    "spec.match.podSelector": "Labels of the Pods, as a label selector.",
    "spec.readyAfter": "Time from the start of a container until it is ready, such as 5s.",
    "spec.outcome":
      'The state of the containers: Running, ImagePullBackOff, CrashLoopBackOff, OOMKilled, Pending, or "exit N" with an exit code.',
    "spec.outcomeAfter": "Time from the start of a container until it exits, such as 30s.",
  },
};

const duration: JsonObject = { ...text, maxLength: 32, pattern: "^([0-9]{1,9}(ms|s|m|h))+$" };

const outcome: JsonObject = {
  ...text,
  maxLength: 32,
  pattern: "^(Running|ImagePullBackOff|ErrImagePull|CrashLoopBackOff|OOMKilled|Pending|exit [0-9]{1,3})$",
};

const pattern: JsonObject = { ...text, minLength: 1, maxLength: 512 };

const spec: JsonObject = object({
  match: object({
    images: listOf(pattern, undefined, { maxItems: 64 }),
    namespaces: listOf(text, undefined, { maxItems: 64 }),
    podSelector: free,
  }),
  readyAfter: duration,
  outcome,
  outcomeAfter: duration,
});

/** What {@link startWorkloadSimulator} is given. */
interface SimulatorOptions {
  /** A client with the rights of `simulatorRules`. The caller closes it. */
  readonly client: KubeClient;
  readonly clock?: Clock | undefined;
  readonly log: Log;
  readonly signal?: AbortSignal | undefined;
}

const retryMs = 1000;

// The first object of one of these kinds starts the simulation.
const triggers: readonly TypeRef[] = [
  kinds.deployment,
  kinds.replicaSet,
  kinds.replicationController,
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
  const { client: kube, clock = systemClock, log, signal } = options;
  await installCrds(kube, [simulationCrd()], { signal: signal ?? new AbortController().signal });
  const informers = createInformerPool(kube);
  let running: Promise<AsyncDisposable | undefined> | undefined;
  let isStopped = false;
  const start = async (): Promise<AsyncDisposable | undefined> => {
    try {
      const { runSimulator } = await import("./run-simulator.ts");
      return await runSimulator({ kube, informers, clock, log });
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

/** The CRD of Simulation. */
function simulationCrd(): KubeObject {
  const columns = [column("OUTCOME", ".spec.outcome"), column("READY-AFTER", ".spec.readyAfter"), ageColumn];
  return createCrd({
    group: "simulation.purlin.dev",
    kind: "Simulation",
    docs,
    plural: "simulations",
    versions: [{ name: "v1alpha1", fields: { "spec*": spec }, columns, hasStatus: false }],
  });
}
