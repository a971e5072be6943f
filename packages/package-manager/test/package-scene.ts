// SPDX-License-Identifier: Apache-2.0
// What users and runtimes do with packages, for tests of the controllers in between.
import assert from "node:assert/strict";
import { createInformerPool } from "@purlin/kube-client";
import { type ControllerClient, createControllerClient, type ReconcileResult } from "@purlin/kube-controller";
import { eventually } from "@purlin/kube-controller/testing";
import { isNotFound } from "@purlin/kube-objects/errors";
import type { JsonValue } from "@purlin/kube-objects/json";
import {
  conditionOf,
  conditionsOf,
  type KubeObject,
  memberAt,
  type ObjectKey,
  type TypeRef,
  withMember,
} from "@purlin/kube-objects/object";
import type { PackageKind } from "@purlin/oci";
import { otherKinds, type PackageType, packageLabels, packageTypes } from "../src/package-kinds.ts";
import type { RevisionDeps } from "../src/revision/revision-context.ts";
import { createKubernetesRuntime } from "../src/runtime/kubernetes/kubernetes-runtime.ts";
import { type KubernetesRuntimeOptions, runtimeKinds } from "../src/runtime/kubernetes/runtime-names.ts";
import { defaultRuntimeConfig } from "../src/runtime/kubernetes/runtime-scene.ts";
import type { PackageRuntime } from "../src/runtime/package-runtime.ts";
import {
  caughtUp,
  namespace,
  type PackageCluster,
  reconcilePackage,
  reconcileRevision,
  reconcileRuntime,
  startPackageCluster,
} from "./package-cluster.ts";

const stopping = new AbortController().signal;

/** The YAML of a CRD, to be put behind a `---`. */
export const thingCrd = (plural: string, more = ""): string => `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: ${plural}.example.org}
spec:
  group: example.org
  names: {plural: ${plural}, kind: ${plural.toUpperCase()}}
  scope: Namespaced
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
${more}`;

/** The YAML of a Provider package; a note makes each one different. */
export const providerPackage = (note: string, ...objects: string[]): string =>
  `apiVersion: meta.pkg.crossplane.io/v1\nkind: Provider\nmetadata: {name: p, annotations: {note: "${note}"}}\n${objects.map((one) => `---${one}`).join("")}`;

/** One pass of the manager over a package, as everything is now. */
export async function managePackage(
  cluster: PackageCluster,
  kind: PackageKind,
  name: string,
): Promise<ReconcileResult> {
  const { package: owner, revision } = packageTypes[kind];
  await caughtUp(cluster, [owner, revision, otherKinds.imageConfig]);
  return reconcilePackage(cluster.deps, packageTypes[kind], { key: { name }, stopping });
}

/** Applies a package as a user would, of `acme/<name>:v1` unless the spec says otherwise. */
export function applyPackage(
  cluster: PackageCluster,
  { kind, name, spec = {}, metadata = {} }: { kind: PackageKind; name: string; spec?: object; metadata?: object },
): Promise<KubeObject> {
  const object = {
    ...packageTypes[kind].package,
    metadata: { name, ...metadata },
    spec: { package: `${cluster.registry}/acme/${name}:v1`, ...spec },
  };
  return cluster.kube.apply(object as KubeObject, { fieldManager: "user", force: true });
}

/** Applies a package and lets the manager have a look. */
export async function install(cluster: PackageCluster, kind: PackageKind, name: string, spec?: object): Promise<void> {
  await applyPackage(cluster, { kind, name, ...(spec && { spec }) });
  await managePackage(cluster, kind, name);
}

/** The revisions of a package, highest number first. */
export async function revisions(cluster: PackageCluster, kind: PackageKind, name: string): Promise<KubeObject[]> {
  const { items } = await cluster.kube.list(packageTypes[kind].revision, {
    labelSelector: `pkg.crossplane.io/package=${name}`,
  });
  return items.toSorted(
    (a, b) => Number(memberAt(b, ["spec", "revision"])) - Number(memberAt(a, ["spec", "revision"])),
  );
}

/** The revisions by number, as `number state`. */
export async function states(cluster: PackageCluster, kind: PackageKind, name: string): Promise<string[]> {
  const spec = (object: KubeObject, field: string): unknown => memberAt(object, ["spec", field]);
  return (await revisions(cluster, kind, name)).map((one) => `${spec(one, "revision")} ${spec(one, "desiredState")}`);
}

/** What a runtime does first: the name of its certificate, and the certificate. */
export async function certify(cluster: PackageCluster, revision: KubeObject | undefined): Promise<void> {
  assert.ok(revision);
  const name = String(memberAt(revision, ["spec", "tlsServerSecretName"]));
  const secret = { ...otherKinds.secret, metadata: { name, namespace }, data: { "tls.crt": "eA==" } };
  await cluster.kube.apply(secret as KubeObject, { fieldManager: "runtime", force: true });
  const changed = withMember(revision, ["status", "tlsServerSecretName"], name);
  await cluster.kube.update(changed, { subresource: "status" });
}

/** Says that the revision of a number answers calls, as its runtime would. */
export async function serve(
  cluster: PackageCluster,
  { kind, name, number }: { kind: PackageKind; name: string; number: number },
): Promise<void> {
  const all = await revisions(cluster, kind, name);
  const revision = all.find((one) => memberAt(one, ["spec", "revision"]) === number);
  assert.ok(revision);
  const conditions = ["RevisionHealthy", "RuntimeHealthy"].map((type) => ({
    type,
    status: "True",
    reason: "HealthyPackageRevision",
    lastTransitionTime: "2026-01-01T00:00:00Z",
  }));
  const endpoint = kind === "Function" ? { endpoint: "dns:///x:9443" } : {};
  const status = { ...endpoint, capabilities: ["composition"], conditions };
  await cluster.kube.update({ ...revision, status } as KubeObject, { subresource: "status" });
}

/** One pass of the revision's own controller, as everything is now. */
export async function passRevision(
  cluster: PackageCluster,
  kind: PackageKind,
  revision: KubeObject | undefined,
  more: Partial<RevisionDeps> = {},
): Promise<ReconcileResult> {
  const { package: owner, revision: type } = packageTypes[kind];
  await caughtUp(cluster, [owner, type, otherKinds.imageConfig, otherKinds.lock]);
  const deps = { ...cluster.deps, crossplaneVersion: "v2.4.0", ...more };
  const key = { name: revision?.metadata.name ?? "" };
  return reconcileRevision(deps, packageTypes[kind], { key, stopping });
}

/** A condition as `Status Reason: message`. */
export function conditionText(object: KubeObject, type: string): string {
  const { status, reason, message } = conditionOf(conditionsOf(object), type);
  return [`${status} ${reason}`.trim(), ...(message ? [message] : [])].join(": ");
}

/** A condition of a package. */
export async function packageCondition(
  cluster: PackageCluster,
  { kind, name }: { kind: PackageKind; name: string },
  type: string,
): Promise<string> {
  return conditionText(await cluster.kube.get(packageTypes[kind].package, { name }), type);
}

/** The health of the newest revision, as `Status message`. */
export async function revisionHealth(cluster: PackageCluster, kind: PackageKind, name: string): Promise<string> {
  const [current] = await revisions(cluster, kind, name);
  assert.ok(current);
  const { status, message = "" } = conditionOf(conditionsOf(current), "RevisionHealthy");
  return `${status} ${message}`.trim();
}

// A cluster on which the Kubernetes runtime works, and a test that takes the other roles: manager, kubelet, users.

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
  /** Reconciles until something holds: caches get what the test did a moment later. */
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
      await eventually("the cache contains it", async () => {
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
  await eventually("the cache contains it", async () => {
    const seen = await client.get(type.revision, { name });
    const owned = await client.get(type.package, { name: owner });
    return owned !== undefined && Number(seen?.metadata.resourceVersion) >= Number(revision.metadata.resourceVersion);
  });
  return revision;
}
