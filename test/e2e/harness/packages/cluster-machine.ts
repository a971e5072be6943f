// SPDX-License-Identifier: Apache-2.0
import { mkdtemp } from "node:fs/promises";
import { join } from "node:path";
import { openClusterPackages } from "@purlin/control-plane";
import type { KubeClient } from "@purlin/kube-client";
import { startKubelet } from "../kubelet/kubelet.ts";
import { writeSecretFiles } from "../kubelet/mounted-secrets.ts";
import { type PackageMachine, packageNamespace } from "./package-machine.ts";

/** As short as for processes: a replaced Deployment stays for the duration of a call. */
const lingerMs = 1_000;
const clientSecretName = "crossplane-tls-client";
const revisionLabel = "pkg.crossplane.io/revision";

/** A cluster: functions are Deployments, which outlive a control plane, and the suite is the node they run on. */
export async function createClusterMachine(directory: string, client: KubeClient): Promise<PackageMachine> {
  const kubelet = await startKubelet(client, join(directory, "node"), packageNamespace);
  return {
    async begin(functionRevisionSelectors, functionRollouts) {
      const packages = await openClusterPackages({
        directory: join(directory, "packages"),
        namespace: packageNamespace,
        functionRevisionSelectors,
        functionRollouts,
        lingerMs,
      });
      const functions = { security: packages.security, names: kubelet.names };
      return { packages, functions, async [Symbol.asyncDispose]() {} };
    },
    // Deployments always do.
    spare() {},
    running: () =>
      kubelet
        .pods()
        .map(({ template }) => template.metadata.labels[revisionLabel] ?? "")
        .toSorted(),
    hosts: () =>
      kubelet
        .pods()
        .map(({ address, template }) => `${address} ${template.metadata.labels[revisionLabel]}.${packageNamespace}\n`)
        .join(""),
    async access() {
      const key = { namespace: packageNamespace, name: clientSecretName };
      // A folder each: several may ask at the same time.
      const certificates = await mkdtemp(join(directory, "function-client-"));
      await writeSecretFiles(certificates, await client.get({ apiVersion: "v1", kind: "Secret" }, key));
      return { certificates, names: kubelet.names };
    },
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
