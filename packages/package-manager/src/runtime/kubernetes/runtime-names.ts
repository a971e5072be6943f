// SPDX-License-Identifier: Apache-2.0

import type { JsonObject } from "@purlin/kube-objects/json";
import { type KubeObject, textAt } from "@purlin/kube-objects/object";
import { secretName } from "../../manager/desired-revision.ts";
import { type PackageType, packageLabels } from "../../package-kinds.ts";
import { runtimePort } from "./kubernetes-runtime-options.ts";

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
