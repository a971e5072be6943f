// SPDX-License-Identifier: Apache-2.0

import { connect } from "node:net";
import type { Clock } from "@purlin/base";
import type { EgressSupport, FunctionProcess, FunctionProcesses, SandboxSupport } from "@purlin/function-process";
import type { KubeClient } from "@purlin/kube-client";
import type { ControllerClient } from "@purlin/kube-controller";
import type { JsonObject } from "@purlin/kube-objects/json";
import { type KubeObject, memberAt, objectAt, objectsAt, textAt } from "@purlin/kube-objects/object";
import type { ContentStore, ImageRoots, Platform } from "@purlin/oci";
import type { PackageClient } from "../../fetch/package-client.ts";
import { definitionKinds, otherKinds } from "../../package-kinds.ts";
import type { RuntimeContext } from "../package-runtime.ts";

/** Where the webhooks of a package are served. */
export interface WebhookTarget {
  readonly host: string;
  readonly port: number;
  readonly socketPath?: string | undefined;
}

/** What the machine gives to Providers. */
export interface ProviderHost {
  /** Where this process reaches the API server. */
  readonly api: { readonly host: string; readonly port: number };
  /** The authority of the API server, in PEM. */
  readonly authority: () => string;
  /** Grants rights and issues tokens: the control plane must not have these rights itself, as its users write compositions. */
  readonly grants: Pick<KubeClient, "apply" | "raw">;
  /** Where webhooks of Services are, by `NAMESPACE/NAME:PORT`; entries are added and removed. */
  readonly webhookTargets: Map<string, WebhookTarget>;
  /** What the API server denied to Providers. */
  readonly denied: DeniedRequests;
  /** Whether Providers can have private networks. */
  readonly egress: () => Promise<EgressSupport>;
  /** Credentials and volumes go here. */
  readonly directory: string;
}

/** The dependencies of Providers that run on this machine. */
export interface ProviderRuntimeOptions extends ProviderHost {
  readonly client: ControllerClient;
  readonly packages: PackageClient;
  readonly store: ContentStore;
  readonly roots: ImageRoots;
  readonly processes: FunctionProcesses;
  readonly sandbox: SandboxSupport;
  readonly platform: Platform;
  readonly namespace: string;
  /** Sockets of sandboxed programs go here. */
  readonly sockets: string;
  readonly clock: Clock;
}

/** The names of the Secrets of a revision. */
export function secretsOf(revision: string): { readonly server: string; readonly client: string } {
  return { server: `${revision}-tls-server`, client: `${revision}-tls-client` };
}

/** The `spec` of the runtime config of a revision. The default one need not exist. */
export async function runtimeConfigOf(
  client: ControllerClient,
  revision: KubeObject,
  signal: AbortSignal,
): Promise<JsonObject> {
  const name = textAt(revision, ["spec", "runtimeConfigRef", "name"]) ?? "default";
  const found = await client.get(otherKinds.runtimeConfig, { name }, { signal });
  if (found === undefined && name !== "default") {
    throw new Error(`cannot get DeploymentRuntimeConfig "${name}": not found; create it`);
  }
  return found === undefined ? {} : objectAt(found, ["spec"]);
}

/** What the API server denied to the accounts of Providers: the conditions of their revisions show it. */
interface DeniedRequests {
  /** Notes a request that was denied, and how to ask whether the user has the right meanwhile. */
  record(user: string, message: string, isAllowed: () => boolean): void;
  /** What was denied to an account and would be denied still, oldest first. */
  of(account: { readonly namespace: string; readonly name: string }): readonly string[];
  forget(account: { readonly namespace: string; readonly name: string }): void;
  /** Calls back with the name of an account when something else was denied to it than before; the result ends that. */
  onChange(listener: (account: string) => void): () => void;
}

/** The first few say what is missing; clients ask again and again. */
const maxMessages = 5;
const maxAccounts = 1000;
/** The Provider chooses the names in a message. */
const maxCharacters = 500;

/** Keeps the denied requests of the accounts of one namespace. */
export function createDeniedRequests(namespace: string): DeniedRequests {
  const prefix = userOf({ namespace, name: "" });
  const messages = new Map<string, Map<string, () => boolean>>();
  const listeners = new Set<(account: string) => void>();
  return {
    record(user, text, isAllowed) {
      if (!user.startsWith(prefix)) return;
      const message = shown(text);
      const known = messages.get(user) ?? new Map<string, () => boolean>();
      if (known.has(message) || known.size >= maxMessages || (known.size === 0 && messages.size >= maxAccounts)) return;
      messages.set(user, known.set(message, isAllowed));
      for (const listener of listeners) listener(user.slice(prefix.length));
    },
    of(account) {
      const known = messages.get(userOf(account));
      for (const [message, isAllowed] of known ?? []) if (isAllowed()) known?.delete(message);
      if (known?.size === 0) messages.delete(userOf(account));
      return [...(known?.keys() ?? [])];
    },
    forget(account) {
      messages.delete(userOf(account));
    },
    onChange(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}

/** A message without control characters, which ends up in conditions and on terminals. */
function shown(text: string): string {
  const short = text.length > maxCharacters ? `${text.slice(0, maxCharacters)}…` : text;
  return short.replaceAll(/\p{Cc}/gu, "\uFFFD");
}

function userOf({ namespace, name }: { readonly namespace: string; readonly name: string }): string {
  return `system:serviceaccount:${namespace}:${name}`;
}

/** Where Providers serve webhooks. */
export const webhookPort = 9443;

const timeoutMs = 2_000;

/** Where the webhooks of a process are; undefined while it does not run. */
export function targetOf(process: FunctionProcess | undefined): WebhookTarget | undefined {
  if (process?.state.phase !== "serving") return undefined;
  const { endpoint } = process.state;
  const place = { host: "127.0.0.1", port: webhookPort };
  return endpoint.startsWith("unix:") ? { ...place, socketPath: endpoint.slice("unix:".length) } : place;
}

/** Removes the entries of a target. */
export function removeTarget(targets: Map<string, WebhookTarget>, target: WebhookTarget): void {
  for (const [key, one] of targets) if (isSame(one, target)) targets.delete(key);
}

/** Whether webhooks are called at a target. */
export function hasTarget(targets: ReadonlyMap<string, WebhookTarget>, target: WebhookTarget): boolean {
  return targets.values().some((one) => isSame(one, target));
}

function isSame(a: WebhookTarget, b: WebhookTarget): boolean {
  return a.port === b.port && a.socketPath === b.socketPath;
}

const webhookKinds: ReadonlySet<string> = new Set(["ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"]);
const crdType = { apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition" };

/** Whether the package has webhooks: configurations of admission, or CRDs that it converts. */
export async function declaresWebhooks(
  client: ControllerClient,
  { revision, signal }: RuntimeContext,
): Promise<boolean> {
  const references = objectsAt(revision, ["status", "objectRefs"]);
  if (references.some((one) => webhookKinds.has(textAt(one, ["kind"]) ?? ""))) return true;
  for (const one of references.filter((reference) => definitionKinds.has(textAt(reference, ["kind"]) ?? ""))) {
    const crd = await client.get(crdType, { name: textAt(one, ["name"]) ?? "" }, { signal });
    if (crd !== undefined && memberAt(crd, ["spec", "conversion", "strategy"]) === "Webhook") return true;
  }
  return false;
}

/** Whether a connection is accepted. */
export async function accepts({ security }: FunctionProcesses, target: WebhookTarget): Promise<boolean> {
  try {
    const { socketPath } = target;
    const opened = socketPath === undefined ? connectTo(target) : security.open?.(socketPath);
    (await opened)?.destroy();
    return opened !== undefined;
  } catch {
    return false;
  }
}

function connectTo({ host, port }: WebhookTarget): Promise<{ destroy(): unknown }> {
  const { promise, resolve, reject } = Promise.withResolvers<{ destroy(): unknown }>();
  const socket = connect({ host, port, timeout: timeoutMs });
  socket.once("connect", () => resolve(socket)).once("error", reject);
  socket.once("timeout", () => socket.destroy(new Error("timeout")));
  return promise;
}
