// SPDX-License-Identifier: Apache-2.0

import type { JsonObject, JsonValue } from "@purlin/kube-objects/json";
import { type KubeObject, memberAt, objectAt, textMapAt } from "@purlin/kube-objects/object";
import type { PackageType } from "../../package-kinds.ts";
import { runtimeKinds } from "./kubernetes-runtime-options.ts";
import { runtimeContainer, unprivileged } from "./runtime-container.ts";
import { podLabels, type RuntimeNames } from "./runtime-names.ts";
import { mergeByName, type ObjectPlace, templatedMetadata, withoutNulls } from "./templated-metadata.ts";

/** The inputs of a Deployment. */
export interface DeploymentInput {
  readonly type: PackageType;
  readonly revision: KubeObject;
  readonly names: RuntimeNames;
  /** `spec` of the runtime config. */
  readonly config: JsonObject;
  readonly place: ObjectPlace;
  /** The image, unless the template has one. */
  readonly image: string;
  readonly pullSecrets: readonly string[];
  /** Changes when a certificate is renewed, which replaces the Pods. */
  readonly certificateMark?: string | undefined;
}

/** On Pods whose certificate is not their first. Kubernetes replaces Pods when it changes. */
const certificateAnnotation = "purlin.dev/certificate";

const scrapeAnnotations = {
  "prometheus.io/scrape": "true",
  "prometheus.io/port": "8080",
  "prometheus.io/path": "/metrics",
} as const;

const certificateFiles = ["tls.crt", "tls.key", "ca.crt"] as const;

/** The Deployment of a revision: the template of its runtime config, completed. */
export function deploymentOf(input: DeploymentInput): KubeObject {
  const { type, revision, config, place } = input;
  const template = withoutNulls(objectAt(config, ["deploymentTemplate", "spec"]));
  const spec = {
    ...template,
    replicas: template["replicas"] ?? 1,
    selector: { matchLabels: podLabels(type, revision) },
    template: { metadata: podMetadata(input, template), spec: podSpec(input, template) },
  };
  return { ...runtimeKinds.deployment, metadata: templatedMetadata(config, "deploymentTemplate", place), spec };
}

function podMetadata({ type, revision, certificateMark }: DeploymentInput, template: JsonObject): JsonObject {
  const labels = { ...textMapAt(template, ["template", "metadata", "labels"]), ...podLabels(type, revision) };
  const given = textMapAt(template, ["template", "metadata", "annotations"]) ?? {};
  const isScraped = type.kind === "Provider" && !("prometheus.io/scrape" in given);
  const annotations = {
    ...given,
    ...(isScraped && scrapeAnnotations),
    ...(certificateMark !== undefined && { [certificateAnnotation]: certificateMark }),
  };
  return { labels, ...(Object.keys(annotations).length > 0 && { annotations }) };
}

function podSpec(input: DeploymentInput, template: JsonObject): JsonObject {
  const { names, pullSecrets } = input;
  const { imagePullSecrets: _overridden, ...given } = objectAt(template, ["template", "spec"]);
  const containers = listOf(given, "containers");
  const runtime = containers.find((one) => memberAt(one, ["name"]) === "package-runtime") ?? {};
  const others = containers.filter((one) => one !== runtime);
  return {
    ...given,
    serviceAccountName: given["serviceAccountName"] || names.serviceAccount,
    securityContext: given["securityContext"] ?? unprivileged,
    ...(pullSecrets.length > 0 && { imagePullSecrets: [...new Set(pullSecrets)].map((name) => ({ name })) }),
    containers: [runtimeContainer(input, runtime), ...others],
    volumes: mergeByName(listOf(given, "volumes"), volumesOf(names)),
  };
}

function volumesOf({ serverSecret, clientSecret }: RuntimeNames): JsonObject[] {
  const items = certificateFiles.map((key) => ({ key, path: key }));
  const volume = (name: string, secret: string): JsonObject => ({ name, secret: { secretName: secret, items } });
  return [
    ...(clientSecret === undefined ? [] : [volume("tls-client-certs", clientSecret)]),
    volume("tls-server-certs", serverSecret),
  ];
}

function listOf(object: JsonObject, member: string): readonly JsonObject[] {
  const value: JsonValue | undefined = object[member];
  return Array.isArray(value) ? (value as readonly JsonObject[]) : [];
}
