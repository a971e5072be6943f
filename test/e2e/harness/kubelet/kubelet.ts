// SPDX-License-Identifier: Apache-2.0
// A node for a cluster that has none: starts the process of a Deployment at a loopback address of its own, writes the
// status of the Deployment, and answers the DNS names of Services.
import { mkdir, mkdtemp } from "node:fs/promises";
import { join } from "node:path";
import type { NameResolver } from "@purlin/function-runner";
import { createInformerPool, type KubeClient } from "@purlin/kube-client";
import { isNotFound } from "@purlin/kube-objects/errors";
import type { JsonValue } from "@purlin/kube-objects/json";
import { type KubeObject, keyOf, keyText } from "@purlin/kube-objects/object";
import { createAddresses } from "./addresses.ts";
import { DeploymentRunner } from "./deployment-runner.ts";
import { mountsOf, writeSecretFiles } from "./mounted-secrets.ts";
import { type Pod, startPod } from "./pod.ts";
import { openPodImages, type PodImages } from "./pod-images.ts";
import type { PodTemplate } from "./pod-spec.ts";
import { createServiceNames } from "./service-names.ts";

/** The node of a cluster. */
export interface Kubelet extends AsyncDisposable {
  /** What the cluster's DNS would say. */
  readonly names: NameResolver;
  /** The pods that run. */
  pods(): readonly Pod[];
}

const deploymentType = { apiVersion: "apps/v1", kind: "Deployment" };
const secretType = { apiVersion: "v1", kind: "Secret" };
const serviceAccountType = { apiVersion: "v1", kind: "ServiceAccount" };

/** Starts a node for the Deployments of a namespace. */
export async function startKubelet(client: KubeClient, directory: string, namespace: string): Promise<Kubelet> {
  await mkdir(directory, { recursive: true });
  const informers = createInformerPool(client);
  const { informer } = informers.acquire(deploymentType);
  const node = { client, namespace, directory, images: await openPodImages(directory), takeAddress: createAddresses() };
  const runners = new Map<string, DeploymentRunner>();
  const ports = {
    start: (template: PodTemplate) => createPod(node, template),
    writeStatus: (deployment: KubeObject, status: object) => writeStatus(client, deployment, status),
  };
  informer.subscribe((change) => {
    const { object } = change;
    if (object.metadata.namespace !== namespace) return;
    const key = keyText(keyOf(object));
    const runner = runners.get(key) ?? new DeploymentRunner(ports);
    runners.set(key, runner);
    runner.follow(change.type === "deleted" ? undefined : object);
  });
  await informer.synced();
  const ready = (): readonly Pod[] => [...runners.values()].flatMap((runner) => runner.ready());
  return {
    names: createServiceNames(client, namespace, ready),
    pods: () => [...runners.values()].flatMap((runner) => runner.all()),
    async [Symbol.asyncDispose]() {
      await informers.stop();
      await Promise.all([...runners.values()].map((runner) => runner.close()));
    },
  };
}

interface Node {
  readonly client: KubeClient;
  readonly namespace: string;
  readonly directory: string;
  readonly images: PodImages;
  readonly takeAddress: () => string;
}

/** Pulls the image and mounts the Secrets of a pod, then starts it. Rejects while something it needs is not there. */
async function createPod(node: Node, template: PodTemplate): Promise<Pod> {
  const { client, namespace, directory, images, takeAddress } = node;
  const [container] = template.spec.containers;
  if (container === undefined) throw new Error("a pod without containers");
  await client.get(serviceAccountType, { namespace, name: template.spec.serviceAccountName ?? "default" });
  const folder = await mkdtemp(join(directory, "pod-"));
  const mounts = new Map<string, string>();
  for (const [path, volume] of mountsOf(template, container)) {
    const secret = await client.get(secretType, { namespace, name: volume.secret?.secretName ?? "" });
    const mounted = join(folder, path);
    await writeSecretFiles(mounted, secret, volume);
    mounts.set(path, mounted);
  }
  const image = await images(container.image);
  return startPod({ template, container, image, mounts, address: takeAddress() });
}

async function writeStatus(client: KubeClient, deployment: KubeObject, status: object): Promise<void> {
  const { name, namespace } = keyOf(deployment);
  const target = { ...deploymentType, name, ...(namespace === undefined ? {} : { namespace }) };
  try {
    await client.patch(target, { status } as JsonValue, { type: "merge", subresource: "status" });
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}
