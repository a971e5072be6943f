// SPDX-License-Identifier: Apache-2.0

import { execFile } from "node:child_process";
import { readFile, stat } from "node:fs/promises";
import { dirname, isAbsolute, join } from "node:path";
import { promisify } from "node:util";
import { readRegularFile } from "@purlin/kube-objects/files";

/** The `exec` part of a kubeconfig user: a program that prints credentials. */
export interface ExecConfig {
  readonly apiVersion: string;
  readonly command: string;
  readonly args?: readonly string[] | null;
  readonly env?: readonly { readonly name: string; readonly value: string }[] | null;
  readonly installHint?: string;
  readonly provideClusterInfo?: boolean;
}

/** The input of a credential plugin, and where its errors point. */
interface ExecOptions {
  readonly file: string;
  readonly user: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cluster: object;
}

interface ExecCredential {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly status?: {
    readonly token?: string;
    readonly clientCertificateData?: string;
    readonly clientKeyData?: string;
    readonly expirationTimestamp?: string;
  };
}

const run = promisify(execFile);
const supported = ["client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1"];
const timeoutMs = 60_000;

/** Credentials from an exec plugin, kept until they expire or the server refuses them. One run serves all callers that wait. */
export function execCredentials(config: ExecConfig, options: ExecOptions): CredentialSource {
  if (!supported.includes(config.apiVersion)) {
    throw new Error(
      `kubeconfig ${options.file} user "${options.user}": exec.apiVersion is "${config.apiVersion}", expected ${supported.join(" or ")}`,
    );
  }
  let known: { readonly credentials: Credentials; readonly expires: number } | undefined;
  let running: Promise<Credentials> | undefined;

  async function refresh(): Promise<Credentials> {
    const { status = {} } = await runPlugin(config, options);
    const credentials: Credentials = {
      bearerToken: status.token,
      certPem: status.clientCertificateData,
      keyPem: status.clientKeyData,
    };
    const expires = status.expirationTimestamp ? Date.parse(status.expirationTimestamp) : Number.POSITIVE_INFINITY;
    known = { credentials, expires };
    return credentials;
  }

  return {
    async current() {
      if (known !== undefined && known.expires > Date.now()) return known.credentials;
      running ??= refresh().finally(() => {
        running = undefined;
      });
      return running;
    },
    refused() {
      known = undefined;
    },
  };
}

async function runPlugin(config: ExecConfig, options: ExecOptions): Promise<ExecCredential> {
  const where = `kubeconfig ${options.file} user "${options.user}": exec plugin ${config.command}`;
  const info = {
    apiVersion: config.apiVersion,
    kind: "ExecCredential",
    spec: { interactive: false, ...(config.provideClusterInfo && { cluster: options.cluster }) },
  };
  const extra = Object.fromEntries((config.env ?? []).map(({ name, value }) => [name, value]));
  const env = { ...options.env, ...extra, KUBERNETES_EXEC_INFO: JSON.stringify(info) };
  // A command with a slash is relative to the kubeconfig; a bare name is looked up in PATH.
  const command =
    config.command.includes("/") && !isAbsolute(config.command)
      ? join(dirname(options.file), config.command)
      : config.command;
  try {
    const { stdout } = await run(command, [...(config.args ?? [])], { env, timeout: timeoutMs, maxBuffer: 1 << 20 });
    return checked(parseCredential(stdout), config);
  } catch (error) {
    const hint =
      (error as NodeJS.ErrnoException).code === "ENOENT" && config.installHint ? `; ${config.installHint}` : "";
    throw new Error(`${where} failed: ${(error as Error).message.trim()}${hint}`, { cause: error });
  }
}

function parseCredential(text: string): ExecCredential {
  try {
    return JSON.parse(text) as ExecCredential;
  } catch (error) {
    throw new Error(`it printed ${JSON.stringify(text.trim().slice(0, 40))}, which is not JSON`, { cause: error });
  }
}

function checked(answer: ExecCredential, config: ExecConfig): ExecCredential {
  if (answer.kind !== "ExecCredential" || answer.apiVersion !== config.apiVersion) {
    throw new Error(
      `it printed ${answer.apiVersion}, Kind=${answer.kind} instead of an ExecCredential of ${config.apiVersion}`,
    );
  }
  const { token, clientCertificateData, clientKeyData } = answer.status ?? {};
  if (!token && !(clientCertificateData && clientKeyData)) {
    throw new Error("it printed neither a token nor a client certificate with its key");
  }
  return answer;
}

/** The address of an API server and the credentials. */
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

/** The credentials. */
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

/** Requests with larger headers are refused by every server. */
const maxTokenBytes = 1024 * 1024;

/** A bearer token in a file that another program renews, read again when the file has changed. The other token counts without a file. */
export function tokenFile(path: string, otherwise = ""): CredentialSource {
  let known: { readonly modified: number; readonly token: string } | undefined;
  const read = async (): Promise<string> => {
    const { mtimeMs } = await stat(path);
    if (known?.modified !== mtimeMs) {
      const bytes = await readRegularFile(path, { maxBytes: maxTokenBytes });
      known = { modified: mtimeMs, token: bytes.toString("utf8").trim() };
    }
    return known.token;
  };
  return {
    async current() {
      const bearerToken = await read().catch((error: unknown) => {
        if (otherwise === "") throw error;
        return otherwise;
      });
      return { bearerToken };
    },
    refused() {
      known = undefined;
    },
  };
}

/** Where a Pod finds its service account, by convention. */
export const serviceAccountDirectory = "/var/run/secrets/kubernetes.io/serviceaccount";

/** The access a Pod has to its own cluster, or undefined when this process is not in one. */
export async function inClusterAccess(
  env: Readonly<Record<string, string | undefined>>,
  directory: string = serviceAccountDirectory,
): Promise<ClusterAccess | undefined> {
  const host = env["KUBERNETES_SERVICE_HOST"];
  const port = env["KUBERNETES_SERVICE_PORT"];
  if (!host || !port) return undefined;
  const read = (name: string): Promise<string> => readFile(join(directory, name), "utf8");
  return {
    server: `https://${host.includes(":") ? `[${host}]` : host}:${port}`,
    caPem: await read("ca.crt"),
    namespace: (await read("namespace").catch(() => "default")).trim(),
    credentials: tokenFile(join(directory, "token")),
  };
}
