// SPDX-License-Identifier: Apache-2.0

import { setTimeout as delay } from "node:timers/promises";
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

/**
 * A kind of this case alone, ready to be used. A server begins to remember a kind when it comes, so version 1 is from before
 * everything it knows.
 */
export async function ownWidgets({ client, namespace, signal }: ContractContext): Promise<TypeRef> {
  await client.create(widgetsCrd(`widgets.${namespace}.example.org`));
  const widget = { apiVersion: `${namespace}.example.org/v1`, kind: "Widget" };
  for (;;) {
    const isServed = await client.list(widget).then(
      () => true,
      () => false,
    );
    if (isServed) return widget;
    await delay(20, undefined, { signal });
  }
}

/** The definition of a kind of Widgets, by its name. */
export function widgetsCrd(name: string): KubeObject {
  const [plural = "", ...group] = name.split(".");
  const schema = { openAPIV3Schema: { type: "object" } };
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name },
    spec: {
      group: group.join("."),
      scope: "Cluster",
      names: { plural, singular: "widget", kind: "Widget", listKind: "WidgetList" },
      versions: [{ name: "v1", served: true, storage: true, schema }],
    },
  };
}
