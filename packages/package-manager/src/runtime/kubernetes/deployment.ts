// SPDX-License-Identifier: Apache-2.0
import type { JsonObject, JsonValue } from "@purlin/kube-objects/json";
import {
  controllerReference,
  isControlledBy,
  type KubeObject,
  memberAt,
  objectAt,
  textAt,
  textMapAt,
} from "@purlin/kube-objects/object";
import { withoutNulls } from "@purlin/kube-objects/patch";
import { parseReference } from "@purlin/oci";
import { type PackageType, packageLabels } from "../../package-kinds.ts";
import { applyOwned, deleteExactly, runtimeFieldManager } from "../owned-objects.ts";
import {
  addMissing,
  mergeByName,
  type ObjectPlace,
  podLabels,
  type RuntimeNames,
  runtimeKinds,
  runtimePort,
  templatedMetadata,
} from "./runtime-names.ts";
import { isNewer, pullSecrets, type RuntimeScene, serviceAccountOf } from "./runtime-scene.ts";

/** The inputs of a Deployment. */
interface DeploymentInput {
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
  /** The number of Pods, whatever the template says. */
  readonly replicas?: number | undefined;
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
  // Generated templates contain fields such as `creationTimestamp: null`.
  const template = withoutNulls(objectAt(config, ["deploymentTemplate", "spec"])) as JsonObject;
  const spec = {
    ...template,
    replicas: input.replicas ?? template["replicas"] ?? 1,
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

const packageUser = 2000;

/** An arbitrary uid that is not root. */
const unprivileged: JsonObject = { runAsNonRoot: true, runAsUser: packageUser, runAsGroup: packageUser };

const confined: JsonObject = { ...unprivileged, privileged: false, allowPrivilegeEscalation: false };
/**
 * A Pod without a probe counts as ready before its process serves, and a build that cannot start would replace
 * the serving one.
 */
const answers: JsonObject = { tcpSocket: { port: "grpc" }, periodSeconds: 2 };
const serverFolder = "/tls/server";
const clientFolder = "/tls/client";

/** The container that runs the package: that of the template, completed. */
function runtimeContainer(input: DeploymentInput, given: JsonObject): JsonObject {
  const { type, revision, names, image } = input;
  const policy = textAt(revision, ["spec", "packagePullPolicy"]) ?? given["imagePullPolicy"] ?? "IfNotPresent";
  const port = type.kind === "Function" ? "grpc" : "webhook";
  return {
    ...given,
    name: "package-runtime",
    image: given["image"] || image,
    imagePullPolicy: policy,
    securityContext: given["securityContext"] ?? confined,
    ports: addMissing(withProtocol(itemsOf(given, "ports")), [
      { name: "metrics", containerPort: 8080, protocol: "TCP" },
      { name: port, containerPort: runtimePort, protocol: "TCP" },
    ]),
    ...(type.kind === "Function" && { readinessProbe: given["readinessProbe"] ?? answers }),
    env: mergeByName(itemsOf(given, "env"), environmentOf(input)),
    volumeMounts: mergeByName(itemsOf(given, "volumeMounts"), mountsOf(names.clientSecret !== undefined), "mountPath"),
  };
}

/** The protocol is part of the key of a port, so it is set even to its default. */
function withProtocol(ports: readonly JsonObject[]): JsonObject[] {
  return ports.map((port) => ({ protocol: "TCP", ...port }));
}

function mountsOf(hasClient: boolean): JsonObject[] {
  const mount = (name: string, mountPath: string): JsonObject => ({ name, mountPath, readOnly: true });
  return [...(hasClient ? [mount("tls-client-certs", clientFolder)] : []), mount("tls-server-certs", serverFolder)];
}

function environmentOf({ type, revision, names }: DeploymentInput): JsonObject[] {
  const uid = { name: "REVISION_UID", value: revision.metadata.uid ?? "" };
  const server = { name: "TLS_SERVER_CERTS_DIR", value: serverFolder };
  const revisionName = fromField("REVISION_NAME", labelField(packageLabels.revision));
  if (type.kind === "Function") {
    return [server, fromField("FUNCTION_NAME", labelField(packageLabels.function)), revisionName, uid];
  }
  return [
    ...(names.clientSecret === undefined ? [] : [{ name: "TLS_CLIENT_CERTS_DIR", value: clientFolder }]),
    server,
    fromField("POD_NAMESPACE", "metadata.namespace"),
    fromField("PROVIDER_NAME", labelField(packageLabels.provider)),
    revisionName,
    uid,
    { name: "WEBHOOK_TLS_CERT_DIR", value: "$(TLS_SERVER_CERTS_DIR)" },
  ];
}

function fromField(name: string, fieldPath: string): JsonObject {
  return { name, valueFrom: { fieldRef: { fieldPath } } };
}

function labelField(label: string): string {
  return `metadata.labels['${label}']`;
}

function itemsOf(container: JsonObject, member: string): readonly JsonObject[] {
  const value: JsonValue | undefined = container[member];
  return Array.isArray(value) ? (value as readonly JsonObject[]) : [];
}

/** Applies the Deployment of a revision, with a number of Pods other than that of its template if given, and the account its Pods run as if that is ours. Resolves to the stored Deployment. */
export async function applyDeployment(
  scene: RuntimeScene,
  certificateMark: string | undefined,
  replicas?: number,
): Promise<KubeObject> {
  const { options, type, revision, names, config, signal } = scene;
  const { objects, namespace } = options;
  const owner = controllerReference(revision);
  const secrets = await pullSecrets(scene);
  const deployment = deploymentOf({
    type,
    revision,
    names,
    config,
    place: { name: names.deployment, namespace, owner },
    image: imageOf(revision),
    pullSecrets: secrets.pods,
    certificateMark,
    replicas,
  });
  if (textAt(deployment, ["spec", "template", "spec", "serviceAccountName"]) === names.serviceAccount) {
    await applyServiceAccount(scene, secrets.account);
  }
  await makeRoom(scene);
  const applying = { fieldManager: runtimeFieldManager, force: true, signal };
  return (await objects.applyIfChanged(deployment, applying)).object;
}

/** Revisions may share an account by the name their template gives; it belongs to the newest of them. */
async function applyServiceAccount(scene: RuntimeScene, pullSecretNames: readonly string[]): Promise<void> {
  const { options, revision, names, config, siblings, signal } = scene;
  const { objects, namespace } = options;
  const place = { name: names.serviceAccount, namespace, owner: controllerReference(revision) };
  const existing = await objects.get(runtimeKinds.serviceAccount, place, { signal });
  const newer = siblings.filter((one) => isNewer(one, revision));
  if (existing !== undefined && newer.some(({ metadata }) => isControlledBy(existing, metadata.uid))) return;
  const account = serviceAccountOf({ config, place, existing, pullSecrets: pullSecretNames });
  await applyOwned(objects, account, { existing, signal });
}

/**
 * The selector of a Deployment is immutable: with a fixed name in the template, the Deployment of the older revision is deleted first.
 * Such upgrades have a short downtime.
 */
async function makeRoom({ options, revision, names, siblings, signal }: RuntimeScene): Promise<void> {
  const { objects, namespace } = options;
  if (names.deployment === revision.metadata.name) return;
  const existing = await objects.get(runtimeKinds.deployment, { namespace, name: names.deployment }, { signal });
  if (existing === undefined || isControlledBy(existing, revision.metadata.uid)) return;
  const older = siblings.filter((one) => isNewer(revision, one));
  if (!older.some(({ metadata }) => isControlledBy(existing, metadata.uid))) return;
  await deleteExactly({ objects, namespace, uid: undefined, signal }, existing);
}

/** The image of a revision by digest, if it has one: a tag beside it would be ignored. */
function imageOf(revision: KubeObject): string {
  const image = textAt(revision, ["status", "resolvedImage"]) ?? textAt(revision, ["spec", "image"]) ?? "";
  if (textAt(revision, ["spec", "digest"]) === undefined) return image;
  const { registry, repository, digest } = parseReference(image);
  return digest === undefined ? image : `${registry}/${repository}@${digest}`;
}
