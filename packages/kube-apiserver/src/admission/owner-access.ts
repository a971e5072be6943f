// SPDX-License-Identifier: Apache-2.0
// Who may set owners: an owner reference can have an object deleted, and one that blocks can delay the deletion of its owner.
import { forbidden, type StatusError } from "@purlin/kube-objects/errors";
import { goQuote, type JsonObject, jsonEqual } from "@purlin/kube-objects/json";
import { type OwnerReference, objectAt, parseApiVersion, stringAt } from "@purlin/kube-objects/object";
import type { AccessDecision, Authorizer } from "../auth/authorizer.ts";
import { metaOf } from "../objects/object-meta.ts";
import type { Catalog } from "../registry/registry.ts";
import type { AdmissionAttributes, AdmissionPlugin } from "./admission.ts";

interface OwnerAccessDeps {
  readonly authorizer: Authorizer;
  readonly catalog: () => Catalog;
  /** The group versions of other servers. */
  readonly remotes: () => readonly RemoteResources[];
}

/** A group version of another server, with the resources that it lists in aggregated discovery. */
interface RemoteResources {
  readonly remote: { readonly group: string; readonly version: string };
  readonly documents: { readonly resources: readonly JsonObject[] | undefined };
}

/** A resource whose objects can be owners. */
interface OwnerType {
  readonly kind: string;
  readonly resource: string;
  readonly namespaced: boolean;
}

/** The plugin OwnerReferencesPermissionEnforcement. */
export function ownerAccessPlugin(deps: OwnerAccessDeps): AdmissionPlugin {
  return {
    name: "OwnerReferencesPermissionEnforcement",
    handles: ({ operation, type, subresource }) =>
      (operation === "CREATE" || operation === "UPDATE") &&
      // A write of the status of a Pod never changes its owners.
      !(type.group === "" && type.resource === "pods" && subresource === "status"),
    validate: (attributes) => {
      const owners = ownersOf(attributes.object);
      const before = ownersOf(attributes.old);
      if (jsonEqual([...owners], [...before])) return;
      if (attributes.operation === "UPDATE") requireDelete(attributes, deps);
      requireFinalizers(attributes, newlyBlocking(owners, before), deps);
    },
  };
}

function ownersOf(object: JsonObject | undefined): readonly OwnerReference[] {
  return metaOf(object ?? {}).ownerReferences ?? [];
}

/** References that block the deletion of their owner and did not before. */
function newlyBlocking(owners: readonly OwnerReference[], before: readonly OwnerReference[]): OwnerReference[] {
  // The last reference of an owner counts.
  const blocked = new Map(before.map(({ uid, blockOwnerDeletion }) => [uid, blockOwnerDeletion === true]));
  return owners.filter(({ uid, blockOwnerDeletion }) => blockOwnerDeletion === true && blocked.get(uid) !== true);
}

/** A user who creates an object decides about it anyway; to change the owners of another one is to be able to delete it. */
function requireDelete(attributes: AdmissionAttributes, { authorizer }: OwnerAccessDeps): void {
  const { type, user, subresource, namespace, name } = attributes;
  const { group, version, resource } = type;
  const access = { verb: "delete", group, version, resource, subresource, namespace, name };
  const decision = authorizer(user, { kind: "resource", ...access });
  if (!decision.allowed) throw refusal(attributes, "cannot set an ownerRef on a resource you can't delete", decision);
}

function requireFinalizers(
  attributes: AdmissionAttributes,
  references: readonly OwnerReference[],
  deps: OwnerAccessDeps,
): void {
  if (references.length === 0) return;
  const update = { kind: "resource", verb: "update", subresource: "finalizers" } as const;
  const everything = { group: "*", version: "*", resource: "*", namespace: "", name: "*" };
  // With this right, owners of kinds that are not served are allowed too.
  if (deps.authorizer(attributes.user, { ...update, ...everything }).allowed) return;
  for (const reference of references) {
    const { group, version } = parseApiVersion(reference.apiVersion);
    const owner = findType(reference, deps);
    if (owner === undefined) throw refusal(attributes, unknownOwner(reference));
    const namespace = owner.namespaced ? attributes.namespace : "";
    const access = { group, version, resource: owner.resource, namespace, name: reference.name };
    const decision = deps.authorizer(attributes.user, { ...update, ...access });
    if (!decision.allowed) throw refusal(attributes, unfinalizable, decision);
  }
}

const unfinalizable =
  "cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers on";

function unknownOwner({ apiVersion, kind }: OwnerReference): string {
  const mapping = `cannot find RESTMapping for APIVersion ${apiVersion} Kind ${kind}`;
  const why = `no matches for kind ${goQuote(kind)} in version ${goQuote(apiVersion)}`;
  return `cannot set blockOwnerDeletion in this case because ${mapping}: ${why}`;
}

/** The reference prints the reason of a denial and an error, which it does not have. */
function refusal(attributes: AdmissionAttributes, problem: string, decision?: AccessDecision): StatusError {
  const { name: generated, generateName } = metaOf(attributes.object ?? {});
  const name = attributes.name || generated || generateName || "Unknown";
  return forbidden(attributes.type, name, decision === undefined ? problem : `${problem}: ${decision.reason}, <nil>`);
}

/** The type of an owner. As in the mapper of the reference, a kind may be in lower case, and lists have resources of their own. */
function findType({ apiVersion, kind }: OwnerReference, deps: OwnerAccessDeps): OwnerType | undefined {
  const types = typesOf(apiVersion, deps);
  const own = types.find((type) => type.kind === kind) ?? types.find((type) => type.kind.toLowerCase() === kind);
  if (own !== undefined) return own;
  const item = types.find((type) => `${type.kind}List` === kind);
  return item && { kind, resource: `${kind.toLowerCase()}s`, namespaced: item.namespaced };
}

function typesOf(apiVersion: string, { catalog, remotes }: OwnerAccessDeps): readonly OwnerType[] {
  const { group, version } = parseApiVersion(apiVersion);
  const local = catalog()
    .group(group)
    ?.versions.find((one) => one.version === version);
  const other = remotes().find(({ remote }) => remote.group === group && remote.version === version);
  return [...(local?.resources ?? []), ...(other?.documents.resources ?? []).map(remoteType)];
}

/** A resource of a document of aggregated discovery. */
function remoteType(resource: JsonObject): OwnerType {
  return {
    kind: stringAt(objectAt(resource, ["responseKind"]), ["kind"]),
    resource: stringAt(resource, ["resource"]),
    namespaced: stringAt(resource, ["scope"]) === "Namespaced",
  };
}
