// SPDX-License-Identifier: Apache-2.0
import type { JsonObject } from "@purlin/kube-objects/json";
import type { KubeObject, TypeRef } from "@purlin/kube-objects/object";
import type { Schema } from "@purlin/kube-objects/schema";
import { type Column, checked, describeFields, type Fields, type FieldTexts, object, text } from "./schema.ts";

/** The type of CustomResourceDefinitions. */
export const crdType: TypeRef = { apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition" };

/** One version of a kind. */
export interface CrdVersion {
  readonly name: string;
  /** Whether objects are stored in this version. A single version always is. */
  readonly isStored?: boolean;
  /** The warning that clients of the version get, which is then deprecated. */
  readonly deprecation?: string;
  /** The fields beside `apiVersion`, `kind` and `metadata`. */
  readonly fields: Fields;
  /** Rules about the whole object in CEL, with their messages. */
  readonly rules?: Readonly<Record<string, string>>;
  readonly columns: readonly Column[];
  readonly hasStatus: boolean;
}

/** A kind of ours, as in its CRD. */
export interface CrdShape {
  readonly group: string;
  readonly kind: string;
  readonly plural: string;
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
  readonly isNamespaced?: boolean;
  readonly versions: readonly CrdVersion[];
  /** Every kind of ours has them. */
  readonly docs?: KindDocs;
}

/** What `kubectl explain` says about a kind. */
export interface KindDocs {
  readonly about: string;
  /** By the path of the field. */
  readonly fields: FieldTexts;
}

/** The CRD of a kind. */
export function createCrd(shape: CrdShape): KubeObject {
  const { group, kind, plural, shortNames = [], categories = [], isNamespaced = false, versions, docs } = shape;
  const names = {
    kind,
    listKind: `${kind}List`,
    plural,
    singular: kind.toLowerCase(),
    ...(shortNames.length > 0 && { shortNames }),
    ...(categories.length > 0 && { categories }),
  };
  const spec = {
    group,
    names,
    scope: isNamespaced ? "Namespaced" : "Cluster",
    versions: versions.map((version) => versionOf(version, docs, versions.length === 1)),
  };
  return { ...crdType, metadata: { name: `${plural}.${group}` }, spec };
}

function versionOf(version: CrdVersion, docs: KindDocs | undefined, isOnly: boolean): JsonObject {
  const { name, isStored, deprecation, columns, hasStatus } = version;
  return {
    name,
    served: true,
    storage: isOnly || isStored === true,
    ...(deprecation !== undefined && { deprecated: true, deprecationWarning: deprecation }),
    schema: { openAPIV3Schema: rootOf(version, docs) },
    ...(hasStatus && { subresources: { status: {} } }),
    additionalPrinterColumns: columns,
  };
}

const commonTexts: FieldTexts = {
  apiVersion: "Group and version of this object's schema.",
  kind: "Kind of this object.",
  spec: "Desired state, set by users.",
  status: "Observed state, set by the control plane.",
};

function rootOf({ fields, rules }: CrdVersion, docs: KindDocs | undefined): Schema {
  const shape = object({ apiVersion: text, kind: text, metadata: { type: "object" }, ...fields });
  const root = rules === undefined ? shape : checked(shape, rules);
  if (docs === undefined) return root;
  return { description: docs.about, ...describeFields(root, { ...commonTexts, ...docs.fields }) };
}

interface CrdCondition {
  readonly type?: string;
  readonly status?: string;
  readonly message?: string;
}

function conditionOf(crd: KubeObject, type: string): CrdCondition | undefined {
  const { status } = crd as { readonly status?: { readonly conditions?: readonly CrdCondition[] | null } };
  return status?.conditions?.find((condition) => condition.type === type);
}

/** Whether the API server serves the kinds of a CRD. */
export function isEstablished(crd: KubeObject): boolean {
  return conditionOf(crd, "Established")?.status === "True";
}

/** Why the API server will not serve a CRD as it is, such as names that another one has; undefined while it may. */
export function refusalOf(crd: KubeObject): string | undefined {
  const names = conditionOf(crd, "NamesAccepted");
  if (names?.status === "False") return names.message ?? "its names were not accepted";
  const schema = conditionOf(crd, "NonStructuralSchema");
  return schema?.status === "True" ? (schema.message ?? "its schema is not structural") : undefined;
}

/** The groups of the kinds that the control plane itself works with. */
const controlPlaneGroups: ReadonlySet<string> = new Set([
  "apiextensions.crossplane.io",
  "meta.pkg.crossplane.io",
  "ops.crossplane.io",
  "pkg.crossplane.io",
  "protection.crossplane.io",
  "secrets.crossplane.io",
  "simulation.purlin.dev",
]);

/** The groups that API servers serve without a CRD; `metrics.k8s.io` and its siblings come from servers beside them. */
const kubernetesGroups: ReadonlySet<string> = new Set([
  "",
  "admissionregistration.k8s.io",
  "apiextensions.k8s.io",
  "apiregistration.k8s.io",
  "apps",
  "authentication.k8s.io",
  "authorization.k8s.io",
  "autoscaling",
  "batch",
  "certificates.k8s.io",
  "coordination.k8s.io",
  "custom.metrics.k8s.io",
  "discovery.k8s.io",
  "events.k8s.io",
  "extensions",
  "external.metrics.k8s.io",
  "flowcontrol.apiserver.k8s.io",
  "internal.apiserver.k8s.io",
  "metrics.k8s.io",
  "networking.k8s.io",
  "node.k8s.io",
  "policy",
  "rbac.authorization.k8s.io",
  "resource.k8s.io",
  "scheduling.k8s.io",
  "storage.k8s.io",
  "storagemigration.k8s.io",
]);

/** To whom a kind belongs that nothing else may define or take over, by the name of its CRD; undefined for other kinds. */
export function reservedFor(crdName: string): "the control plane" | "Kubernetes" | undefined {
  const at = crdName.indexOf(".");
  const group = at < 0 ? "" : crdName.slice(at + 1);
  if (controlPlaneGroups.has(group)) return "the control plane";
  return kubernetesGroups.has(group) ? "Kubernetes" : undefined;
}
