// SPDX-License-Identifier: Apache-2.0
import { readFileSync } from "node:fs";
import { accessFromKubeconfig, createHttpsTransport } from "@purlin/kube-client";
import type { TestServer } from "@purlin/kube-controller/testing";
import { type RealCluster, startRealCluster } from "../../tools/peers/real-cluster.ts";

/** A real kube-apiserver and etcd, with a garbage collector and other controllers, for tests that run on the embedded server otherwise. */
export async function startKubernetesServer(
  ...more: readonly string[]
): Promise<TestServer & Pick<RealCluster, "kubeconfig" | "kubectl">> {
  const cluster = await startRealCluster({ controllers: ["garbage-collector-controller", ...more] });
  const file = cluster.kubeconfig;
  const access = await accessFromKubeconfig(JSON.parse(readFileSync(file, "utf8")), { file, env: {} });
  return {
    kubeconfig: cluster.kubeconfig,
    kubectl: cluster.kubectl,
    connect: (userAgent = "purlin") => createHttpsTransport(access, { userAgent }),
    stop: () => cluster.stop(),
  };
}
