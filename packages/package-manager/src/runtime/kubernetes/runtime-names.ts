// SPDX-License-Identifier: Apache-2.0
import type { Clock } from "@purlin/base";
import type { ControllerClient } from "@purlin/kube-controller";
import type { JsonObject } from "@purlin/kube-objects/json";
import { type KubeObject, type OwnerReference, type TypeRef, textAt, textMapAt } from "@purlin/kube-objects/object";
import type { PackageClient } from "../../fetch/package-client.ts";
import { secretName } from "../../manager/package-revision.ts";
import { type PackageType, packageLabels } from "../../package-kinds.ts";
import type { RevisionLeases } from "../package-runtime.ts";

/** The names of the objects of a revision. */
export interface RuntimeNames {
  readonly package: string;
  /** Whether Service and certificate are the revision's own, not the package's. */
  readonly isPerRevision: boolean;
  readonly service: string;
  readonly deployment: string;
  readonly serviceAccount: string;
  readonly serverSecret: string;
  /** Only Providers have one. */
  readonly clientSecret: string | undefined;
}

/**
 * Names the objects of a revision. Whether they are named after the revision or the package follows from the Secret its
 * manager chose, so each revision keeps its names until the manager changes it. Names of the runtime config win.
 */
export function runtimeNames({ kind }: PackageType, revision: KubeObject, config: JsonObject): RuntimeNames {
  const name = revision.metadata.name ?? "";
  const owner = revision.metadata.labels?.[packageLabels.package] ?? "";
  const own = secretName(name, "-tls-server");
  const serverSecret = textAt(revision, ["spec", "tlsServerSecretName"]) ?? secretName(owner, "-tls-server");
  const isPerRevision = serverSecret === own;
  const client = textAt(revision, ["spec", "tlsClientSecretName"]) ?? secretName(owner, "-tls-client");
  return {
    package: owner,
    isPerRevision,
    service: fixedName(config, "serviceTemplate") ?? (isPerRevision ? name : owner),
    deployment: fixedName(config, "deploymentTemplate") ?? name,
    serviceAccount: fixedName(config, "serviceAccountTemplate") ?? name,
    serverSecret,
    clientSecret: kind === "Provider" ? client : undefined,
  };
}

/** The name that a template of a runtime config gives to an object of every revision that uses it. */
export function fixedName(
  config: JsonObject,
  template: "serviceTemplate" | "deploymentTemplate" | "serviceAccountTemplate",
): string | undefined {
  return textAt(config, [template, "metadata", "name"]);
}

/** Every name under which the server of a revision is called: its own Service, and that of its package beside it. */
export function serverNames({ service, package: owner, isPerRevision }: RuntimeNames, namespace: string): string[] {
  const services = isPerRevision ? [service, owner] : [service];
  return [...new Set(services)].flatMap((name) => [name, `${name}.${namespace}`, `${name}.${namespace}.svc`]);
}

/** The endpoint of the function behind a Service. */
export function endpointOf(service: string, namespace: string): string {
  return `dns:///${service}.${namespace}:${runtimePort}`;
}

/** The labels of the Pods of a revision. */
export function podLabels({ kind }: PackageType, revision: KubeObject): Readonly<Record<string, string>> {
  const key = kind === "Function" ? packageLabels.function : packageLabels.provider;
  return {
    [packageLabels.revision]: revision.metadata.name ?? "",
    [key]: revision.metadata.labels?.[packageLabels.package] ?? "",
  };
}

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

/** The place and owner of an object. */
export interface ObjectPlace {
  readonly name: string;
  readonly namespace: string;
  readonly owner: OwnerReference;
}

/** The metadata of a runtime object: labels and annotations are those of its template. */
export function templatedMetadata(
  config: JsonObject,
  template: "serviceTemplate" | "deploymentTemplate" | "serviceAccountTemplate",
  { name, namespace, owner }: ObjectPlace,
): KubeObject["metadata"] {
  const labels = textMapAt(config, [template, "metadata", "labels"]);
  const annotations = textMapAt(config, [template, "metadata", "annotations"]);
  return {
    name,
    namespace,
    ...(labels && { labels }),
    ...(annotations && { annotations }),
    ownerReferences: [owner],
  };
}

/** Items of a template and our own after them. Of two with the same key ours stays, as Kubernetes lets the last one win. */
export function mergeByName(
  given: readonly JsonObject[],
  own: readonly JsonObject[],
  key: "name" | "mountPath" = "name",
): JsonObject[] {
  const taken = new Set(own.map((item) => item[key]));
  return [...given.filter((item) => !taken.has(item[key] ?? null)), ...own];
}

/** Items of a template and those of ours that it lacks. */
export function addMissing(given: readonly JsonObject[], own: readonly JsonObject[]): JsonObject[] {
  const taken = new Set(given.map(({ name }) => name));
  return [...given, ...own.filter(({ name }) => !taken.has(name ?? null))];
}
