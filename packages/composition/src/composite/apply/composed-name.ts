// SPDX-License-Identifier: Apache-2.0

import { dns1123SubdomainProblems } from "@purlin/kube-objects/metadata";
import { controllerOf, type KubeObject, parseApiVersion, withMember } from "@purlin/kube-objects/object";
import { composedName } from "../../composite-resource/names.ts";

const rbacGroup = "rbac.authorization.k8s.io";
const rbacKinds: ReadonlySet<string> = new Set(["Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding"]);

/** The object with a name: its own, or one that follows from its controller and its name in the pipeline. */
export function withComposedName(resourceName: string, object: KubeObject): KubeObject {
  const { name, generateName } = object.metadata;
  if (name || !generateName) return object;
  const uid = controllerOf(object)?.uid ?? "";
  return withMember(object, ["metadata", "name"], composedName(generateName, uid, resourceName));
}

/** Throws when the API server would not take the object's name. */
export function requireValidName(resourceName: string, { apiVersion, kind, metadata }: KubeObject): void {
  const name = metadata.name ?? "";
  const isRole = rbacKinds.has(kind) && parseApiVersion(apiVersion).group === rbacGroup;
  if (dns1123SubdomainProblems(isRole ? name.replaceAll(":", "") : name).length === 0) return;
  throw new Error(
    `cannot apply composed resource "${resourceName}" because it has an invalid name "${name}". Must be a valid RFC 1123 subdomain name.`,
  );
}
