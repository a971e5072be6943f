// SPDX-License-Identifier: Apache-2.0

import type { KubeClient } from "@purlin/kube-client";
import { type ControllerClient, reservedFor } from "@purlin/kube-controller";
import { type JsonObject, jsonEqual } from "@purlin/kube-objects/json";
import {
  controllerReference,
  type KubeObject,
  labelOf,
  memberAt,
  objectsAt,
  type TypeRef,
  textAt,
  textsAt,
} from "@purlin/kube-objects/object";
import { definitionKinds, type PackageType, packageLabels } from "../../package-kinds.ts";

const group = "rbac.authorization.k8s.io";
export const roleKinds: Readonly<Record<"role" | "binding", TypeRef>> = {
  role: { apiVersion: `${group}/v1`, kind: "ClusterRole" },
  binding: { apiVersion: `${group}/v1`, kind: "ClusterRoleBinding" },
};

const fieldManager = "rbac.crossplane.io/roles";
const prefix = "rbac.crossplane.io";

const verbs = {
  edit: ["*"],
  view: ["get", "list", "watch"],
  system: ["get", "list", "watch", "update", "patch", "create"],
} as const;

/** What every Provider may do: credentials, settings, events and the leases of its leader election. */
const common: JsonObject = {
  apiGroups: ["", "coordination.k8s.io"],
  resources: ["secrets", "configmaps", "events", "leases"],
  verbs: ["*"],
};

/** A Provider that starts safely waits for its CRDs. */
const readCrds: JsonObject = {
  apiGroups: ["apiextensions.k8s.io"],
  resources: ["customresourcedefinitions"],
  verbs: [...verbs.view],
};

/** The account that a revision runs as. */
export interface ProviderAccount {
  readonly namespace: string;
  readonly name: string;
}

/** The roles of a revision, and the binding of its account; none for a revision without resources. */
function providerRoles(
  revision: KubeObject,
  family: readonly KubeObject[],
  account: ProviderAccount,
): readonly KubeObject[] {
  const resources = resourcesOf([revision, ...family]);
  if (resources.length === 0) return [];
  const name = revision.metadata.name ?? "";
  const role = (suffix: string, labels: readonly string[], rules: readonly JsonObject[]): KubeObject => ({
    ...roleKinds.role,
    metadata: {
      name: `crossplane:provider:${name}:${suffix}`,
      labels: Object.fromEntries(labels.map((label) => [`${prefix}/${label}`, label === "system" ? name : "true"])),
      ownerReferences: [controllerReference(revision)],
    },
    rules: [...rules],
  });
  const edit = ["aggregate-to-crossplane", "aggregate-to-admin", "aggregate-to-edit"];
  const finalizers = { apiGroups: resources.map((one) => one.group), resources: ["*/finalizers"], verbs: ["update"] };
  const system = [
    ...rulesFor(resources, verbs.system),
    finalizers,
    common,
    ...(isSafeStart(revision) ? [readCrds] : []),
  ];
  return [
    role("aggregate-to-edit", edit, rulesFor(resources, verbs.edit)),
    role("aggregate-to-view", ["aggregate-to-view"], rulesFor(resources, verbs.view)),
    role("system", ["system"], system),
    bindingOf(revision, account),
  ];
}

function bindingOf(revision: KubeObject, account: ProviderAccount): KubeObject {
  const name = `crossplane:provider:${revision.metadata.name ?? ""}:system`;
  return {
    ...roleKinds.binding,
    metadata: { name, ownerReferences: [controllerReference(revision)] },
    roleRef: { apiGroup: group, kind: "ClusterRole", name },
    subjects: [{ kind: "ServiceAccount", ...account }],
  };
}

interface GroupResources {
  readonly group: string;
  readonly plurals: readonly string[];
}

function rulesFor(resources: readonly GroupResources[], allowed: readonly string[]): JsonObject[] {
  return resources.map(({ group: one, plurals }) => ({
    apiGroups: [one],
    resources: plurals.flatMap((plural) => [plural, `${plural}/status`]),
    verbs: [...allowed],
  }));
}

/**
 * The name of a CRD: a resource, and a group of at least two parts. The references are in the status of revisions, which a user may have
 * written: `*.*` would stand for everything, and these roles are granted by a user who may escalate.
 */
const definitionName = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?){2,}$/;

/** The resources that revisions installed, by API group, sorted. */
function resourcesOf(revisions: readonly KubeObject[]): readonly GroupResources[] {
  const names = revisions
    .flatMap((revision) => objectsAt(revision, ["status", "objectRefs"]))
    .filter((reference) => definitionKinds.has(textAt(reference, ["kind"]) ?? ""))
    .map((reference) => textAt(reference, ["name"]) ?? "")
    .filter((name) => definitionName.test(name) && reservedFor(name) === undefined);
  const pairs = [...new Set(names)].toSorted().map((name) => {
    const at = name.indexOf(".");
    return { plural: name.slice(0, at), group: name.slice(at + 1) };
  });
  const groups = Map.groupBy(pairs, (pair) => pair.group);
  return [...groups]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([one, found]) => ({ group: one, plurals: found.map(({ plural }) => plural) }));
}

function isSafeStart(revision: KubeObject): boolean {
  return textsAt(revision, ["status", "capabilities"]).some(
    (one) => one.toLowerCase().replaceAll(/[^a-z0-9]/g, "") === "safestart",
  );
}

/** The other revisions of the family of a Provider: the same label, from the same organization of the same registry. */
function familyOf(revision: KubeObject, all: readonly KubeObject[]): readonly KubeObject[] {
  const family = labelOf(revision, packageLabels.family);
  if (family === undefined) return [];
  const source = organizationOf(revision);
  return all.filter(
    (one) =>
      one.metadata.uid !== revision.metadata.uid &&
      labelOf(one, packageLabels.family) === family &&
      organizationOf(one) === source,
  );
}

function organizationOf(revision: KubeObject): string {
  return (textAt(revision, ["spec", "image"]) ?? "").split("/").slice(0, 2).join("/");
}

/** Reads roles, and writes them as a user who may grant what it does not have. */
interface RoleClients {
  readonly client: ControllerClient;
  readonly grants: Pick<KubeClient, "apply">;
}

/** Applies the roles of a revision, as far as they differ. */
export async function applyProviderRoles(
  { client, grants }: RoleClients,
  {
    type,
    revision,
    account,
  }: { readonly type: PackageType; readonly revision: KubeObject; readonly account: ProviderAccount },
  signal: AbortSignal,
): Promise<void> {
  const family = familyOf(revision, await client.list(type.revision, { signal }));
  for (const wanted of providerRoles(revision, family, account)) {
    const stored = await client.get(wanted, { name: wanted.metadata.name ?? "" }, { signal });
    if (stored === undefined || !isSame(stored, wanted)) {
      await grants.apply(wanted, { fieldManager, force: true, signal });
    }
  }
}

function isSame(stored: KubeObject, wanted: KubeObject): boolean {
  const labels = Object.entries(wanted.metadata.labels ?? {});
  const isLabelled = labels.every(([name, value]) => stored.metadata.labels?.[name] === value);
  const members = ["rules", "subjects"].filter((member) => wanted[member] !== undefined);
  return (
    isLabelled &&
    members.every((member) => jsonEqual(memberAt(stored, [member]) ?? null, memberAt(wanted, [member]) ?? null))
  );
}
