// SPDX-License-Identifier: Apache-2.0
// The parts of a pod template that the suite's kubelet acts upon.
import type { KubeObject } from "@purlin/kube-objects/object";

/** A variable of a container. */
export interface EnvVariable {
  readonly name: string;
  readonly value?: string;
  readonly valueFrom?: { readonly fieldRef?: { readonly fieldPath: string } };
}

/** A container of a pod. */
export interface Container {
  readonly name: string;
  readonly image: string;
  readonly command?: readonly string[];
  readonly args?: readonly string[];
  readonly env?: readonly EnvVariable[];
  readonly volumeMounts?: readonly { readonly name: string; readonly mountPath: string }[];
  readonly readinessProbe?: object;
}

/** A volume with the files of a Secret. */
export interface SecretVolume {
  readonly name: string;
  readonly secret?: {
    readonly secretName: string;
    readonly items?: readonly { readonly key: string; readonly path: string }[];
  };
}

/** What a Deployment makes pods of. */
export interface PodTemplate {
  readonly metadata: { readonly labels: Readonly<Record<string, string>> };
  readonly spec: {
    readonly serviceAccountName?: string;
    readonly containers: readonly Container[];
    readonly volumes?: readonly SecretVolume[];
  };
}

/** What a Deployment asks for. */
export interface DeploymentSpec {
  readonly replicas?: number;
  readonly template: PodTemplate;
}

/** Reads what a Deployment asks for. */
export function deploymentSpecOf(deployment: KubeObject): DeploymentSpec {
  return deployment["spec"] as unknown as DeploymentSpec;
}

/** The value of a variable, as the kubelet fills it in. */
export function variableValue({ value, valueFrom }: EnvVariable, template: PodTemplate): string {
  const path = valueFrom?.fieldRef?.fieldPath;
  if (path === undefined) return value ?? "";
  const label = /^metadata\.labels\['(.+)'\]$/.exec(path)?.[1];
  if (label === undefined) throw new Error(`the suite's kubelet cannot fill in fieldRef ${path}`);
  return template.metadata.labels[label] ?? "";
}
