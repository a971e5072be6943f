// SPDX-License-Identifier: Apache-2.0
import { createHash } from "node:crypto";
import { dns1123SubdomainProblems, generateName, type RandomInteger } from "@purlin/kube-objects/metadata";
import { controllerOf, type KubeObject, parseApiVersion, withMember } from "@purlin/kube-objects/object";

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
