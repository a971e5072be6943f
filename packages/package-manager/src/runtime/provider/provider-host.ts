// SPDX-License-Identifier: Apache-2.0

import type { Clock } from "@purlin/base";
import type { EgressSupport, FunctionProcesses, SandboxSupport } from "@purlin/function-process";
import type { KubeClient } from "@purlin/kube-client";
import type { ControllerClient } from "@purlin/kube-controller";
import type { JsonObject } from "@purlin/kube-objects/json";
import { type KubeObject, objectAt, textAt } from "@purlin/kube-objects/object";
import type { ContentStore, ImageRoots, Platform } from "@purlin/oci";
import type { PackageClient } from "../../fetch/package-client.ts";
import { otherKinds } from "../../package-kinds.ts";
import type { DeniedRequests } from "./denied-requests.ts";

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
