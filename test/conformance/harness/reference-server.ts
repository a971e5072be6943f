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
  "persistentvolumeclaim-protection-controller",
  "persistentvolume-protection-controller",
  "volumeattributesclass-protection-controller",
  "validatingadmissionpolicy-status-controller",
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

/**
 * Compacts etcd and leaves word of it where another API server would: the API server drops its own memory of the past when
 * it reads that, which each kind does every 15 seconds.
 */
async function compact({ etcdUrl }: RealCluster, target: Target): Promise<void> {
  const { body } = await send(target, { method: "GET", path: "/api/v1/namespaces/default/configmaps?limit=1" });
  const revision = (body as { readonly metadata: { readonly resourceVersion: string } }).metadata.resourceVersion;
  await callEtcd(etcdUrl, "kv/put", { key: base64("compact_rev_key"), value: base64(revision) });
  await callEtcd(etcdUrl, "kv/compaction", { revision, physical: true });
}

async function callEtcd(url: string, method: string, message: object): Promise<void> {
  const answer = await fetch(`${url}/v3/${method}`, { method: "POST", body: JSON.stringify(message) });
  const text = await answer.text();
  // Another case may have forgotten as much a moment ago.
  if (!answer.ok && !text.includes("has been compacted")) throw new Error(`etcd refused ${method}: ${text}`);
}

function base64(text: string): string {
  return Buffer.from(text).toString("base64");
}
