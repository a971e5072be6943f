// SPDX-License-Identifier: Apache-2.0
// A cluster on which the Kubernetes runtime works, and a test that takes the other roles: manager, kubelet, users.

import { createInformerPool } from "@purlin/kube-client";
import { type ControllerClient, createControllerClient, type ReconcileResult } from "@purlin/kube-controller";
import { eventually } from "@purlin/kube-controller/testing";
import { isNotFound } from "@purlin/kube-objects/errors";
import type { JsonValue } from "@purlin/kube-objects/json";
import { type KubeObject, type ObjectKey, type TypeRef, withMember } from "@purlin/kube-objects/object";
import { type PackageType, packageLabels, packageTypes } from "../src/package-kinds.ts";
import { createKubernetesRuntime } from "../src/runtime/kubernetes/kubernetes-runtime.ts";
import { type KubernetesRuntimeOptions, runtimeKinds } from "../src/runtime/kubernetes/runtime-names.ts";
import { defaultRuntimeConfig } from "../src/runtime/kubernetes/runtime-scene.ts";
import type { PackageRuntime } from "../src/runtime/package-runtime.ts";
import { namespace, type PackageCluster, startPackageCluster } from "./package-cluster.ts";
import { conditionText } from "./package-scene.ts";
import { reconcileRuntime } from "./reconcile.ts";

/** A revision as its manager and its own controller would leave it. */
interface RevisionWish {
  readonly name: string;
  readonly kind?: "Function" | "Provider";
  readonly package?: string;
  readonly number?: number;
  readonly desiredState?: string;
  /** Named as with several active revisions. */
  readonly isPerRevision?: boolean;
  readonly spec?: Readonly<Record<string, JsonValue>>;
  readonly status?: Readonly<Record<string, JsonValue>>;
}

/** The cluster, and what happens on it. */
export interface KubernetesScene extends AsyncDisposable {
  readonly cluster: PackageCluster;
  readonly objects: ControllerClient;
  readonly runtime: PackageRuntime;
  /** Makes, or changes, a revision and its package. */
  revise(wish: RevisionWish): Promise<KubeObject>;
  /** One pass of the runtime's controller. */
  pass(name: string, kind?: "Function" | "Provider"): Promise<ReconcileResult>;
  /** Passes until something holds, as caches hear of what the test did a moment later. */
  passUntil(what: string, name: string, holds: () => Promise<boolean>): Promise<void>;
  find(kind: keyof typeof runtimeKinds, name: string): Promise<KubeObject | undefined>;
  /** The names of all objects of a kind in the namespace. */
  names(kind: keyof typeof runtimeKinds): Promise<string[]>;
  revision(name: string, kind?: "Function" | "Provider"): Promise<KubeObject>;
  /** A condition of a revision as `Status Reason: message`. */
  condition(name: string, type?: string): Promise<string>;
  endpoint(name: string): Promise<unknown>;
  /** What Kubernetes says of a Deployment, as it would when all its Pods are ready. */
  deployed(name: string, status?: object): Promise<void>;
}

const stopping = new AbortController().signal;

/** Starts a cluster with the runtime on it. */
export async function startKubernetesScene(options: Partial<KubernetesRuntimeOptions> = {}): Promise<KubernetesScene> {
  const cluster = await startPackageCluster();
  const { kube } = cluster;
  await kube.create(defaultRuntimeConfig);
  const informers = createInformerPool(kube);
  const objects = createControllerClient({ client: kube, informers, uncached: [] });
  const { deps } = cluster;
  const clock = options.clock ?? deps.clock;
  const runtime = createKubernetesRuntime({ ...deps, objects, lingerMs: 0, ...options, clock });
  const find = (type: TypeRef, key: ObjectKey): Promise<KubeObject | undefined> =>
    kube.get(type, key).catch((error: unknown) => {
      if (isNotFound(error)) return undefined;
      throw error;
    });
  const scene: KubernetesScene = {
    cluster,
    objects,
    runtime,
    revise: (wish) => revise(cluster, wish),
    pass: (name, kind = "Function") => {
      const type = packageTypes[kind];
      return reconcileRuntime({ ...deps, clock }, { runtime, type }, { key: { name }, stopping });
    },
    async passUntil(what, name, holds) {
      await eventually(what, async () => {
        await scene.pass(name).catch(() => {});
        return holds();
      });
    },
    find: (kind, name) => find(runtimeKinds[kind], { namespace, name }),
    async names(kind) {
      const { items } = await kube.list(runtimeKinds[kind], { namespace });
      return items
        .map(({ metadata }) => metadata.name ?? "")
        .filter((name) => name !== "default")
        .toSorted();
    },
    revision: (name, kind = "Function") => kube.get(packageTypes[kind].revision, { name }),
    condition: async (name, type = "RuntimeHealthy") => conditionText(await scene.revision(name), type),
    endpoint: async (name) => ((await scene.revision(name))["status"] as { endpoint?: string }).endpoint,
    async deployed(name, status = {}) {
      const deployment = await kube.get(runtimeKinds.deployment, { namespace, name });
      const { replicas = 1 } = deployment["spec"] as { replicas?: number };
      const counts = { replicas, updatedReplicas: replicas, readyReplicas: replicas, availableReplicas: replicas };
      const available = { type: "Available", status: "True", reason: "MinimumReplicasAvailable" };
      const wanted = {
        observedGeneration: deployment.metadata.generation ?? 0,
        ...counts,
        conditions: [available],
        ...status,
      };
      const stored = await kube.update({ ...deployment, status: wanted }, { subresource: "status" });
      await eventually("the cache has heard of it", async () => {
        const seen = await objects.get(runtimeKinds.deployment, { namespace, name });
        return seen?.metadata.resourceVersion === stored.metadata.resourceVersion;
      });
    },
    async [Symbol.asyncDispose]() {
      await objects.close();
      await informers.stop();
      await cluster[Symbol.asyncDispose]();
    },
  };
  return scene;
}

async function revise(cluster: PackageCluster, wish: RevisionWish): Promise<KubeObject> {
  const { name, kind = "Function", number = 1, desiredState = "Active", isPerRevision = false } = wish;
  const owner = wish.package ?? "fn";
  const type: PackageType = packageTypes[kind];
  const { kube, client } = cluster;
  const reference = "registry.example.org/acme/fn:v1";
  const force = { fieldManager: "test", force: true };
  await kube.apply({ ...type.package, metadata: { name: owner }, spec: { package: reference } }, force);
  const base = isPerRevision ? name : owner;
  const secrets = { tlsServerSecretName: `${base}-tls-server` };
  const stored = await kube.apply(
    {
      ...type.revision,
      metadata: { name, labels: { [packageLabels.package]: owner } },
      spec: {
        desiredState,
        image: reference,
        revision: number,
        packagePullPolicy: "IfNotPresent",
        runtimeConfigRef: { name: "default" },
        ...secrets,
        ...(kind === "Provider" && { tlsClientSecretName: `${base}-tls-client` }),
        ...wish.spec,
      },
    },
    force,
  );
  const healthy = {
    type: "RevisionHealthy",
    status: "True",
    reason: "HealthyPackageRevision",
    lastTransitionTime: "2026-01-01T00:00:00Z",
  };
  const status = { resolvedImage: reference, capabilities: ["composition"], conditions: [healthy], ...wish.status };
  const before = (stored["status"] ?? {}) as Record<string, JsonValue>;
  const wanted = withMember(stored, ["status"], { ...status, ...before, ...wish.status });
  const revision = await kube.update(wanted, { subresource: "status" });
  await eventually("the cache has heard of it", async () => {
    const seen = await client.get(type.revision, { name });
    const owned = await client.get(type.package, { name: owner });
    return owned !== undefined && Number(seen?.metadata.resourceVersion) >= Number(revision.metadata.resourceVersion);
  });
  return revision;
}
