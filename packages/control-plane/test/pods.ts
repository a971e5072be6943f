// SPDX-License-Identifier: Apache-2.0
// A kubelet, a Deployment controller and cluster DNS in one: what a Deployment asks for is a function in this process.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { NameResolver } from "@purlin/function-runner";
import { type FunctionHandler, nopLogger, type RunningFunction, start } from "@purlin/function-sdk";
import type { KubeClient } from "@purlin/kube-client";
import type { KubeObject } from "@purlin/kube-objects/object";

/** The pods of a cluster. */
export interface Pods extends AsyncDisposable {
  /** Answers with the addresses of the pods behind a Service, `<service>.<namespace>`. */
  readonly names: NameResolver;
  /** How many were started so far. */
  readonly started: number;
}

interface Pod {
  /** Its uid: one that is made again under the same name has pods of its own. */
  readonly deployment: string;
  /** What it was started from. */
  readonly template: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly address: string;
  readonly served: RunningFunction;
}

type PodTemplate = {
  readonly metadata: { readonly labels: Readonly<Record<string, string>> };
  readonly spec: { readonly volumes: readonly { readonly secret: { readonly secretName: string } }[] };
};

const deployments = { apiVersion: "apps/v1", kind: "Deployment" };

/** Runs a function for each Deployment: a new pod is up before the old one is stopped. */
export function runPods(users: KubeClient, namespace: string, handler: (pod: number) => FunctionHandler): Pods {
  const directory = mkdtempSync(join(tmpdir(), "purlin-pods-"));
  const pods = new Set<Pod>();
  let started = 0;
  let stopping = false;

  async function startPod(deployment: string, template: PodTemplate): Promise<Pod> {
    const number = ++started;
    const folder = join(directory, String(number));
    mkdirSync(folder);
    for (const { secret } of template.spec.volumes) {
      const { data } = (await users.get(
        { apiVersion: "v1", kind: "Secret" },
        { namespace, name: secret.secretName },
      )) as {
        data?: Record<string, string>;
      };
      for (const [key, text] of Object.entries(data ?? {}))
        writeFileSync(join(folder, key), Buffer.from(text, "base64"));
    }
    // Addresses of this process's own: several suites may run on one machine.
    const address = `127.${64 + (process.pid % 64)}.${(process.pid >> 6) % 256}.${number}`;
    const options = { address: `${address}:9443`, tlsCertsDir: folder, metricsAddress: "", log: nopLogger };
    const served = await start(handler(number), options);
    const pod = {
      deployment,
      template: JSON.stringify(template),
      labels: template.metadata.labels,
      address,
      served,
    };
    pods.add(pod);
    return pod;
  }

  async function run(deployment: KubeObject): Promise<void> {
    const { uid = "" } = deployment.metadata;
    const { template } = deployment["spec"] as { template: PodTemplate };
    const mine = [...pods].filter((pod) => pod.deployment === uid);
    if (mine.some((pod) => pod.template === JSON.stringify(template))) return;
    await startPod(uid, template);
    await stop(mine);
    const counts = { replicas: 1, updatedReplicas: 1, readyReplicas: 1, availableReplicas: 1 };
    const conditions = [{ type: "Available", status: "True", reason: "MinimumReplicasAvailable" }];
    const { generation: observedGeneration } = deployment.metadata;
    const status = { observedGeneration, ...counts, conditions };
    await users.update({ ...deployments, ...deployment, status } as KubeObject, { subresource: "status" });
  }

  async function stop(ending: readonly Pod[]): Promise<void> {
    for (const pod of ending) {
      pods.delete(pod);
      await pod.served[Symbol.asyncDispose]();
    }
  }

  async function look(): Promise<void> {
    const { items } = await users.list(deployments, { namespace });
    const uids = new Set(items.map(({ metadata }) => metadata.uid));
    await stop([...pods].filter((pod) => !uids.has(pod.deployment)));
    for (const deployment of items) await run(deployment);
  }

  const looking = (async () => {
    while (!stopping) {
      // Conflicts and Secrets that are not there yet are met again.
      await look().catch(() => {});
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    await stop([...pods]);
  })();

  return {
    get started() {
      return started;
    },
    names: {
      async resolve(host) {
        const [name = ""] = host.split(".");
        const service = await users.get({ apiVersion: "v1", kind: "Service" }, { namespace, name });
        const { selector } = service["spec"] as { selector: Record<string, string> };
        const wanted = Object.entries(selector);
        return [...pods]
          .filter(({ labels }) => wanted.every(([k, v]) => labels[k] === v))
          .map(({ address }) => address);
      },
    },
    async [Symbol.asyncDispose]() {
      stopping = true;
      await looking;
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
