// SPDX-License-Identifier: Apache-2.0
import { dirname, isAbsolute, join } from "node:path";
import { readRegularFile } from "@purlin/kube-objects/files";
import { type ClusterAccess, type CredentialSource, fixedCredentials } from "./cluster-access.ts";
import { type ExecConfig, execCredentials } from "./exec-credentials.ts";
import { tokenFile } from "./token-file.ts";

/** The parts of a kubeconfig file we read. */
export interface Kubeconfig {
  readonly "current-context"?: string;
  readonly clusters?: readonly { readonly name: string; readonly cluster: ClusterEntry }[];
  readonly users?: readonly { readonly name: string; readonly user: UserEntry | null }[];
  readonly contexts?: readonly { readonly name: string; readonly context: ContextEntry }[];
}

interface ClusterEntry {
  readonly server: string;
  readonly "certificate-authority"?: string;
  readonly "certificate-authority-data"?: string;
  readonly "insecure-skip-tls-verify"?: boolean;
  readonly "tls-server-name"?: string;
}

interface UserEntry {
  readonly "client-certificate"?: string;
  readonly "client-certificate-data"?: string;
  readonly "client-key"?: string;
  readonly "client-key-data"?: string;
  readonly token?: string;
  readonly tokenFile?: string;
  readonly username?: string;
  readonly password?: string;
  readonly as?: string;
  readonly "as-groups"?: readonly string[];
  readonly exec?: ExecConfig;
  readonly "auth-provider"?: unknown;
}

interface ContextEntry {
  readonly cluster?: string;
  readonly user?: string;
  readonly namespace?: string;
}

/** Which part of a kubeconfig to use, and what it is relative to. */
export interface KubeconfigOptions {
  /** The file it came from: named in errors, and relative paths inside start there. */
  readonly file: string;
  /** Another context than the current one. */
  readonly context?: string | undefined;
  /** The environment of exec plugins. */
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** The access a parsed kubeconfig describes. Throws an error that names the file and the missing part. */
export async function accessFromKubeconfig(config: Kubeconfig, options: KubeconfigOptions): Promise<ClusterAccess> {
  const contextName = options.context ?? config["current-context"];
  if (!contextName) throw problem(options, "has no current-context; set one or name a context");
  const context = find(config.contexts, { name: contextName, what: "context" }, options).context;
  const cluster = find(config.clusters, { name: context.cluster ?? "", what: "cluster" }, options).cluster;
  const user = context.user ? (find(config.users, { name: context.user, what: "user" }, options).user ?? {}) : {};
  if (!cluster.server) throw problem(options, `cluster "${context.cluster}" has no server`);
  return {
    server: cluster.server,
    caPem: await pem(cluster["certificate-authority-data"], cluster["certificate-authority"], options),
    tlsServerName: cluster["tls-server-name"],
    insecureSkipTlsVerify: cluster["insecure-skip-tls-verify"],
    namespace: context.namespace,
    credentials: await credentialsOf({ user, name: context.user ?? "", cluster }, options),
  };
}

async function credentialsOf(
  { user, name, cluster }: { readonly user: UserEntry; readonly name: string; readonly cluster: ClusterEntry },
  options: KubeconfigOptions,
): Promise<CredentialSource> {
  if (user["auth-provider"] !== undefined) {
    throw problem(options, `user "${name}" uses auth-provider, which Kubernetes removed in 1.26; use exec instead`);
  }
  if (user.exec !== undefined) return execCredentials(user.exec, { ...options, user: name, cluster });
  // As for client-go, the file wins over a token beside it, which was valid when the kubeconfig was written.
  if (user.tokenFile !== undefined) return tokenFile(resolve(user.tokenFile, options), user.token);
  return fixedCredentials({
    bearerToken: user.token,
    certPem: await pem(user["client-certificate-data"], user["client-certificate"], options),
    keyPem: await pem(user["client-key-data"], user["client-key"], options),
    basic: user.username === undefined ? undefined : { username: user.username, password: user.password ?? "" },
    impersonate: user.as === undefined ? undefined : { user: user.as, groups: user["as-groups"] ?? [] },
  });
}

function find<T extends { readonly name: string }>(
  entries: readonly T[] | undefined,
  { name, what }: { readonly name: string; readonly what: string },
  options: KubeconfigOptions,
): T {
  const entry = entries?.find((one) => one.name === name);
  if (entry !== undefined) return entry;
  const known = (entries ?? []).map((one) => `"${one.name}"`).join(", ") || "none";
  throw problem(options, `has no ${what} "${name}"; it has ${known}`);
}

/** Bundles of every public certificate authority have less than 1 MiB. */
const maxPemBytes = 4 * 1024 * 1024;

async function pem(
  data: string | undefined,
  file: string | undefined,
  options: KubeconfigOptions,
): Promise<string | undefined> {
  if (data) return Buffer.from(data, "base64").toString("utf8");
  if (!file) return undefined;
  const path = resolve(file, options);
  try {
    return (await readRegularFile(path, { maxBytes: maxPemBytes })).toString("utf8");
  } catch (error) {
    throw problem(options, `names ${path}, which cannot be read: ${(error as Error).message}`, error);
  }
}

function resolve(path: string, { file }: KubeconfigOptions): string {
  return isAbsolute(path) ? path : join(dirname(file), path);
}

function problem({ file }: KubeconfigOptions, text: string, cause?: unknown): Error {
  return new Error(`kubeconfig ${file} ${text}`, { cause });
}
