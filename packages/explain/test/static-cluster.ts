// SPDX-License-Identifier: Apache-2.0
// An API server in this process, with the kinds of Crossplane and no controllers: objects stay as a test writes them.
import { compositionCrds, keptCrds } from "@purlin/composition";
import { createKubeClient, type KubeClient } from "@purlin/kube-client";
import { eventually, startTestServer } from "@purlin/kube-controller/testing";
import type { JsonObject } from "@purlin/kube-objects/json";
import { type ConditionText, type KubeObject, keyOf } from "@purlin/kube-objects/object";
import { packageCrds } from "@purlin/package-manager";
import { definitionOf } from "./platform.ts";

/** An API server with objects. */
export interface StaticCluster extends AsyncDisposable {
  readonly client: KubeClient;
  /** Creates objects with their status. */
  put(...objects: readonly KubeObject[]): Promise<void>;
}

/** Starts one. */
export async function startStaticCluster(): Promise<StaticCluster> {
  const server = await startTestServer();
  const client = createKubeClient(server.connect());
  const cluster: StaticCluster = {
    client,
    async put(...objects) {
      for (const { status, ...object } of objects) {
        const stored = await eventually(`${object.kind} is accepted`, () =>
          client.apply(object as KubeObject, { fieldManager: "test", force: true }),
        );
        if (status !== undefined) await client.update({ ...stored, status }, { subresource: "status" });
      }
    },
    async [Symbol.asyncDispose]() {
      await client.close();
      await server.stop();
    },
  };
  const packages = packageCrds({ functionRevisionSelectors: true } as Parameters<typeof packageCrds>[0]);
  const kinds = [
    crdOf("App", "apps"),
    crdOf("XShop", "xshops", "Cluster"),
    crdOf("Shop", "shops"),
    crdOf("Bucket", "buckets"),
  ];
  await cluster.put(...compositionCrds(), ...keptCrds(), ...packages, ...kinds);
  await cluster.put(established(definitionOf("App")), established(definitionOf("XShop", { claim: "Shop" })));
  return cluster;
}

/** A CRD of any content. */
export function crdOf(kind: string, plural: string, scope = "Namespaced"): KubeObject {
  const open = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
  const schema = { openAPIV3Schema: { type: "object", properties: { spec: open, status: open } } };
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.example.org` },
    spec: {
      group: "example.org",
      scope,
      names: { kind, plural },
      versions: [{ name: "v1", served: true, storage: true, subresources: { status: {} }, schema }],
    },
  };
}

/** An XRD that is in use. */
export function established(definition: KubeObject): KubeObject {
  return withStatus(definition, [
    { type: "Established", status: "True", reason: "WatchingCompositeResource" },
    ...(definition.apiVersion.endsWith("/v1")
      ? [{ type: "Offered", status: "True", reason: "WatchingCompositeResourceClaim" } as const]
      : []),
  ]);
}

/** A condition without its time. */
export type ConditionInput = ConditionText & { readonly observedGeneration?: number };

/** An object with conditions, and other members of its status. */
export function withStatus(
  object: KubeObject,
  conditions: readonly ConditionInput[],
  more: JsonObject = {},
): KubeObject {
  const lastTransitionTime = new Date().toISOString().replace(/\.\d+Z$/, "Z");
  return { ...object, status: { ...more, conditions: conditions.map((one) => ({ ...one, lastTransitionTime })) } };
}

/** A composite resource. */
export function app(name: string, spec: JsonObject = {}, metadata: JsonObject = {}): KubeObject {
  return { apiVersion: "example.org/v1", kind: "App", metadata: { name, namespace: "default", ...metadata }, spec };
}

/** A condition Synced that failed. */
export function failed(message: string): ConditionInput {
  return { type: "Synced", status: "False", reason: "ReconcileError", message };
}

/** The conditions of an object that is composed and ready. */
export const ready: readonly ConditionInput[] = [
  { type: "Synced", status: "True", reason: "ReconcileSuccess" },
  { type: "Ready", status: "True", reason: "Available" },
];

/** The conditions of an object that is composed and not ready. */
export function creating(message?: string): readonly ConditionInput[] {
  return [
    { type: "Synced", status: "True", reason: "ReconcileSuccess" },
    { type: "Ready", status: "False", reason: "Creating", ...(message === undefined ? {} : { message }) },
  ];
}

/** The stored version of an object. */
export function stored(cluster: StaticCluster, object: KubeObject): Promise<KubeObject> {
  return cluster.client.get(object, keyOf(object));
}

/** A condition that is not met. */
export function unmetCondition(type: string, reason: string, message: string): ConditionInput {
  return { type, status: "False", reason, message };
}

/** A condition that is met. */
export function met(type: string): ConditionInput {
  return { type, status: "True", reason: "Fine" };
}
