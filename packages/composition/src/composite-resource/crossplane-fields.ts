// SPDX-License-Identifier: Apache-2.0

import { createHash } from "node:crypto";
import { isJsonObject, type JsonObject, type JsonValue } from "@purlin/kube-objects/json";
import { dns1123SubdomainProblems, generateName, type RandomInteger } from "@purlin/kube-objects/metadata";
import {
  controllerOf,
  type KubeObject,
  memberAt,
  objectAt,
  parseApiVersion,
  type TypeRef,
  textAt,
  textMapAt,
  withMember,
} from "@purlin/kube-objects/object";
import { connectionSecretType } from "./constants.ts";

/** Where a composite resource keeps the fields of the control plane: under `spec`, or under `spec.crossplane`. */
export type CompositeSchema = "legacy" | "modern";

/** A reference to a composed resource. */
export type ResourceRef = TypeRef & {
  readonly name?: string;
  readonly namespace?: string;
};

/** A reference to the claim of a composite resource. */
export type ClaimRef = TypeRef & {
  readonly namespace: string;
  readonly name: string;
};

/** Where connection details are written to. A claim's Secret is in the claim's namespace. */
type SecretRef = {
  readonly name: string;
  readonly namespace?: string;
};

/** The labels that a selector requires. */
export type MatchLabels = Readonly<Record<string, string>>;

/** The fields of the control plane a composite resource has, claims among them. */
type CrossplaneField =
  | "compositionRef"
  | "compositionSelector"
  | "compositionRevisionRef"
  | "compositionRevisionSelector"
  | "compositionUpdatePolicy"
  | "resourceRefs"
  | "claimRef"
  | "writeConnectionSecretToRef"
  | "resourceRef"
  | "compositeDeletePolicy";

/** The path of the object that holds the control plane's fields. */
function crossplaneFieldsPath(schema: CompositeSchema): readonly string[] {
  return schema === "legacy" ? ["spec"] : ["spec", "crossplane"];
}

/** A field as it is stored; undefined when it is absent. */
export function crossplaneField(xr: object, schema: CompositeSchema, field: CrossplaneField): JsonValue | undefined {
  return memberAt(xr, [...crossplaneFieldsPath(schema), field]);
}

/** A copy with fields set; undefined removes one. */
export function withCrossplaneFields<T extends KubeObject>(
  xr: T,
  schema: CompositeSchema,
  fields: Readonly<Partial<Record<CrossplaneField, JsonValue | undefined>>>,
): T {
  const path = crossplaneFieldsPath(schema);
  return Object.entries(fields).reduce((object, [field, value]) => withMember(object, [...path, field], value), xr);
}

/** The name of the Composition, once one is selected. */
export function compositionRefOf(xr: object, schema: CompositeSchema): string | undefined {
  return textAt(xr, [...crossplaneFieldsPath(schema), "compositionRef", "name"]);
}

/** The name of the CompositionRevision, once one is selected. */
export function revisionRefOf(xr: object, schema: CompositeSchema): string | undefined {
  return textAt(xr, [...crossplaneFieldsPath(schema), "compositionRevisionRef", "name"]);
}

/** Labels a Composition must carry; an empty map matches everything, undefined says there is no selector. */
export function compositionSelectorOf(xr: object, schema: CompositeSchema): MatchLabels | undefined {
  return selectorOf(xr, schema, "compositionSelector");
}

/** Labels a CompositionRevision must carry; an empty map matches everything, undefined says there is no selector. */
export function revisionSelectorOf(xr: object, schema: CompositeSchema): MatchLabels | undefined {
  return selectorOf(xr, schema, "compositionRevisionSelector");
}

function selectorOf(xr: object, schema: CompositeSchema, field: CrossplaneField): MatchLabels | undefined {
  const selector = crossplaneField(xr, schema, field);
  return isJsonObject(selector) ? (textMapAt(selector, ["matchLabels"]) ?? {}) : undefined;
}

/** How the XR moves to newer revisions. Undefined until defaults are applied. */
export function updatePolicyOf(xr: object, schema: CompositeSchema): "Automatic" | "Manual" | undefined {
  const policy = crossplaneField(xr, schema, "compositionUpdatePolicy");
  return policy === "Automatic" || policy === "Manual" ? policy : undefined;
}

/** The references to composed resources, in their stored order. */
export function resourceRefsOf(xr: object, schema: CompositeSchema): readonly ResourceRef[] {
  const refs = crossplaneField(xr, schema, "resourceRefs");
  return Array.isArray(refs) ? (refs.filter(isJsonObject) as ResourceRef[]) : [];
}

/** The claim the XR belongs to. Modern XRs have none. */
export function claimRefOf(xr: object, schema: CompositeSchema): ClaimRef | undefined {
  if (schema !== "legacy") return undefined;
  const ref = objectAt(xr, ["spec", "claimRef"]);
  return typeof ref["name"] === "string" && ref["name"] !== "" ? (ref as ClaimRef) : undefined;
}

/** The Secret for the connection details of an XR, claim or composed resource. Modern XRs have none. */
export function connectionSecretRefOf(object: object, schema: CompositeSchema): SecretRef | undefined {
  if (schema !== "legacy") return undefined;
  const ref: JsonObject = objectAt(object, ["spec", "writeConnectionSecretToRef"]);
  return typeof ref["name"] === "string" && ref["name"] !== "" ? (ref as SecretRef) : undefined;
}

const beforeFirstApply = "before-first-apply";

/**
 * The patch after which removing a field from an applied configuration removes it from the object, also when the object was once
 * written by plain updates; undefined when there is nothing to do. It names the version that was read, so that no other change is lost.
 */
export function managedFieldsUpgrade(
  { metadata }: KubeObject,
  isOurs: (manager: string) => boolean,
): JsonValue | undefined {
  if (!metadata.creationTimestamp) return undefined;
  const managers = (metadata.managedFields ?? []).map(({ manager = "" }) => manager);
  const hasApplied = managers.some(isOurs);
  const index = managers.indexOf(beforeFirstApply);
  if (hasApplied && index < 0) return undefined;
  const change = hasApplied
    ? { op: "remove", path: `/metadata/managedFields/${index}` }
    : { op: "replace", path: "/metadata/managedFields", value: [{}] };
  return [change, { op: "replace", path: "/metadata/resourceVersion", value: metadata.resourceVersion ?? "" }];
}

const advice = "name another one in writeConnectionSecretToRef, or delete it";

/** Throws when connection details must not be written into an existing Secret. */
export function refuseForeignSecret(secret: KubeObject, owner: KubeObject): void {
  const controller = controllerOf(secret);
  const what = secretText(secret);
  if (controller !== undefined && controller.uid !== owner.metadata.uid) {
    const whose = `${what} belongs to ${controller.kind} "${controller.name}"`;
    throw new Error(`existing secret is not controlled by UID "${owner.metadata.uid ?? ""}": ${whose}: ${advice}`);
  }
  const type = String(memberAt(secret, ["type"]) ?? "");
  if (controller === undefined && type !== connectionSecretType) {
    throw new Error(
      `refusing to modify uncontrolled secret of type "${type}": ${what} was not created by this control plane: ${advice}`,
    );
  }
}

/** A Secret in messages. */
export function secretText({ metadata: { namespace = "", name = "" } }: KubeObject): string {
  return `Secret "${namespace}/${name}"`;
}

const maxLength = 63;
const suffixLength = 12;
const attempts = 10;

/**
 * The name of a new composed resource. It is derived only from its owner and its name in the pipeline, so that a deleted resource is
 * created again under the same name, and a crash never leaves two.
 */
export function composedName(prefix: string, ownerUid: string, resourceName: string): string {
  const suffix = createHash("sha256").update(`${ownerUid}${resourceName}`).digest("hex").slice(0, suffixLength);
  const base = prefix === "" || prefix.endsWith("-") ? prefix : `${prefix}-`;
  if (base.length + suffixLength <= maxLength) return base + suffix;
  const room = maxLength - suffixLength;
  const cut = base.slice(0, room);
  return (cut.endsWith("-") ? cut : `${cut.slice(0, room - 1)}-`) + suffix;
}

/** Whether a name is in use. */
type NameTaken = (name: string) => Promise<boolean>;

/** A random unused name, generated as API servers do. Throws after ten attempts. */
export async function unusedName(base: string, taken: NameTaken, random?: RandomInteger): Promise<string> {
  for (let attempt = 0; attempt < attempts; attempt++) {
    const name = generateName(base, random);
    if (!(await taken(name))) return name;
  }
  throw new Error("cannot generate a name for a resource");
}

const rbacGroup = "rbac.authorization.k8s.io";
const rbacKinds: ReadonlySet<string> = new Set(["Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding"]);

/** The object with a name: its own, or one derived from its controller and its name in the pipeline. */
export function withComposedName(resourceName: string, object: KubeObject): KubeObject {
  const { name, generateName } = object.metadata;
  if (name || !generateName) return object;
  const uid = controllerOf(object)?.uid ?? "";
  return withMember(object, ["metadata", "name"], composedName(generateName, uid, resourceName));
}

/** Throws when the API server would refuse the object's name. */
export function requireValidName(resourceName: string, { apiVersion, kind, metadata }: KubeObject): void {
  const name = metadata.name ?? "";
  const isRole = rbacKinds.has(kind) && parseApiVersion(apiVersion).group === rbacGroup;
  if (dns1123SubdomainProblems(isRole ? name.replaceAll(":", "") : name).length === 0) return;
  throw new Error(
    `cannot apply composed resource "${resourceName}" because it has an invalid name "${name}". Must be a valid RFC 1123 subdomain name.`,
  );
}
