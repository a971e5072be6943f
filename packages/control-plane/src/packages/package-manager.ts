// SPDX-License-Identifier: Apache-2.0
import { type Clock, type Log, silentLog, systemClock } from "@purlin/base";
import { type DevelopmentTrust, readRollout, revisionsToKeep } from "@purlin/function-runner";
import type { ControllerClient, WatchingController } from "@purlin/kube-controller";
import { isJsonObject } from "@purlin/kube-objects/json";
import { type KubeObject, memberAt, type TypeRef, textAt } from "@purlin/kube-objects/object";
import {
  type ContentStore,
  type CredentialsFor,
  createRegistryClient,
  firstCredentials,
  type RegistryClientOptions,
  type RegistryHttpOptions,
} from "@purlin/oci";
import {
  createPackageClient,
  createPackageControllers,
  type PackageClient,
  type PackageControllerOptions,
  type RevisionLeases,
  rolloutType,
} from "@purlin/package-manager";
import type { ControlPlaneDeps } from "../control-plane.ts";

const compositionRevision = { apiVersion: "apiextensions.crossplane.io/v1", kind: "CompositionRevision" };

/** The settings of packages on a machine and on a cluster. */
export interface PackageSettings {
  readonly functionRevisionSelectors: boolean;
  /** Whether rollouts keep revisions active; not unless given. */
  readonly functionRollouts?: boolean | undefined;
  /** Whether Functions may be run where their annotations say, without a package; not unless given. */
  readonly developmentFunctions?: boolean | undefined;
  /** Whose annotations are trusted. */
  readonly developmentTrust?: DevelopmentTrust | undefined;
  /** Whether the CRDs of Providers are installed as managed resource definitions; they are unless given. */
  readonly managedResourceConversion?: boolean | undefined;
  /** The namespace of pull secrets, certificates and runtimes. */
  readonly namespace?: string | undefined;
  /** Whether a dependency that violates a constraint may be moved to a higher version, or also to a lower one. */
  readonly dependencyVersions?: "fixed" | "upgrade" | "downgrade" | undefined;
  /** How many objects of a package are written at a time; 10 unless given. */
  readonly maxConcurrentEstablishers?: number | undefined;
  /** How requests to registries are made. */
  readonly registry?: RegistryHttpOptions | undefined;
  readonly clock?: Clock | undefined;
  readonly log?: Log | undefined;
}

/** A package manager, for a control plane that is being started. */
export interface PackageManager {
  /** Creates required objects and the controllers. Disposing of the result closes everything. */
  open(parts: ControlPlaneDeps, signal: AbortSignal): Promise<OpenPackageManager>;
  /** The uses of function revisions: a revision that is in use is not stopped. */
  readonly leases?: RevisionLeases;
}

/** The package manager of one run of a control plane. */
interface OpenPackageManager extends AsyncDisposable {
  readonly controllers: readonly WatchingController[];
}

/** The Crossplane version that package constraints are checked against. */
const crossplaneVersion = "v2.4.0";

/** The default namespace of packages. */
export const defaultNamespace = "crossplane-system";

/** The registry that runs beside the control plane. */
export interface OwnRegistry extends Pick<RegistryClientOptions, "refuses"> {
  /** The credentials of this registry only. */
  readonly credentials: CredentialsFor;
}

interface PackageSource extends Pick<PackageSettings, "registry"> {
  readonly ownRegistry?: OwnRegistry | undefined;
  readonly store: ContentStore;
  readonly namespace: string;
  readonly serviceAccount?: string | undefined;
}

/** Fetches packages with the secrets of the control plane's namespace. */
export function packageClientOf(
  { client }: ControlPlaneDeps,
  { store, registry, ownRegistry, ...source }: PackageSource,
): PackageClient {
  const own = ownRegistry === undefined ? [] : [ownRegistry.credentials];
  const refuses = ownRegistry?.refuses;
  const registryClient: Parameters<typeof createPackageClient>[0]["registryClient"] = (credentials) =>
    createRegistryClient({ ...registry, refuses, credentials: firstCredentials([...own, credentials]) });
  return createPackageClient({ client, store, registryClient, ...source });
}

/** The controllers of packages, the same wherever they run. */
export function packageControllers(
  parts: ControlPlaneDeps,
  settings: PackageSettings,
  how: Pick<PackageControllerOptions, "packages" | "hasRuntime" | "runtimes" | "sourceState" | "sourcePackage">,
): readonly WatchingController[] {
  const { client, events, informers } = parts;
  const { namespace = defaultNamespace, clock = systemClock, log = silentLog, dependencyVersions } = settings;
  return createPackageControllers({
    ...how,
    client,
    events,
    clock,
    log,
    namespace,
    crossplaneVersion,
    maxConcurrentEstablishers: settings.maxConcurrentEstablishers,
    features: {
      functionRevisionSelectors: settings.functionRevisionSelectors,
      functionRollouts: settings.functionRollouts,
      developmentFunctions: settings.developmentFunctions ?? false,
      developmentTrust: settings.developmentTrust,
      managedResourceConversion: settings.managedResourceConversion ?? true,
    },
    revisionsInUse: (revisions, signal) => revisionsInUse(client, revisions, signal),
    rolloutRevisions: settings.functionRollouts
      ? (functionName, signal) => rolloutRevisions(client, functionName, signal)
      : undefined,
    resolver: {
      allowUpgrades: dependencyVersions === "upgrade" || dependencyVersions === "downgrade",
      allowDowngrades: dependencyVersions === "downgrade",
    },
    cached: (type: TypeRef): readonly KubeObject[] => informers.peek(type)?.list() ?? [],
  });
}

/** The revisions that rollouts of a Function may still choose. */
async function rolloutRevisions(
  client: ControllerClient,
  functionName: string,
  signal: AbortSignal,
): Promise<ReadonlySet<string>> {
  const views = (await client.list(rolloutType, { signal })).map(readRollout);
  return new Set(views.flatMap((view) => revisionsToKeep(view, functionName)));
}

/** The function revisions among the given ones that a step of any composition revision names, by name or by digest. */
async function revisionsInUse(
  client: ControllerClient,
  revisions: readonly KubeObject[],
  signal: AbortSignal,
): Promise<ReadonlySet<string>> {
  const names = new Set<string>();
  const digests = new Set<string>();
  for (const composition of await client.list(compositionRevision, { signal })) {
    const pipeline = memberAt(composition, ["spec", "pipeline"]);
    for (const step of Array.isArray(pipeline) ? pipeline : []) {
      if (!isJsonObject(step)) continue;
      const name = textAt(step, ["functionRevisionRef", "name"]);
      const digest = textAt(step, ["function"])?.split("@")[1];
      if (name !== undefined) names.add(name);
      if (digest !== undefined) digests.add(digest);
    }
  }
  const used = revisions.filter((revision) => {
    const digest = textAt(revision, ["spec", "digest"]);
    return names.has(revision.metadata.name ?? "") || (digest !== undefined && digests.has(digest));
  });
  return new Set(used.map(({ metadata }) => metadata.name ?? ""));
}

/** The intervals of collections. */
interface CollectRegularlyOptions {
  readonly clock: Clock;
  readonly log: Log;
  /** The delay of the first collection, after existing objects are reconciled. */
  readonly firstMs?: number | undefined;
  readonly everyMs?: number | undefined;
}

const minuteMs = 60_000;

/** Collects periodically until it is disposed of, which waits for a running collection. A failed collection is retried later. */
export function collectRegularly(
  collect: (signal: AbortSignal) => Promise<unknown>,
  { clock, log, firstMs = minuteMs, everyMs = 10 * minuteMs }: CollectRegularlyOptions,
): AsyncDisposable {
  const stopping = new AbortController();
  let running: Promise<void> = Promise.resolve();
  const once = async (): Promise<void> => {
    try {
      await collect(stopping.signal);
    } catch (error) {
      if (stopping.signal.aborted) return;
      log.info("failed to collect unused package contents", {
        error: error instanceof Error ? error.message : String(error),
      });
    }
    if (!stopping.signal.aborted) cancel = clock.schedule(everyMs, start);
  };
  const start = (): void => {
    running = once();
  };
  let cancel = clock.schedule(firstMs, start);
  return {
    async [Symbol.asyncDispose]() {
      stopping.abort(new Error("the control plane is stopping"));
      cancel();
      await running;
    },
  };
}
