// SPDX-License-Identifier: Apache-2.0
import { isNoMatch, type KubeClient } from "@purlin/kube-client";
import { isAlreadyExists } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import { conditionTime, type KubeObject } from "@purlin/kube-objects/object";
import { kinds } from "./kinds.ts";
import { simulatedMark } from "./simulator-deps.ts";

/** The only node. */
export const nodeName = "simulated-node";
export const nodeAddress = "10.244.0.1";

const resources = { cpu: "64", "ephemeral-storage": "1Ti", memory: "256Gi", pods: "65000" };

/** Creates the node that all simulated Pods run on, unless it exists. */
export async function createNode(kube: KubeClient, now: number): Promise<void> {
  try {
    await kube.create(newNode(), { fieldManager: "kubelet" });
    // A patch: users may change the new Node before it has a status.
    const options = { type: "merge", subresource: "status", fieldManager: "kubelet" } as const;
    await kube.patch({ ...kinds.node, name: nodeName }, { status: nodeStatus(now) }, options);
  } catch (error) {
    if (!isAlreadyExists(error) && !isNoMatch(error)) throw error;
  }
}

function newNode(): KubeObject {
  const labels = {
    "kubernetes.io/hostname": nodeName,
    "kubernetes.io/os": "linux",
    "kubernetes.io/arch": "amd64",
    "beta.kubernetes.io/os": "linux",
    "beta.kubernetes.io/arch": "amd64",
  };
  return {
    ...kinds.node,
    metadata: { name: nodeName, labels, annotations: simulatedMark },
    spec: { podCIDR: "10.244.0.0/16", podCIDRs: ["10.244.0.0/16"] },
  };
}

function nodeStatus(now: number): JsonObject {
  const time = conditionTime(now);
  const condition = (type: string, status: string, [reason, message]: readonly [string, string]): JsonObject => ({
    ...{ type, status, reason, message },
    lastHeartbeatTime: time,
    lastTransitionTime: time,
  });
  return {
    capacity: resources,
    allocatable: resources,
    conditions: [
      condition("MemoryPressure", "False", ["KubeletHasSufficientMemory", "kubelet has sufficient memory available"]),
      condition("DiskPressure", "False", ["KubeletHasNoDiskPressure", "kubelet has no disk pressure"]),
      condition("PIDPressure", "False", ["KubeletHasSufficientPID", "kubelet has sufficient PID available"]),
      condition("Ready", "True", ["KubeletReady", "kubelet is posting ready status"]),
    ],
    addresses: [
      { type: "InternalIP", address: nodeAddress },
      { type: "Hostname", address: nodeName },
    ],
    nodeInfo: {
      machineID: "simulated",
      systemUUID: "simulated",
      bootID: "simulated",
      kernelVersion: "simulated",
      osImage: "Purlin simulated node",
      containerRuntimeVersion: "simulated://1.0",
      kubeletVersion: "v1.36.3",
      kubeProxyVersion: "",
      operatingSystem: "linux",
      architecture: "amd64",
    },
  };
}
