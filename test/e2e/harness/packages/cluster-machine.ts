// SPDX-License-Identifier: Apache-2.0
import type { KubeClient } from "@purlin/kube-client";
import { startKubelet } from "../kubelet/kubelet.ts";
import { type PackageMachine, packageNamespace } from "./package-machine.ts";

const revisionLabel = "pkg.crossplane.io/revision";

/** A cluster: functions are Deployments, which outlive a control plane, and the suite is the node they run on. */
export async function createClusterMachine(directory: string, client: KubeClient): Promise<PackageMachine> {
  const kubelet = await startKubelet(client, directory, packageNamespace);
  return {
    async begin() {
      throw new Error("not yet");
    },
    running: () =>
      kubelet
        .pods()
        .map(({ template }) => template.metadata.labels[revisionLabel] ?? "")
        .toSorted(),
    isEndpointOf(endpoint, revision, functionRevisionSelectors) {
      const service = functionRevisionSelectors ? revision.name : revision.function;
      return endpoint === `dns:///${service}.${packageNamespace}:9443`;
    },
    async [Symbol.asyncDispose]() {
      await kubelet[Symbol.asyncDispose]();
      await client.close();
    },
  };
}
