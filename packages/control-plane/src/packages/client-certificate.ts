// SPDX-License-Identifier: Apache-2.0
import type { Log } from "@purlin/base";
import { createTlsIdentity, type TlsIdentity } from "@purlin/certificates/peer";
import type { TlsSource } from "@purlin/function-runner";
import type { InformerPool } from "@purlin/kube-client";
import { textOf } from "@purlin/kube-objects/errors";
import type { KubeObject } from "@purlin/kube-objects/object";
import { authoritySecretName, type CertificateDeps, ensureLeaf } from "@purlin/package-manager";

/** The Secret with the certificate functions are called with, unless another is named. */
const defaultSecretName = "crossplane-tls-client";

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
        const data = JSON.stringify(secret["data"]);
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

function identityOf(secret: KubeObject): TlsIdentity {
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
