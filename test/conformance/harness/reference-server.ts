// SPDX-License-Identifier: Apache-2.0
import { setTimeout as delay } from "node:timers/promises";
import { type RealCluster, startRealCluster } from "../../../tools/peers/real-cluster.ts";
import type { ServerUnderTest } from "./server-under-test.ts";
import { send, type Target } from "./wire.ts";

/** The loops of the controller manager that clients of an API server lean on. */
const controllers = [
  "garbage-collector-controller",
  "namespace-controller",
  "serviceaccount-controller",
  "clusterrole-aggregation-controller",
];

/** Events live this long on both servers, so that a case can see one go. */
export const eventLifetimeSeconds = 20;

/** Starts a real kube-apiserver with etcd and the controllers that belong to its behaviour. */
export async function startReference(): Promise<ServerUnderTest> {
  const cluster = await startRealCluster({ controllers, apiserverFlags: [`--event-ttl=${eventLifetimeSeconds}s`] });
  const { server, caPem, admin, kubeconfig, kubectl } = cluster;
  const target = { server, caPem, certPem: admin.certPem, keyPem: admin.keyPem };
  await settled(target);
  return {
    name: "reference",
    target,
    kubeconfig,
    kubectl,
    compact: () => compact(cluster, target),
    stop: cluster.stop,
  };
}

/** Ready comes before the first namespaces and their accounts are there. */
async function settled(target: Target): Promise<void> {
  const path = "/api/v1/namespaces/default/serviceaccounts/default";
  while ((await send(target, { method: "GET", path })).code !== 200) await delay(50);
}

/** etcd forgets at once when told to; the API server's own memory of the past follows within its polling period. */
async function compact({ etcdUrl }: RealCluster, target: Target): Promise<void> {
  const path = "/api/v1/namespaces/default/configmaps?limit=1";
  const { body } = await send(target, { method: "GET", path });
  const revision = (body as { readonly metadata: { readonly resourceVersion: string } }).metadata.resourceVersion;
  const answer = await fetch(`${etcdUrl}/v3/kv/compaction`, {
    method: "POST",
    body: JSON.stringify({ revision, physical: true }),
  });
  if (!answer.ok) throw new Error(`etcd did not compact: ${await answer.text()}`);
}
