// SPDX-License-Identifier: Apache-2.0

import type { Clock } from "@purlin/base";
import type { ControllerClient } from "@purlin/kube-controller";
import type { TypeRef } from "@purlin/kube-objects/object";
import type { PackageClient } from "../../fetch/package-client.ts";
import type { RevisionLeases } from "../leases.ts";

/** The dependencies of packages that run on a cluster. */
export interface KubernetesRuntimeOptions {
  /** Reads and writes packages, revisions and their configurations. */
  readonly client: ControllerClient;
  /** Reads and writes the objects of runtimes: those of one namespace, Secrets among them, from caches. */
  readonly objects: ControllerClient;
  readonly packages: PackageClient;
  readonly namespace: string;
  /** The service account of the control plane: Pods use its pull secrets. It must exist. */
  readonly serviceAccount?: string | undefined;
  readonly clock: Clock;
  /** Days a certificate is good for; a year unless given. */
  readonly certificateDays?: number | undefined;
  /** How long a retired revision keeps running at least, for calls that are on their way. */
  readonly lingerMs?: number | undefined;
  /** A revision with leases is not stopped before a limit. */
  readonly leases?: RevisionLeases | undefined;
}

/** The kinds of runtime objects on a cluster. */
export const runtimeKinds: Readonly<Record<"deployment" | "service" | "serviceAccount" | "secret", TypeRef>> = {
  deployment: { apiVersion: "apps/v1", kind: "Deployment" },
  service: { apiVersion: "v1", kind: "Service" },
  serviceAccount: { apiVersion: "v1", kind: "ServiceAccount" },
  secret: { apiVersion: "v1", kind: "Secret" },
};

/** Where functions and webhooks listen. */
export const runtimePort = 9443;
