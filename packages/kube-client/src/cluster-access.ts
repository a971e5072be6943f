// SPDX-License-Identifier: Apache-2.0

/** How to reach an API server and prove who is calling. */
export interface ClusterAccess {
  /** The server's address, such as `https://127.0.0.1:6443`, perhaps with a path in front of every request. */
  readonly server: string;
  /** PEM of the authorities to trust; the system's when absent. */
  readonly caPem?: string | undefined;
  /** The name the server's certificate must carry, when it is not the host of `server`. */
  readonly tlsServerName?: string | undefined;
  /** Accept any certificate. */
  readonly insecureSkipTlsVerify?: boolean | undefined;
  /** The namespace a kubeconfig's context names. */
  readonly namespace?: string | undefined;
  /** Asked before every request, so that tokens may expire and files may change. */
  readonly credentials: CredentialSource;
}

/** What proves who is calling. */
export interface Credentials {
  readonly bearerToken?: string | undefined;
  readonly basic?: { readonly username: string; readonly password: string } | undefined;
  readonly certPem?: string | undefined;
  readonly keyPem?: string | undefined;
  readonly impersonate?: { readonly user: string; readonly groups: readonly string[] } | undefined;
}

/** Where credentials come from. */
export interface CredentialSource {
  current(): Promise<Credentials>;
  /** Called when the server answered 401; the next {@link current} must not give the same again if it can be helped. */
  refused?(): void;
}

/** Credentials that never change. */
export function fixedCredentials(credentials: Credentials): CredentialSource {
  return { current: async () => credentials };
}
