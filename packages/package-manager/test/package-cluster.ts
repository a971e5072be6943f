// SPDX-License-Identifier: Apache-2.0
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { silentLog, systemClock } from "@purlin/base";
import { createInformerPool, createKubeClient, type KubeClient } from "@purlin/kube-client";
import {
  type ClosableControllerClient,
  createControllerClient,
  createReconciler,
  type EventRecorder,
  type EventText,
  type ReconcileContext,
  type ReconcileResult,
  type ReconcilerDefinition,
} from "@purlin/kube-controller";
import { recordRequests, startTestServer } from "@purlin/kube-controller/testing";
import type { KubeObject, ObjectKey, TypeRef } from "@purlin/kube-objects/object";
import {
  buildImage,
  type ContentStore,
  createRegistryClient,
  openContentStore,
  parseReference,
  pushPackage,
  startRegistry,
} from "@purlin/oci";
import { packageCrds } from "../src/crds/package-crds.ts";
import { createPackageClient } from "../src/fetch/package-client.ts";
import { lockName } from "../src/lock/lock-store.ts";
import { lockReconciler } from "../src/lock/reconciler.ts";
import { packageReconciler } from "../src/manager/reconciler.ts";
import type { PackageDeps } from "../src/package-deps.ts";
import { revisionReconciler } from "../src/revision/reconciler.ts";
import { runtimeReconciler } from "../src/runtime/reconciler.ts";

export const namespace = "crossplane-system";

/** A real API server that knows the kinds of packages, a real registry, and what controllers need to use both. */
export interface PackageCluster extends AsyncDisposable {
  readonly kube: KubeClient;
  readonly client: ClosableControllerClient;
  readonly deps: PackageDeps;
  readonly registry: string;
  readonly store: ContentStore;
  /** Events since the last call, as `Type reason: message`. */
  takeEvents(): string[];
  /** Writes since the last call, as `METHOD path`, and ` (dry run)` where nothing was stored. */
  takeWrites(): string[];
  /** Builds a package and pushes it under a name such as `acme/function-x:v1`; returns its digest. */
  push(name: string, packageYaml: string): Promise<string>;
  /** Says which function revisions compositions name. */
  use(names: readonly string[]): void;
  /** Stops the registry. */
  closeRegistry(): Promise<void>;
}

const process = { entrypoint: ["/function"], cmd: [], env: [], workingDir: "/", user: "2000" };
const platform = { os: "linux", architecture: "amd64" };

export async function startPackageCluster(features: Partial<PackageDeps["features"]> = {}): Promise<PackageCluster> {
  const directory = await mkdtemp(join(tmpdir(), "purlin-packages-"));
  const { functionRevisionSelectors = false, functionRollouts = false } = features;
  const server = await startTestServer({ crds: packageCrds({ functionRevisionSelectors, functionRollouts }) });
  const registry = await startRegistry({ directory: join(directory, "registry") });
  const store = await openContentStore(join(directory, "store"));
  const { transport, takeWrites } = recordRequests(server.connect());
  const kube = createKubeClient(transport);
  const informers = createInformerPool(kube);
  const client = createControllerClient({ client: kube, informers });
  await kube.create({ apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } });
  const emitted: string[] = [];
  let used: readonly string[] = [];
  const events: EventRecorder = {
    event: (_: KubeObject, { type, reason, message }: EventText) => void emitted.push(`${type} ${reason}: ${message}`),
    with: () => events,
  };
  // Retries of a registry that is gone do not wait.
  const registryClient = createRegistryClient({ sleep: async () => {} });
  const deps: PackageDeps = {
    client,
    events,
    packages: createPackageClient({ client, namespace, store, registryClient: () => registryClient }),
    clock: systemClock,
    log: silentLog,
    namespace,
    features: { functionRevisionSelectors: false, developmentFunctions: false, ...features },
    hasRuntime: { Function: true, Provider: true },
    revisionsInUse: async () => new Set(used),
  };
  takeWrites();
  return {
    kube,
    client,
    deps,
    registry: registry.address,
    store,
    takeEvents: () => emitted.splice(0),
    takeWrites,
    async push(name, packageYaml) {
      const image = await buildImage(store, { platform, process, base: [], layers: [], packageYaml });
      const to = parseReference(`${registry.address}/${name}`);
      return pushPackage(registryClient, store, { images: [image], to });
    },
    use(names) {
      used = names;
    },
    closeRegistry: () => registry.close(),
    async [Symbol.asyncDispose]() {
      await client.close();
      await informers.stop();
      await kube.close();
      await registry.close();
      await server.stop();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

/** The metadata of a function package; a note makes each one different. */
export function functionPackage(note: string, spec = "{}"): string {
  const annotations = `{note: ${JSON.stringify(note)}}`;
  return `apiVersion: meta.pkg.crossplane.io/v1\nkind: Function\nmetadata: {name: function-x, annotations: ${annotations}}\nspec: ${spec}\n`;
}

/** Waits until the caches that controllers read contain everything that is stored of some kinds. */
export async function caughtUp(
  cluster: Pick<PackageCluster, "kube" | "client">,
  types: readonly TypeRef[],
): Promise<void> {
  for (const type of types) {
    for (;;) {
      const [live, cached] = [(await cluster.kube.list(type)).items, await cluster.client.list(type)];
      if (versions(live) === versions(cached)) break;
      await new Promise((go) => setImmediate(go));
    }
  }
}

function versions(objects: readonly KubeObject[]): string {
  const versions = objects.map(({ metadata }) => `${metadata.name} ${metadata.resourceVersion}`);
  return versions.toSorted().join();
}

// One reconcile of one object, as the controllers of packages run it.

/** Which object to reconcile, and for how long. */
interface ReconcileCall {
  readonly key: ObjectKey;
  readonly stopping: AbortSignal;
  readonly timeoutMs?: number | undefined;
}

function run<C extends ReconcileContext>(
  definition: ReconcilerDefinition<C>,
  { key, stopping, timeoutMs = definition.timeoutMs }: ReconcileCall,
): Promise<ReconcileResult> {
  return createReconciler({ ...definition, timeoutMs })(key, stopping);
}

export function reconcilePackage(
  deps: Parameters<typeof packageReconciler>[0],
  type: Parameters<typeof packageReconciler>[1],
  call: ReconcileCall,
): Promise<ReconcileResult> {
  return run(packageReconciler(deps, type), call);
}

export function reconcileRevision(
  deps: Parameters<typeof revisionReconciler>[0],
  type: Parameters<typeof revisionReconciler>[1],
  call: ReconcileCall,
): Promise<ReconcileResult> {
  return run(revisionReconciler(deps, type), call);
}

export function reconcileLock(
  deps: Parameters<typeof lockReconciler>[0],
  options: Parameters<typeof lockReconciler>[1],
  call: Omit<ReconcileCall, "key">,
): Promise<ReconcileResult> {
  return run(lockReconciler(deps, options), { ...call, key: { name: lockName } });
}

export function reconcileRuntime(
  deps: Parameters<typeof runtimeReconciler>[0],
  runtime: Parameters<typeof runtimeReconciler>[1],
  call: ReconcileCall,
): Promise<ReconcileResult> {
  return run(runtimeReconciler(deps, runtime), call);
}
