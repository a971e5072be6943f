// SPDX-License-Identifier: Apache-2.0
// Two clusters: one with the controllers and the scheduler of Kubernetes, and kwok for a kubelet; one with the simulator for all of them.
import { setTimeout as delay } from "node:timers/promises";
import { silentLog } from "@purlin/base";
import { createHttpsTransport, createKubeClient, fixedCredentials, type KubeClient } from "@purlin/kube-client";
import type { KubeObject } from "@purlin/kube-objects/object";
import { startWorkloadSimulator } from "@purlin/workload-simulator";
import { startRealCluster } from "../../../tools/peers/real-cluster.ts";
import { startEmbedded } from "../harness/embedded-server.ts";
import type { Target } from "../harness/wire.ts";
import { kwokStages } from "./kwok-stages.ts";

/** The clusters; dispose of both at once. */
export interface TwoClusters extends AsyncDisposable {
  readonly real: KubeClient;
  readonly simulated: KubeClient;
}

const controllers = [
  "garbage-collector-controller",
  "namespace-controller",
  "serviceaccount-controller",
  "deployment-controller",
  "replicaset-controller",
  "replicationcontroller-controller",
  "statefulset-controller",
  "daemonset-controller",
  "job-controller",
  "cronjob-controller",
  "ttl-after-finished-controller",
  "endpoints-controller",
  "endpointslice-controller",
  "horizontal-pod-autoscaler-controller",
  "disruption-controller",
];
const controllerFlags = [
  "--kube-api-qps=1000",
  "--kube-api-burst=2000",
  "--horizontal-pod-autoscaler-sync-period=1s",
  "--concurrent-job-syncs=20",
];
const eventTtlSeconds = 3600;

/** Starts both. */
export async function startTwoClusters(): Promise<TwoClusters> {
  await using starting = new AsyncDisposableStack();
  const cluster = await startRealCluster({
    controllers,
    controllerFlags,
    apiserverFlags: [`--event-ttl=${eventTtlSeconds}s`],
    schedules: true,
    stages: kwokStages,
  });
  starting.defer(() => cluster.stop());
  const { server, caPem, admin } = cluster;
  const reference = { server, caPem, ...admin };
  const embedded = await startEmbedded(eventTtlSeconds);
  starting.defer(() => embedded.stop());
  const connect = ({ server: address, caPem: authority, certPem, keyPem }: Target): KubeClient => {
    const credentials = fixedCredentials({ certPem, keyPem });
    const client = createKubeClient(createHttpsTransport({ server: address, caPem: authority, credentials }));
    starting.defer(() => client.close());
    return client;
  };
  const real = connect(reference);
  const simulated = connect(embedded.target);
  starting.use(await startWorkloadSimulator({ client: connect(embedded.target), log: silentLog }));
  await createNode(real, await simulatedNode(simulated));
  const closing = starting.move();
  return { real, simulated, [Symbol.asyncDispose]: () => closing.disposeAsync() };
}

const nodeType = { apiVersion: "v1", kind: "Node" };

async function simulatedNode(client: KubeClient): Promise<KubeObject> {
  const probe = { apiVersion: "v1", kind: "Service", metadata: { name: "probe", namespace: "default" } };
  // The first workload makes the simulator create its Node.
  await client.create({ ...probe, spec: { ports: [{ port: 80 }] } });
  for (;;) {
    const [node] = (await client.list(nodeType)).items;
    if (node !== undefined) return node;
    await delay(50);
  }
}

/** Creates the Node of the cluster, with the name and the labels of the simulated one. kwok makes it ready. */
async function createNode(client: KubeClient, { metadata, spec }: KubeObject): Promise<void> {
  const { name = "", labels = {} } = metadata;
  await client.create({ ...nodeType, metadata: { name, labels }, spec: spec ?? {} });
  // The API server taints each new Node until a controller, which does not run here, finds it ready.
  await client.patch({ ...nodeType, name }, { spec: { taints: null } }, { type: "merge" });
}
