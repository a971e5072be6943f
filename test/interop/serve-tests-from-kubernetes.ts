// SPDX-License-Identifier: Apache-2.0
// Loaded before a test file of the composition package, it makes the file run on a real kube-apiserver and etcd.
import { readFileSync } from "node:fs";
import { accessFromKubeconfig, createHttpsTransport } from "@purlin/kube-client";
import { serveTestsFrom } from "@purlin/kube-controller/testing";
import { startRealCluster } from "../../tools/peers/real-cluster.ts";

serveTestsFrom(async () => {
  const cluster = await startRealCluster({ controllers: ["garbage-collector-controller"] });
  const file = cluster.kubeconfig;
  const access = await accessFromKubeconfig(JSON.parse(readFileSync(file, "utf8")), { file, env: {} });
  return {
    connect: (userAgent = "purlin") => createHttpsTransport(access, { userAgent }),
    stop: () => cluster.stop(),
  };
});
