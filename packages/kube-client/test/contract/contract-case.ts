// SPDX-License-Identifier: Apache-2.0

import type { KubeObject, TypeRef } from "@purlin/kube-objects/object";
import type { KubeClient } from "../../src/client.ts";

/** What a case of the contract works with. */
export interface ContractContext {
  readonly client: KubeClient;
  /** A namespace of this case alone. */
  readonly namespace: string;
  /** Makes the server forget what was before now, as far as watches from version 1 are concerned. */
  readonly forget: () => Promise<void>;
  /** Ends when the case has taken too long. */
  readonly signal: AbortSignal;
}

/** One promise of the client, tried on a running API server. */
export interface ContractCase {
  readonly name: string;
  readonly run: (context: ContractContext) => Promise<void>;
}

export const configMap: TypeRef = { apiVersion: "v1", kind: "ConfigMap" };
export const deployment: TypeRef = { apiVersion: "apps/v1", kind: "Deployment" };

/** A ConfigMap that can be created. */
export function configMapOf(
  { namespace }: ContractContext,
  name: string,
  { data, labels }: { readonly data?: Record<string, string>; readonly labels?: Record<string, string> } = {},
): KubeObject {
  const metadata = labels === undefined ? { name, namespace } : { name, namespace, labels };
  return data === undefined ? { ...configMap, metadata } : { ...configMap, metadata, data };
}

/** A Deployment that can be created. */
export function deploymentOf({ namespace }: ContractContext, name: string): KubeObject {
  const labels = { app: name };
  const container = { name: "main", image: "main:1", env: [{ name: "A", value: "1" }] };
  return {
    ...deployment,
    metadata: { name, namespace },
    spec: {
      replicas: 1,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [container] } },
    },
  };
}

/** The data of a ConfigMap. */
export function dataOf(object: KubeObject | undefined): unknown {
  return object?.["data"];
}

/** The version of an object that came from a server. */
export function versionOf(object: KubeObject): string {
  return object.metadata.resourceVersion ?? "";
}
