// SPDX-License-Identifier: Apache-2.0
import { isNoMatch, type KubeClient } from "@purlin/kube-client";
import { isJsonObject, type JsonObject } from "@purlin/kube-objects/json";
import { groupOf, type KubeObject, type TypeRef } from "@purlin/kube-objects/object";
import { type Cluster, openCluster } from "../cluster/cluster-client.ts";
import { allResources, findTargets, type Resource } from "../cluster/find-resource.ts";
import { writeOutput } from "../files/output-file.ts";
import { printYaml } from "../files/yaml-file.ts";
import { fetchTarget, objectsOf } from "../get/selected-objects.ts";
import type { Io } from "../io.ts";
import { type CommandInput, textOption } from "../options/command-spec.ts";
import { documentFormats, listText, readOutput } from "../options/data-output.ts";
import { definitionType } from "../tree/defined-kinds.ts";
import { portable } from "./portable-object.ts";

/** `purlin export [--kinds TYPE,…]` */
export async function run(input: CommandInput, io: Io): Promise<undefined> {
  const output = readOutput(input, documentFormats);
  // Every kind is read, whether it has objects or not: what the server says about deprecated ones is of no use.
  await using cluster = await openCluster(input, io, { ignoresWarnings: true });
  const composites = await compositeKinds(cluster.client, io.signal);
  const isComposite = (object: KubeObject): boolean => composites.has(`${groupOf(object.apiVersion)}/${object.kind}`);
  const found = (await fetchAll(cluster, input, io)).filter(isExported);
  const ordered = found
    .map((object) => ({ object, place: placeOf(object, isComposite(object)) }))
    .sort((a, b) => a.place - b.place);
  const documents = ordered.map(({ object }) => portable(object, { isComposite: isComposite(object) }));
  const inYaml = (): string => documents.map((document) => `---\n${printYaml(document)}`).join("");
  await write(output === "json" ? listText(documents) : inYaml(), textOption(input, "out"), {
    io,
    count: documents.length,
  });
}

async function fetchAll(cluster: Cluster, input: CommandInput, io: Io): Promise<KubeObject[]> {
  const resources = await selectedResources(cluster.client, input, io.signal);
  const withSecrets = input.options["secrets"] !== false;
  const selection = { namespace: textOption(input, "namespace"), labelSelector: textOption(input, "selector") };
  const objects: KubeObject[] = [];
  for (const resource of resources) {
    if (selection.namespace !== undefined && !resource.namespaced) continue;
    if (!withSecrets && resource.kind === "Secret" && resource.apiVersion === "v1") continue;
    const options = { selection, accept: "application/json", signal: io.signal };
    objects.push(...objectsOf(await fetchTarget(cluster, { resource }, options)));
  }
  return objects;
}

async function selectedResources(
  client: KubeClient,
  input: CommandInput,
  signal: AbortSignal,
): Promise<readonly Resource[]> {
  const kinds = textOption(input, "kinds");
  if (kinds === undefined) return (await allResources(client, signal)).filter(isExportedType);
  const targets = await findTargets(client, [kinds], signal);
  return targets.map(({ resource }) => resource);
}

/** `group/Kind` of every composite resource and claim. */
async function compositeKinds(client: KubeClient, signal: AbortSignal): Promise<ReadonlySet<string>> {
  try {
    const { items } = await client.list(definitionType, { signal });
    return new Set(items.flatMap(kindsOf));
  } catch (error) {
    // A cluster without a control plane has no composite resources.
    if (isNoMatch(error)) return new Set();
    throw error;
  }
}

function kindsOf({ spec }: KubeObject & { readonly spec?: unknown }): string[] {
  if (!isJsonObject(spec)) return [];
  const names = [spec["names"], spec["claimNames"]].filter((one): one is JsonObject => isJsonObject(one));
  return names.map(({ kind }) => `${String(spec["group"])}/${String(kind)}`);
}

async function write(
  text: string,
  out: string | undefined,
  { io, count }: { readonly io: Io; readonly count: number },
): Promise<void> {
  if (count === 0) io.stderr.write("No resources found\n");
  if (out === undefined) {
    io.stdout.write(text);
    return;
  }
  const report = await writeOutput(out, text, { io });
  report.write(`${out}: ${count} ${count === 1 ? "object" : "objects"}\n`);
}

/** Kinds whose objects belong to one server: it or its controllers make them. */
const serverKinds: ReadonlySet<string> = new Set([
  ...["v1/Event", "v1/Endpoints", "v1/Node", "v1/ComponentStatus", "v1/Binding", "v1/PersistentVolume"],
  ...["events.k8s.io/Event", "discovery.k8s.io/EndpointSlice", "coordination.k8s.io/Lease"],
  ...["networking.k8s.io/IPAddress", "networking.k8s.io/ServiceCIDR", "certificates.k8s.io/CertificateSigningRequest"],
  ...["storage.k8s.io/VolumeAttachment", "storage.k8s.io/CSINode", "storage.k8s.io/CSIStorageCapacity"],
  ...["apps/ControllerRevision", "pkg.crossplane.io/Lock", "apiextensions.crossplane.io/CompositionRevision"],
  ...[
    "pkg.crossplane.io/ConfigurationRevision",
    "pkg.crossplane.io/ProviderRevision",
    "pkg.crossplane.io/FunctionRevision",
  ],
]);

const systemNamespaces: ReadonlySet<string> = new Set(["kube-system", "kube-public", "kube-node-lease"]);
/** The groups of Crossplane's own kinds and of ours: a control plane installs their definitions itself. */
const controlPlaneGroups = /^((apiextensions|pkg|protection|ops|secrets)\.crossplane\.io|simulation\.purlin\.dev)$/;

/** Whether users make objects of a type. */
export function isExportedType(type: TypeRef): boolean {
  const group = groupOf(type.apiVersion);
  return !serverKinds.has(`${group === "" ? "v1" : group}/${type.kind}`);
}

/** Whether an object is one that a user made, so that another server needs it. */
export function isExported(object: KubeObject): boolean {
  const { metadata } = object;
  const group = groupOf(object.apiVersion);
  if (!isExportedType(object)) return false;
  // Derived from another object, or on its way out.
  if (metadata.ownerReferences?.some(({ controller }) => controller === true)) return false;
  if (metadata.deletionTimestamp !== undefined || isBound(object)) return false;
  if (systemNamespaces.has(metadata.namespace ?? "")) return false;
  return !isServersOwn(object, group);
}

/** A composite resource that a claim asked for comes with the claim. */
function isBound({ spec }: KubeObject & { readonly spec?: unknown }): boolean {
  return isJsonObject(spec) && isJsonObject(spec["claimRef"]);
}

/** What every server makes at its start. */
function isServersOwn(object: KubeObject, group: string): boolean {
  const { kind, metadata } = object;
  const { name = "", namespace = "" } = metadata;
  const labels = metadata.labels ?? {};
  const annotations = metadata.annotations ?? {};
  if (labels["kubernetes.io/bootstrapping"] !== undefined) return true;
  // Made by the simulation of workloads, such as its StorageClass, or the claims of a StatefulSet. It marks Pods of users, too.
  if (annotations["purlin.dev/simulated"] !== undefined && kind !== "Pod") return true;
  if (annotations["apf.kubernetes.io/autoupdate-spec"] !== undefined) return true;
  switch (`${group}/${kind}`) {
    case "/Namespace":
      return name === "default" || name === "crossplane-system" || systemNamespaces.has(name);
    case "/ConfigMap":
      return name === "kube-root-ca.crt";
    case "/ServiceAccount":
      return name === "default";
    case "/Service":
      return namespace === "default" && name === "kubernetes";
    case "/Secret":
      return (object as { readonly type?: string }).type === "kubernetes.io/service-account-token";
    case "scheduling.k8s.io/PriorityClass":
      return name.startsWith("system-");
    case "apiregistration.k8s.io/APIService":
      return labels["kube-aggregator.kubernetes.io/automanaged"] !== undefined;
    case "apiextensions.k8s.io/CustomResourceDefinition":
      return controlPlaneGroups.test(name.slice(name.indexOf(".") + 1));
    default:
      return false;
  }
}

/** What others need comes first. */
const order: readonly string[] = [
  ...["Namespace", "CustomResourceDefinition", "CompositeResourceDefinition", "PriorityClass", "StorageClass"],
  ...["DeploymentRuntimeConfig", "ImageConfig", "Configuration", "Provider", "Function", "EnvironmentConfig"],
  ...[
    "Composition",
    "ServiceAccount",
    "ClusterRole",
    "Role",
    "ClusterRoleBinding",
    "RoleBinding",
    "Secret",
    "ConfigMap",
  ],
];

/** The place of an object in an export; composite resources and claims come last. */
export function placeOf({ kind }: KubeObject, isComposite: boolean): number {
  const at = order.indexOf(kind);
  if (isComposite) return order.length + 1;
  return at < 0 ? order.length : at;
}
