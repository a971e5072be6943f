// SPDX-License-Identifier: Apache-2.0
import { isJsonObject } from "@purlin/kube-objects/json";
import { groupOf, type KubeObject, type TypeRef } from "@purlin/kube-objects/object";

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
  // Made by the simulation of workloads, such as its StorageClass, or the claims of a StatefulSet.
  if (annotations["purlin.dev/simulated"] !== undefined) return true;
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
