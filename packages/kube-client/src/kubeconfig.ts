// SPDX-License-Identifier: Apache-2.0
import { dirname, isAbsolute, join } from "node:path";
import { readRegularFile } from "@purlin/kube-objects/files";
import { isJsonObject, type JsonObject, type JsonValue, ownValue } from "@purlin/kube-objects/json";
import {
  type ClusterAccess,
  type CredentialSource,
  type ExecConfig,
  execCredentials,
  fixedCredentials,
  tokenFile,
} from "./cluster-access.ts";

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

// A kubeconfig is a file that a user or another program wrote: the types of its fields are checked before they are used.

type FieldType = "string" | "boolean" | "list of strings" | "exec" | "anything";

const clusterFields: Readonly<Record<string, FieldType>> = {
  server: "string",
  "certificate-authority": "string",
  "certificate-authority-data": "string",
  "insecure-skip-tls-verify": "boolean",
  "tls-server-name": "string",
};
const userFields: Readonly<Record<string, FieldType>> = {
  "client-certificate": "string",
  "client-certificate-data": "string",
  "client-key": "string",
  "client-key-data": "string",
  token: "string",
  tokenFile: "string",
  username: "string",
  password: "string",
  as: "string",
  "as-groups": "list of strings",
  exec: "exec",
  "auth-provider": "anything",
};
const contextFields: Readonly<Record<string, FieldType>> = { cluster: "string", user: "string", namespace: "string" };
const execFields: Readonly<Record<string, FieldType>> = {
  apiVersion: "string",
  command: "string",
  args: "list of strings",
  installHint: "string",
  interactiveMode: "string",
  provideClusterInfo: "boolean",
};

/**
 * The fields of a kubeconfig that are used, each of its type; fields that are null are left out. Throws an error that names the file
 * and the field.
 */
export function checkKubeconfig(value: unknown, file: string): Kubeconfig {
  const problem = (path: string, text: string): Error => new Error(`kubeconfig ${file}: ${path} ${text}`);
  const reader = new Reader(problem);
  const config = reader.object((value ?? {}) as JsonValue, "the document");
  return {
    ...reader.fields(config, "", { "current-context": "string" }),
    clusters: reader.entries(config, "clusters", { member: "cluster", fields: clusterFields }),
    users: reader.entries(config, "users", { member: "user", fields: userFields }),
    contexts: reader.entries(config, "contexts", { member: "context", fields: contextFields }),
  } as unknown as Kubeconfig;
}

interface EntryShape {
  readonly member: string;
  readonly fields: Readonly<Record<string, FieldType>>;
}

class Reader {
  readonly #problem: (path: string, text: string) => Error;

  constructor(problem: (path: string, text: string) => Error) {
    this.#problem = problem;
  }

  object(value: JsonValue, path: string): JsonObject {
    if (!isJsonObject(value)) throw this.#problem(path, "must be a map");
    return value;
  }

  /** The entries of a list: each has a name, and a map of the fields. */
  entries(config: JsonObject, list: string, { member, fields }: EntryShape): JsonObject[] {
    return this.#list(ownValue(config, list) ?? [], list).map((item, index) => {
      const path = `${list}[${index}]`;
      const entry = this.object(item, path);
      const name = ownValue(entry, "name");
      if (typeof name !== "string") throw this.#problem(`${path}.name`, "must be a string");
      const inner = this.object(ownValue(entry, member) ?? {}, `${path}.${member}`);
      return { name, [member]: this.fields(inner, `${path}.${member}.`, fields) };
    });
  }

  /** The fields of a map without those that are null; those with a known type must be of it. */
  fields(object: JsonObject, prefix: string, types: Readonly<Record<string, FieldType>>): JsonObject {
    const present = Object.entries(object).filter(([, value]) => value !== null);
    return Object.fromEntries(
      present.map(([name, value]) => {
        const type = Object.hasOwn(types, name) ? types[name] : undefined;
        return [name, this.#value(value, type ?? "anything", `${prefix}${name}`)];
      }),
    );
  }

  #value(value: JsonValue, type: FieldType, path: string): JsonValue {
    if (type === "anything") return value;
    if (type === "exec") return this.#exec(this.object(value, path), path);
    if (type === "list of strings") return this.#strings(value, path);
    if (typeof value !== type) throw this.#problem(path, `must be a ${type}`);
    return value;
  }

  #exec(exec: JsonObject, path: string): JsonObject {
    const variables = this.#list(ownValue(exec, "env") ?? [], `${path}.env`).map((item, index) =>
      this.fields(this.object(item, `${path}.env[${index}]`), `${path}.env[${index}].`, {
        name: "string",
        value: "string",
      }),
    );
    if (typeof ownValue(exec, "command") !== "string") throw this.#problem(`${path}.command`, "must be a string");
    return { ...this.fields(exec, `${path}.`, execFields), env: variables };
  }

  #strings(value: JsonValue, path: string): JsonValue[] {
    const list = this.#list(value, path);
    if (!list.every((item) => typeof item === "string")) throw this.#problem(path, "must be a list of strings");
    return list;
  }

  #list(value: JsonValue, path: string): JsonValue[] {
    if (!Array.isArray(value)) throw this.#problem(path, "must be a list");
    return value;
  }
}
