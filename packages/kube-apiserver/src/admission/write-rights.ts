// SPDX-License-Identifier: Apache-2.0
// Rights that a write needs besides that on its object: on the owners that it sets, on the signer that it acts for, and on the
// parameters of a policy. Owners: an owner reference can have an object deleted, and one that blocks can delay the deletion of its owner.
import { randomUUID } from "node:crypto";
import type { Work } from "@purlin/base";
import { forbidden, forbiddenValue, invalid, type StatusError } from "@purlin/kube-objects/errors";
import { goQuote, isJsonObject, type JsonObject, jsonEqual, sortedKeys } from "@purlin/kube-objects/json";
import { memberAt, type OwnerReference, objectAt, parseApiVersion, stringAt } from "@purlin/kube-objects/object";
import type { AccessDecision, Authorizer, ResourceAccess } from "../auth/authorizer.ts";
import type { EscalationCheck } from "../auth/rbac/escalation.ts";
import { mastersGroup, type User } from "../auth/user.ts";
import { metaOf } from "../objects/object-members.ts";
import type { Catalog } from "../registry/registry.ts";
import type { Store } from "../store/store.ts";
import type { AdmissionAttributes, AdmissionPlugin, AdmissionWrite } from "./admission.ts";

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
    *validating(attributes) {
      const owners = ownersOf(attributes.object);
      const before = ownersOf(attributes.old);
      if (jsonEqual([...owners], [...before])) return;
      if (attributes.operation === "UPDATE") requireDelete(attributes, deps);
      yield* requiringFinalizers(attributes, newlyBlocking(owners, before), deps);
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

function* requiringFinalizers(
  attributes: AdmissionAttributes,
  references: readonly OwnerReference[],
  deps: OwnerAccessDeps,
): Work<void> {
  if (references.length === 0) return;
  const everything = { group: "*", version: "*", resource: "*", namespace: "", name: "*" };
  // With this right, owners of kinds that are not served are allowed too.
  if (deps.authorizer(attributes.user, { ...updateFinalizers, ...everything }).allowed) return;
  // An object can have thousands of owners of one kind.
  const rights = new Map<string, OwnerRight>();
  for (const reference of references) {
    const kind = `${reference.apiVersion} ${reference.kind}`;
    const right = rights.get(kind) ?? ownerRight(attributes, reference, deps);
    rights.set(kind, right);
    if (right.isForAnyName) continue;
    const decision = deps.authorizer(attributes.user, { ...right.access, name: reference.name });
    if (!decision.allowed) throw refusal(attributes, unfinalizable, decision);
    // Roles can list as many names.
    yield;
  }
}

const updateFinalizers = { kind: "resource", verb: "update", subresource: "finalizers" } as const;
/** A name that no rule lists. */
const anyName = randomUUID();

/** The right to set finalizers on owners of one kind. */
interface OwnerRight {
  readonly access: Omit<ResourceAccess, "name">;
  /** Whether the user has it on all of them, whatever their names are. */
  readonly isForAnyName: boolean;
}

function ownerRight(attributes: AdmissionAttributes, reference: OwnerReference, deps: OwnerAccessDeps): OwnerRight {
  const { group, version } = parseApiVersion(reference.apiVersion);
  const owner = findType(reference, deps);
  if (owner === undefined) throw refusal(attributes, unknownOwner(reference));
  const namespace = owner.namespaced ? attributes.namespace : "";
  const access = { ...updateFinalizers, group, version, resource: owner.resource, namespace };
  return { access, isForAnyName: deps.authorizer(attributes.user, { ...access, name: anyName }).allowed };
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

const certificatesGroup = "certificates.k8s.io";

/** A right on a signer, or on all signers of its domain. */
function mayUse(
  authorizer: Authorizer,
  user: User,
  { verb, signer }: { readonly verb: string; readonly signer: string },
) {
  const [domain = ""] = signer.split("/");
  return [signer, `${domain}/*`].some((name) => {
    const access = {
      verb,
      group: certificatesGroup,
      version: "*",
      resource: "signers",
      subresource: "",
      namespace: "",
      name,
    };
    return authorizer(user, { kind: "resource", ...access }).allowed;
  });
}

const handlesOnly =
  (subresource: string) =>
  (write: AdmissionWrite): boolean =>
    write.type.group === certificatesGroup &&
    write.type.resource === "certificatesigningrequests" &&
    write.subresource === subresource &&
    write.operation === "UPDATE";

/** Whether the certificate or the conditions are other ones. */
function isSigned(object: JsonObject, old: JsonObject): boolean {
  const part = (one: JsonObject, name: string) => memberAt(one, ["status", name]) ?? null;
  return ["certificate", "conditions"].some((name) => !jsonEqual(part(object, name), part(old, name)));
}

/** The plugins CertificateApproval and CertificateSigning: who approves or signs a request needs a right on the signer that it names. */
export function signerPlugins(authorizer: Authorizer): AdmissionPlugin[] {
  const plugin = (name: string, subresource: string, verb: string): AdmissionPlugin => ({
    name,
    handles: handlesOnly(subresource),
    validate: ({ object = {}, old = {}, type, name: own, user }) => {
      if (verb === "sign" && !isSigned(object, old)) return;
      // The signer of the stored object counts: a request may say anything.
      const signer = stringAt(old, ["spec", "signerName"]);
      if (mayUse(authorizer, user, { verb, signer })) return;
      throw forbidden(type, own, `user not permitted to ${verb} requests with signerName ${goQuote(signer)}`);
    },
  });
  return [plugin("CertificateApproval", "approval", "approve"), plugin("CertificateSigning", "status", "sign")];
}

interface ParamAccessDeps {
  readonly store: Store<JsonObject>;
  readonly catalog: () => Catalog;
  readonly authorizer: Authorizer;
}

const policyGroup = "admissionregistration.k8s.io";
const policies = ["validatingadmissionpolicies", "mutatingadmissionpolicies"];
const bindings = ["validatingadmissionpolicybindings", "mutatingadmissionpolicybindings"];

/** Users write policies only with parameters that they may read: a policy reveals what they say. */
export function paramAccessCheck(deps: ParamAccessDeps): EscalationCheck {
  // biome-ignore lint/correctness/useYield: in one part
  return function* ({ type, user, object, old }) {
    if (type.group !== policyGroup || user.groups.includes(mastersGroup)) return;
    const spec = objectAt(object, ["spec"]);
    const problem = policies.includes(type.resource)
      ? policyProblem({ user, spec, old }, deps)
      : bindings.includes(type.resource)
        ? bindingProblem({ user, spec, old, resource: type.resource }, deps)
        : undefined;
    if (problem === undefined) return;
    const field = policies.includes(type.resource) ? "spec.paramKind" : "spec.paramRef";
    throw invalid({ group: policyGroup, kind: type.kind }, metaOf(object).name ?? "", [forbiddenValue(field, problem)]);
  };
}

interface Written {
  readonly user: User;
  readonly spec: JsonObject;
  readonly old: JsonObject | undefined;
}

function policyProblem({ user, spec, old }: Written, deps: ParamAccessDeps): string | undefined {
  const paramKind = memberAt(spec, ["paramKind"]);
  if (!isJsonObject(paramKind) || jsonEqual(paramKind, memberAt(old ?? {}, ["spec", "paramKind"]) ?? null)) {
    return undefined;
  }
  const { kind, apiVersion, access } = kindAccess(paramKind, deps);
  const decision = deps.authorizer(user, { ...access, verb: "get", name: "*", namespace: "*" });
  if (decision.allowed) return undefined;
  const on = `all objects of the referenced paramKind (kind=${kind}, apiVersion=${apiVersion})`;
  return `user ${shown(user)} must have "get" permission on ${on}`;
}

function bindingProblem(
  { user, spec, old, resource }: Written & { readonly resource: string },
  deps: ParamAccessDeps,
): string | undefined {
  const paramRef = memberAt(spec, ["paramRef"]);
  const oldSpec = objectAt(old ?? {}, ["spec"]);
  const isSame = old !== undefined && stringAt(oldSpec, ["policyName"]) === stringAt(spec, ["policyName"]);
  if (!isJsonObject(paramRef) || (isSame && jsonEqual(paramRef, memberAt(oldSpec, ["paramRef"]) ?? null))) {
    return undefined;
  }
  const owner = resource.replace(/ybindings$/, "ies");
  const policy = deps.store.get(`/${policyGroup}/${owner}/${stringAt(spec, ["policyName"])}`)?.value;
  const { access } = kindAccess(objectAt(policy ?? {}, ["spec", "paramKind"]), deps);
  const name = stringAt(paramRef, ["name"]);
  const namespace = stringAt(paramRef, ["namespace"]) || "*";
  const verb = name === "" ? "list" : "get";
  const decision = deps.authorizer(user, { ...access, verb, name: name || "*", namespace });
  if (decision.allowed) return undefined;
  return `user ${shown(user)} does not have "${verb}" permission on the object referenced by paramRef`;
}

/** What is read: everything that may be meant when the kind is not known. */
function kindAccess(paramKind: JsonObject, { catalog }: ParamAccessDeps) {
  const [kind, apiVersion] = [stringAt(paramKind, ["kind"]), stringAt(paramKind, ["apiVersion"])];
  const parsed = apiVersion === "" ? undefined : parseApiVersion(apiVersion);
  const resource =
    parsed &&
    catalog()
      .group(parsed.group)
      ?.versions.find(({ version }) => version === parsed.version);
  const access = {
    kind: "resource" as const,
    group: parsed?.group ?? "*",
    version: parsed?.version ?? "*",
    resource: resource?.resources.find((one) => one.kind === kind)?.resource ?? "*",
    subresource: "",
  };
  return { kind, apiVersion, access };
}

/** A user as Go prints it. */
function shown({ name, uid = "", groups, extra = {} }: User): string {
  const entries = sortedKeys(extra).map((key) => `${key}:[${extra[key]?.join(" ")}]`);
  return `&{${name} ${uid} [${groups.join(" ")}] map[${entries.join(" ")}]}`;
}
