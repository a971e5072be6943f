// SPDX-License-Identifier: Apache-2.0

import { join } from "node:path";
import { type Log, silentLog, systemClock } from "@purlin/base";
import { createTlsIdentity, type TlsIdentity } from "@purlin/certificates/peer";
import type { TlsSource } from "@purlin/function-runner";
import { createInformerPool, type InformerPool, type KubeClient } from "@purlin/kube-client";
import { createControllerClient } from "@purlin/kube-controller";
import { textOf } from "@purlin/kube-objects/errors";
import { printJson } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";
import { type ContentStore, openContentStore } from "@purlin/oci";
import {
  authoritySecretName,
  type CertificateDeps,
  collectImages,
  createKubernetesRuntime,
  createRevisionLeases,
  defaultRuntimeConfig,
  ensureLeaf,
  ensureNamespace,
  ensureObject,
  followOwned,
  openImagePins,
  pinFetched,
  revisionControllerName,
  runtimeControllerName,
} from "@purlin/package-manager";
import {
  collectRegularly,
  defaultNamespace,
  type PackageManager,
  type PackageSettings,
  packageClientOf,
  packageControllers,
} from "./package-manager.ts";

/** What runs the packages of a kind: this control plane, in Deployments, or another controller. */
export type PackageRuntimeMode = "Deployment" | "External";

/** The options of package management on a cluster. */
export interface ClusterPackageOptions extends PackageSettings {
  /** Where package contents are kept; they are fetched again when they are gone. */
  readonly directory: string;
  /** What runs Functions and Providers; Deployments unless given. */
  readonly runtimes?: { readonly Function: PackageRuntimeMode; readonly Provider: PackageRuntimeMode } | undefined;
  /** The control plane's own account. Packages may be pulled with its secrets; it must exist when it is given. */
  readonly serviceAccount?: string | undefined;
  /** The Secret with the certificate that functions are called with; crossplane-tls-client unless given. */
  readonly clientSecretName?: string | undefined;
  /** Days a certificate is good for; it is renewed when a third of them is left. A year unless given. */
  readonly certificateDays?: number | undefined;
  /** How long a retired revision keeps running at least. */
  readonly lingerMs?: number | undefined;
}

/** The package manager of a cluster: packages from any registry, each active revision in a Deployment. */
export interface ClusterPackages extends PackageManager {
  readonly store: ContentStore;
  /** Mutual TLS with every function, with a certificate that is kept in the cluster. Good while a control plane runs. */
  readonly security: TlsSource;
}

const defaultServiceAccount = "crossplane";
/** Contents that no revision needs are kept for later while all together take no more than this. */
const maxImageBytes = 256 * 1024 ** 2;
const minImageAgeMs = 10 * 60_000;

/**
 * Opens the package manager of a cluster, to be handed to `startControlPlane` together with its `security`:
 *
 *     const packages = await openClusterPackages({ directory, functionRevisionSelectors });
 *     startControlPlane({ client, packages, functions: { security: packages.security, names }, settings });
 *
 * Functions are dialled at `dns:///<service>.<namespace>:9443`; `names` answers with addresses where no DNS does, and
 * certificates are held against `<service>.<namespace>` either way.
 */
export async function openClusterPackages(options: ClusterPackageOptions): Promise<ClusterPackages> {
  const { namespace = defaultNamespace, clock = systemClock, log = silentLog, serviceAccount } = options;
  const store = await openContentStore(join(options.directory, "images"));
  const pins = await openImagePins(join(options.directory, "images", "pins.json"));
  const certificate = createClientCertificate(options.clientSecretName);
  const leases = createRevisionLeases();
  return {
    store,
    leases,
    security: certificate.security,
    async open(parts, signal) {
      await using opening = new AsyncDisposableStack();
      await ensureNamespace(parts.kube, namespace, signal);
      await ensureObject(parts.kube, defaultRuntimeConfig, signal);
      const scoped = inNamespace(parts.kube, namespace);
      const informers = createInformerPool(scoped, {
        onError: (error, { kind }) => log.info("list/watch failed, retrying", { type: kind, error: textOf(error) }),
      });
      opening.defer(() => informers.stop());
      const objects = createControllerClient({ client: scoped, informers, clock, uncached: [] });
      opening.defer(() => objects.close());
      const deps = { client: objects, namespace, clock, days: options.certificateDays };
      const account = serviceAccount ?? defaultServiceAccount;
      opening.use(await certificate.keep({ deps, informers, log, serviceAccount: account }, signal));
      const packages = pinFetched(packageClientOf(parts, { ...options, store, namespace }), pins);
      const collected = { client: parts.client, store, pins, maxBytes: maxImageBytes, minAgeMs: minImageAgeMs };
      opening.use(collectRegularly((stopping) => collectImages({ ...collected, signal: stopping }), { clock, log }));
      const runtime = createKubernetesRuntime({
        client: parts.client,
        objects,
        packages,
        namespace,
        serviceAccount,
        clock,
        certificateDays: options.certificateDays,
        lingerMs: options.lingerMs,
        leases,
      });
      const { Function: functions = "Deployment", Provider: providers = "Deployment" } = options.runtimes ?? {};
      const hasRuntime = { Function: functions === "Deployment", Provider: providers === "Deployment" };
      const runtimes = {
        Function: hasRuntime.Function ? runtime : undefined,
        Provider: hasRuntime.Provider ? runtime : undefined,
      };
      const changed: Parameters<typeof followOwned>[1] = (type, name, kind) => {
        parts.engine.enqueue(runtimeControllerName(type), { name });
        // The CA bundle of webhooks comes from it.
        if (kind === "Secret") parts.engine.enqueue(revisionControllerName(type), { name });
      };
      opening.defer(followOwned(informers, changed));
      const controllers = packageControllers(parts, options, { packages, hasRuntime, runtimes });
      const closing = opening.move();
      return { controllers, [Symbol.asyncDispose]: () => closing.disposeAsync() };
    },
  };
}

/** A client whose lists and watches are limited to one namespace, for caches and permissions of that namespace. */
export function inNamespace(client: KubeClient, namespace: string): KubeClient {
  return {
    ...client,
    list: (type, options) => client.list(type, { ...options, namespace }),
    watch: (type, options) => client.watch(type, { ...options, namespace }),
  };
}

/** The Secret with the certificate functions are called with, unless another is named. */
export const defaultSecretName = "crossplane-tls-client";

/** The control plane's own certificate, to call functions with. */
interface ClientCertificate {
  readonly security: TlsSource;
  /** Makes the certificate, and renews it in time, until the result is disposed of. */
  keep(deps: KeepingDeps, signal: AbortSignal): Promise<AsyncDisposable>;
}

/** The dependencies of keeping a certificate. */
interface KeepingDeps {
  readonly deps: CertificateDeps;
  /** Those of the certificate's namespace: changes by others are noticed. */
  readonly informers: InformerPool;
  /** The service account of the control plane. */
  readonly serviceAccount: string;
  readonly log: Log;
}

const secretType = { apiVersion: "v1", kind: "Secret" };
const longestWaitMs = 3_600_000;
const retryMs = 60_000;

/** A certificate that is not there before {@link ClientCertificate.keep}. Connections made after a renewal use the new one. */
export function createClientCertificate(secretName: string = defaultSecretName): ClientCertificate {
  let identity: TlsIdentity | undefined;
  let used: string | undefined;
  return {
    security: {
      current() {
        if (identity === undefined) throw new Error("the client certificate for functions is not ready yet");
        return identity;
      },
    },
    async keep(deps, signal) {
      const look = async (): Promise<number> => {
        const { secret, renewInMs = longestWaitMs } = await ensureClientLeaf(deps, secretName, signal);
        const data = printJson(secret["data"] ?? null);
        if (data !== used) identity = identityOf(secret);
        used = data;
        return renewInMs;
      };
      const first = await look();
      return repeat({ ...deps, secretName }, look, first);
    },
  };
}

function ensureClientLeaf(
  { deps, serviceAccount }: KeepingDeps,
  secretName: string,
  signal: AbortSignal,
): ReturnType<typeof ensureLeaf> {
  const name = `${serviceAccount}.${deps.namespace}`;
  const request = {
    secretName,
    commonName: serviceAccount,
    dnsNames: [name],
    usage: "client",
  } as const;
  return ensureLeaf(deps, request, signal);
}

/** The certificate in a Secret of the type `kubernetes.io/tls` with its authority. Throws when it is of no use. */
export function identityOf(secret: KubeObject): TlsIdentity {
  const data = (secret["data"] ?? {}) as Readonly<Record<string, string>>;
  const [ca, cert, key] = ["ca.crt", "tls.crt", "tls.key"].map((name) => Buffer.from(data[name] ?? "", "base64"));
  try {
    if (!ca?.length || !cert?.length || !key?.length) throw new Error("it needs ca.crt, tls.crt and tls.key");
    return createTlsIdentity({ ca, cert, key });
  } catch (error) {
    const where = `${secret.metadata.namespace ?? ""}/${secret.metadata.name ?? ""}`;
    const advice = "delete it to have a new one made";
    throw new Error(`Secret "${where}" has no valid client certificate for functions: ${textOf(error)}; ${advice}`, {
      cause: error,
    });
  }
}

/** Checks the certificate again when it is to be renewed, and when it or its authority changes. */
function repeat(
  { deps, informers, log, secretName }: KeepingDeps & { readonly secretName: string },
  look: () => Promise<number>,
  firstMs: number,
): AsyncDisposable {
  const { clock, namespace } = deps;
  let cancel = (): void => {};
  let looking: Promise<void> = Promise.resolve();
  let stopped = false;
  const later = (delayMs: number): void => {
    cancel();
    if (!stopped) cancel = clock.schedule(Math.min(delayMs, longestWaitMs), lookNow);
  };
  const lookNow = (): void => {
    looking = looking.then(look).then(later, (error: unknown) => {
      if (!stopped) log.info("failed to renew the client certificate for functions", { error: textOf(error) });
      later(retryMs);
    });
  };
  later(firstMs);
  const lease = informers.acquire(secretType);
  let isFirst = true;
  const unsubscribe = lease.informer.subscribe(({ object: { metadata } }) => {
    const isOurs = metadata.name === secretName || metadata.name === authoritySecretName;
    if (!isFirst && isOurs && metadata.namespace === namespace) lookNow();
  });
  isFirst = false;
  return {
    async [Symbol.asyncDispose]() {
      stopped = true;
      cancel();
      unsubscribe();
      await lease.release();
      await looking;
    },
  };
}
